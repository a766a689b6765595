"""Platforms, applications and suites of a project as files: copies, names, removal with undo, tags, archive."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import UserError, printable
from platforms.files.writing import write_whole
from platforms.wording import number_of
from validation.workbench.project.folder import Project, checked_name, file_within, place_within
from validation.workbench.project.suite_files import SAVING
from validation.workbench.project.uses import ENDINGS, KINDS, Use, follow, uses_of

MOST_TAGS, MOST_TAG = 12, 30  # of a file, and characters of each
MOST_REMOVED = 200  # files that can be put back; older ones go
_BUSY_S = 10.0
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS labels (kind TEXT NOT NULL, name TEXT NOT NULL, tags TEXT NOT NULL,"
    " archived INTEGER NOT NULL, PRIMARY KEY (kind, name))",
    "CREATE TABLE IF NOT EXISTS removed (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL,"
    " who TEXT NOT NULL, at_s REAL NOT NULL, tags TEXT NOT NULL, archived INTEGER NOT NULL)",
)


@dataclass(frozen=True)
class Labels:
    """Tags of a file, and whether it is archived: lists leave it out then, and everything else goes on to use it."""

    tags: tuple[str, ...] = ()
    archived: bool = False


@dataclass(frozen=True)
class Item:
    """A file in a list."""

    name: str
    size_bytes: int
    changed_s: float  # seconds since 1970
    labels: Labels


@dataclass(frozen=True)
class Removed:
    """A file that was removed and can be put back."""

    id: int
    kind: str
    name: str
    who: str
    at_s: float  # seconds since 1970


class InUseError(UserError):
    """A file that others name."""


class Shelf:
    """Copies, renames and removes files of a project, and keeps their labels; one thread at a time changes anything.

    Args:
        project: The project.
        is_unsaved: Returns whether the draft of a file, given its kind and name, has changes that are not in it.
    """

    def __init__(self, project: Project, is_unsaved: Callable[[str, str], bool]):
        self._project, self._is_unsaved = project, is_unsaved
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            project.private / "shelf.sqlite", timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        self._connection.row_factory = sqlite3.Row
        for statement in _SCHEMA:
            self._connection.execute(statement)

    def close(self) -> None:
        """Close the file of labels."""
        with self._lock:
            self._connection.close()

    def items(self, kind: str) -> list[Item]:
        """Return the files of a kind in alphabetical order.

        Raises:
            UserError: There is no such kind.
        """
        folder, labels = self._folder(kind), self.labels(kind)
        items = []
        for path in sorted(folder.iterdir()):
            with suppress(UserError, OSError):  # another file, or one that was removed in the meantime
                state = file_within(folder, path.name, ENDINGS[kind]).stat()
                items.append(Item(path.name, state.st_size, state.st_mtime, labels.get(path.name, Labels())))
        return items

    def labels(self, kind: str) -> dict[str, Labels]:
        """Return the labels of the files of a kind that have any."""
        rows = self._do("SELECT name, tags, archived FROM labels WHERE kind = ?", kind)
        return {row["name"]: Labels(tuple(json.loads(row["tags"])), bool(row["archived"])) for row in rows}

    def path(self, kind: str, name: str) -> Path:
        """Return the path of a file.

        Raises:
            UserError: There is no such kind or file, or its name is not plain.
        """
        return file_within(self._folder(kind), name, ENDINGS[kind])

    def duplicate(self, kind: str, name: str, to: str) -> str:
        """Copy a file with its tags, and return the name of the copy.

        Args:
            kind: The kind of the file.
            name: Its name.
            to: The name of the copy, without an ending.

        Raises:
            UserError: There is no such file, or the new name is not plain or is taken.
        """
        with self._lock, SAVING:
            source = self.path(kind, name)
            place = self._free(kind, to, source.suffix)
            write_whole(place, source.read_bytes())
            self._label(kind, place.name, Labels(self.labels(kind).get(name, Labels()).tags))
            return place.name

    def rename(self, kind: str, name: str, to: str, *, although: bool = False) -> tuple[str, list[Use]]:
        """Give a file another name; with ``although`` the files that name it follow.

        Returns:
            The new name, and the files that were changed.

        Raises:
            InUseError: Others name it, and they are not to follow, or cannot.
            UserError: There is no such file, or the new name is not plain or is taken; or its draft is not saved.
        """
        with self._lock, SAVING:
            source = self.path(kind, name)
            self._check_draft(kind, name)
            place = self._free(kind, to, source.suffix)
            uses = uses_of(self._project, kind, name)
            stay = [use for use in uses if not use.follows]
            if stay or (uses and not although):
                remedy = "Change these first" if stay else "Let them follow, or keep the name"
                raise InUseError(f"{kind}/{name}", f"it is used by {said(stay or uses)}", remedy)
            source.rename(place)
            for use in uses:
                follow(self._project, use, source, place.name)
            self._relabel(kind, name, place.name)
            self._move_drafts(kind, name, place.name)
            return place.name, uses

    def remove(self, kind: str, name: str, who: str, *, although: bool = False) -> int:
        """Remove a file so that it can be put back, and return the number of the removal.

        Raises:
            InUseError: Others name it, and it is not to be removed although they do.
            UserError: There is no such file, or its draft is not saved.
        """
        with self._lock, SAVING:
            source = self.path(kind, name)
            self._check_draft(kind, name)
            uses = uses_of(self._project, kind, name)
            if uses and not although:
                raise InUseError(f"{kind}/{name}", f"it is used by {said(uses)}", "Change these first, or confirm it")
            labels = self.labels(kind).get(name, Labels())
            number = self._do(
                "INSERT INTO removed (kind, name, who, at_s, tags, archived) VALUES (?, ?, ?, ?, ?, ?)", kind, name,
                who, time.time(), json.dumps(labels.tags), labels.archived,
            ).lastrowid  # fmt: skip
            assert number is not None
            try:
                write_whole(self._kept(number), source.read_bytes())
            except OSError:
                self._do("DELETE FROM removed WHERE id = ?", number)
                raise
            source.unlink()
            self._do("DELETE FROM labels WHERE kind = ? AND name = ?", kind, name)
            shutil.rmtree(self._drafts(kind) / name, ignore_errors=True)  # they are as the file is
            self._forget_old(number)
            return number

    def removed(self) -> list[Removed]:
        """Return the files that can be put back, the latest first."""
        rows = self._do("SELECT id, kind, name, who, at_s FROM removed ORDER BY id DESC")
        return [Removed(**dict(row)) for row in rows]

    def put_back(self, number: int) -> tuple[str, str]:
        """Put a removed file back, and return its kind and name.

        Raises:
            UserError: There is none of this number, or another file has its name now.
        """
        with self._lock, SAVING:
            row = self._do("SELECT * FROM removed WHERE id = ?", number).fetchone() if number < 1 << 62 else None
            if row is None:
                raise UserError(f"removal {number}", "there is none that can be undone", "Choose one from the history")
            kind, name = row["kind"], row["name"]
            place = place_within(self._folder(kind), name)
            if place.exists():
                raise UserError(f"{kind}/{name}", "another file has this name now", "Rename that one first")
            write_whole(place, self._kept(number).read_bytes())
            self._label(kind, name, Labels(tuple(json.loads(row["tags"])), bool(row["archived"])))
            self._forget(number)
            return kind, name

    def tag(self, kind: str, name: str, text: str) -> tuple[str, ...]:
        """Give a file the tags of a text, which commas part, in place of those that it had; return them.

        Raises:
            UserError: There is no such file, or there are too many tags, or one is too long.
        """
        with self._lock:
            self.path(kind, name)
            tags = _tags(text)
            self._label(kind, name, Labels(tags, self.labels(kind).get(name, Labels()).archived))
            return tags

    def archive(self, kind: str, name: str, *, archived: bool) -> None:
        """Put a file into the archive, which lists leave out, or take it from there.

        Raises:
            UserError: There is no such file.
        """
        with self._lock:
            self.path(kind, name)
            self._label(kind, name, Labels(self.labels(kind).get(name, Labels()).tags, archived))

    def _folder(self, kind: str) -> Path:
        if kind not in KINDS:
            raise UserError(f"kind {printable(kind)[:40]!r}", "no such kind", f"Choose one of {', '.join(KINDS)}")
        return self._project.folder / kind

    def _free(self, kind: str, to: str, ending: str) -> Path:
        """Return the path of a name that no file has."""
        name = checked_name(to.strip().removesuffix(ending), "new name")
        place = place_within(self._folder(kind), f"{name}{ending}")
        if place.exists() or (self._drafts(kind) / place.name).exists():
            raise UserError(f"{kind}/{place.name}", "the project has a file or a draft of this name", "Choose another")
        return place

    def _check_draft(self, kind: str, name: str) -> None:
        """Refuse to touch a file whose draft has changes that are not in it."""
        if self._is_unsaved(kind, name):
            problem = "its draft has changes that are not saved"
            raise UserError(f"{kind}/{name}", problem, "Save or discard them first")

    def _drafts(self, kind: str) -> Path:
        return self._project.private / "drafts" / kind

    def _move_drafts(self, kind: str, name: str, to: str) -> None:
        """Let the versions and the positions of the editor follow to a new name."""
        for folder, ending in ((self._drafts(kind), ""), (self._project.private / "layouts" / kind, ".json")):
            with suppress(FileNotFoundError):
                (folder / f"{name}{ending}").rename(folder / f"{to}{ending}")

    def _kept(self, number: int) -> Path:
        folder = self._project.private / "removed"
        folder.mkdir(exist_ok=True)
        return folder / str(number)

    def _forget_old(self, number: int) -> None:
        for row in self._do("SELECT id FROM removed WHERE id <= ?", number - MOST_REMOVED).fetchall():
            self._forget(row["id"])

    def _forget(self, number: int) -> None:
        self._do("DELETE FROM removed WHERE id = ?", number)
        self._kept(number).unlink(missing_ok=True)

    def _label(self, kind: str, name: str, labels: Labels) -> None:
        self._do("DELETE FROM labels WHERE kind = ? AND name = ?", kind, name)
        if labels != Labels():
            row = kind, name, json.dumps(labels.tags), labels.archived
            self._do("INSERT INTO labels VALUES (?, ?, ?, ?)", *row)

    def _relabel(self, kind: str, name: str, to: str) -> None:
        labels = self.labels(kind).get(name, Labels())
        self._label(kind, name, Labels())
        self._label(kind, to, labels)

    def _do(self, query: str, *values: Any) -> sqlite3.Cursor:
        with self._lock:
            return self._connection.execute(query, values)


def said(uses: Sequence[Use], most: int = 5) -> str:
    """Return files in words, not all of many."""
    more = [f"{number_of(len(uses) - most, 'other')}"] if len(uses) > most else []
    return ", ".join([*map(str, uses[:most]), *more])


def _tags(text: str) -> tuple[str, ...]:
    """Return the tags in a text.

    Raises:
        UserError: There are too many, or one is too long or has characters that are not shown.
    """
    given = (unicodedata.normalize("NFC", word.strip()) for word in text.split(","))
    tags = tuple(dict.fromkeys(word for word in given if word))
    wrong = next((tag for tag in tags if len(tag) > MOST_TAG or printable(tag) != tag), None)
    if wrong is not None or len(tags) > MOST_TAGS:
        problem = f"{len(tags)} tags" if wrong is None else f"{printable(wrong)[:MOST_TAG]!r} cannot be one"
        raise UserError("tags", problem, f"Give at most {MOST_TAGS}, of at most {MOST_TAG} letters each, with commas")
    return tags
