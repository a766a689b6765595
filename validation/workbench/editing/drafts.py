"""Drafts of files that are being edited: every change is kept on the server until the file is saved."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from platforms.files.writing import write_whole
from validation.workbench.project.folder import Project, checked_name, file_within, place_within

KINDS = ("platforms", "applications")  # folders of the project whose files have drafts
ENDING = ".toml"
MOST_BYTES = 256 << 10
MOST_VERSIONS = 200  # that undo goes back
MOST_DRAFTS = 500  # of a kind: lists read them all
_STATE = "state.json"


@dataclass(frozen=True)
class Version:
    """One version of a draft."""

    text: str
    positions: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of parts on a canvas, by name


@dataclass(frozen=True)
class _State:
    first: int = 0  # oldest version that is kept
    at: int = 0  # version that is shown
    last: int = 0  # newest version, which redo leads to
    base: str | None = None  # the file as it was when the draft began or was last saved; None: there was none
    stamp: int = 0  # grows with every change, also with undo


class Draft:
    """The draft of a file, with the versions that undo and redo lead to.

    Nothing is written before the first change; a draft is in the private folder of the project.
    """

    def __init__(self, project: Project, kind: str, name: str):
        """Open the draft of a file of the project, or begin one.

        Raises:
            UserError: There is neither a file nor a draft of this name, or one cannot be read.
        """
        if kind not in KINDS or not name.endswith(ENDING):
            raise UserError(f"file {name!r}", "it has no draft", f"Choose a file that ends with {ENDING}")
        checked_name(name.removesuffix(ENDING), "name of the file")
        self.name, self.kind = name, kind
        self._file = project.folder / kind / name
        self._folder = drafts_folder(project, kind) / name
        self._layout = project.private / "layouts" / kind / f"{name}.json"
        if self._file.exists():
            file_within(project.folder / kind, name, (ENDING,))  # refuses links that lead elsewhere
        elif not (self._folder / _STATE).is_file():
            raise UserError(f"file {name!r}", f"not in the folder {kind}", "Choose one from the list")
        self._state = self._read_state()
        self.version = self._read_version()

    @property
    def stamp(self) -> int:
        """A number that changes whenever the draft does."""
        return self._state.stamp

    @property
    def can_undo(self) -> bool:
        """True if there is an earlier version."""
        return self._state.at > self._state.first

    @property
    def can_redo(self) -> bool:
        """True if the last step was to undo."""
        return self._state.at < self._state.last

    @property
    def is_saved(self) -> bool:
        """True if the file has the text of the draft."""
        return self.file_text() == self.version.text

    @property
    def is_stale(self) -> bool:
        """True if somebody else has changed the file since the draft began."""
        return self._state.base != self.file_text() and not self.is_saved

    def file_text(self) -> str | None:
        """Return the text of the file; None: there is no file yet.

        Raises:
            UserError: The file is no text, or too large to be edited here.
        """
        if not self._file.is_file():
            return None
        try:
            raw = self._file.read_bytes()
            if len(raw) > MOST_BYTES:
                raise UserError(f"file {self.name!r}", f"larger than {MOST_BYTES >> 10} kB", "Edit it with an editor")
            return raw.decode()
        except UnicodeDecodeError as err:
            raise UserError(f"file {self.name!r}", "not a text in UTF-8", "Convert it") from err

    def change(self, version: Version, seen: int) -> None:
        """Make a new version; versions that were undone are forgotten.

        Args:
            version: The new version; the same one as before changes nothing.
            seen: The stamp of the draft that the change was made for.

        Raises:
            UserError: Somebody else has changed the draft in the meantime, or the text is too large.
        """
        self._check_seen(seen)
        text = version.text
        if len(text.encode()) > MOST_BYTES:
            raise UserError("draft", f"larger than {MOST_BYTES >> 10} kB", "Make it shorter")
        if version == self.version:
            return
        state = self._state
        self._folder.mkdir(parents=True, exist_ok=True)
        if state.stamp == 0:
            self._write_version(0, self.version)
        at = state.at + 1
        self._write_version(at, version)
        first = max(state.first, at - MOST_VERSIONS)
        self._write_state(_State(first, at, at, state.base, state.stamp + 1))
        for number in (*range(state.first, first), *range(at + 1, state.last + 1)):
            (self._folder / f"{number}.json").unlink(missing_ok=True)
        self.version = version

    def undo(self, seen: int) -> None:
        """Go back one version; without an earlier one nothing happens."""
        self._go(-1, seen)

    def redo(self, seen: int) -> None:
        """Go forward one version; without a later one nothing happens."""
        self._go(1, seen)

    def save(self, seen: int, *, over: bool = False) -> None:
        """Write the file.

        Args:
            seen: The stamp of the draft that shall be saved.
            over: Also write over a file that somebody else has changed since the draft began.

        Raises:
            UserError: The draft or the file has been changed by somebody else.
        """
        self._check_seen(seen)
        if self.is_stale and not over:
            problem = "it was changed in the folder since the draft began"
            raise UserError(f"file {self.name!r}", problem, "Save over it, or discard the draft to see what it has now")
        write_whole(place_within(self._file.parent, self.name), self.version.text.encode())
        if self.version.positions:
            self._layout.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._layout, json.dumps(self.version.positions).encode())
        if self._folder.is_dir():
            state = self._state
            self._write_state(_State(state.first, state.at, state.last, self.version.text, state.stamp + 1))

    def discard(self, seen: int) -> None:
        """Forget the draft with all its versions; the file stays as it is."""
        self._check_seen(seen)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _go(self, step: int, seen: int) -> None:
        self._check_seen(seen)
        state = self._state
        if state.first <= state.at + step <= state.last:
            self._write_state(_State(state.first, state.at + step, state.last, state.base, state.stamp + 1))
            self.version = self._read_version()

    def _check_seen(self, seen: int) -> None:
        if seen != self._state.stamp:
            problem = "it was changed in another window since this page was loaded"
            raise UserError("draft", problem, "Reload the page to see what it has now; what you typed stays here")

    def _read_state(self) -> _State:
        path = self._folder / _STATE
        if not path.is_file():
            return _State(base=self.file_text())
        try:
            state = _State(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError, OSError) as err:
            raise UserError(str(path), "the draft is damaged", f"Remove the folder {self._folder}") from err
        in_file = self.file_text()
        if in_file is not None and in_file != state.base and self._text_at(state.at) == state.base:
            shutil.rmtree(self._folder, ignore_errors=True)  # nothing of its own is lost: the file is newer
            return _State(base=in_file)
        return state

    def _read_version(self) -> Version:
        if (self._folder / _STATE).is_file():
            return self._version_at(self._state.at)
        return Version(self._state.base or "", self._saved_positions())

    def _saved_positions(self) -> dict[str, tuple[float, float]]:
        with suppress(OSError, ValueError, TypeError):
            return _positions(json.loads(self._layout.read_text("utf-8")))
        return {}

    def _text_at(self, number: int) -> str:
        return self._version_at(number).text

    def _version_at(self, number: int) -> Version:
        path = self._folder / f"{number}.json"
        try:
            data = json.loads(path.read_text("utf-8"))
            return Version(data["text"], _positions(data["positions"]))
        except (OSError, ValueError, KeyError, TypeError) as err:
            raise UserError(str(path), "the draft is damaged", f"Remove the folder {self._folder}") from err

    def _write_version(self, number: int, version: Version) -> None:
        content = {"text": version.text, "positions": version.positions}
        write_whole(self._folder / f"{number}.json", json.dumps(content).encode())

    def _write_state(self, state: _State) -> None:
        write_whole(self._folder / _STATE, json.dumps(vars(state)).encode())
        self._state = state


def drafts_folder(project: Project, kind: str) -> Path:
    """Return the folder of the drafts of a kind."""
    return project.private / "drafts" / kind


def begin(project: Project, kind: str, name: str, text: str) -> str:
    """Begin the draft of a new file with a text, and return the name of the file.

    Raises:
        UserError: The name is not plain, or is taken by a file or a draft; or there are MOST_DRAFTS.
    """
    name = checked_name(name, "name of the file") + ENDING
    folder = drafts_folder(project, kind) / name
    if place_within(project.folder / kind, name).exists() or folder.exists():
        raise UserError(f"file {name}", "the project has a file or a draft of this name", "Choose another name")
    if folder.parent.is_dir() and len(os.listdir(folder.parent)) >= MOST_DRAFTS <= len(unsaved(project, kind)):
        raise UserError("draft", f"there are {MOST_DRAFTS} already", "Save or discard some of them")
    folder.mkdir(parents=True)
    try:
        write_whole(folder / "0.json", json.dumps({"text": text, "positions": {}}).encode())
        write_whole(folder / _STATE, json.dumps(vars(_State(stamp=1))).encode())
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # the name stays free
        raise
    return name


def unsaved(project: Project, kind: str) -> list[str]:
    """Return the names of the files of a kind whose drafts differ from them, in alphabetical order."""
    names = []
    folder = drafts_folder(project, kind)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(UserError):  # a damaged draft, or one that was discarded in the meantime
            if not Draft(project, kind, path.name).is_saved:
                names.append(path.name)
    return names


def _positions(given: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    return {str(name): (float(x), float(y)) for name, (x, y) in given.items()}
