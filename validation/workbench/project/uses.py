"""Files of a project that name another one, so that none of them breaks unawares when it is renamed or removed."""

from __future__ import annotations

import csv
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from platforms.files.writing import write_whole
from platforms.read.content import named_files
from validation.workbench.project.folder import Project, file_within, place_within

PLATFORMS, APPLICATIONS, SUITES = KINDS = ("platforms", "applications", "suites")  # folders with files of a kind
MEASURED, QUEUE = "measured", "queue"
ENDINGS = {PLATFORMS: (".toml", ".xml"), APPLICATIONS: (".toml",), SUITES: (".toml",)}
_MOST_CSV_BYTES = 16 << 20


@dataclass(frozen=True)
class Use:
    """A file that names another one."""

    kind: str  # one of KINDS, MEASURED, or QUEUE
    name: str

    @property
    def follows(self) -> bool:
        """Return whether the workbench changes it when the file that it names gets another name."""
        return self.kind in KINDS and self.name.endswith(".toml")

    def __str__(self) -> str:
        return f"suite {self.name.removesuffix('.toml')}" if self.kind == SUITES else f"{self.kind}/{self.name}"


def uses_of(project: Project, kind: str, name: str) -> list[Use]:
    """Return the files of a project that name a file of it.

    Args:
        project: The project.
        kind: One of KINDS.
        name: The name of the file, with its ending.
    """
    target = project.folder / kind / name
    found: list[Use] = []
    for other in KINDS:
        for path in _files(project, other):
            if path != target and any(_is(path.parent, text, target) for text in _texts_of(path)):
                found.append(Use(other, path.name))
    if kind == PLATFORMS and project.measured.is_dir():
        found += [
            Use(MEASURED, path.name) for path in sorted(project.measured.glob("*.csv")) if _has_cell(path, target.stem)
        ]
    return found


def names_file(text: str, base: Path, target: Path) -> bool:
    """Return whether a suite's text, whose file names are relative to a folder, names a file."""
    with suppress(tomllib.TOMLDecodeError):
        return any(_is(base, word, target) for word in _words(tomllib.loads(text)))
    return False


def follow(project: Project, use: Use, target: Path, to: str) -> None:
    """Let a file name another one by its new name; all else in it stays as it is.

    Args:
        project: The project.
        use: The file that is changed.
        target: The file that it names, by its old name.
        to: The new name.

    Raises:
        UserError: It is a link that leads elsewhere.
    """
    # Imported here for a quick start: pages that only list things do not need it.
    import tomlkit

    folder = project.folder / use.kind
    path = place_within(folder, use.name)
    document = tomlkit.parse(path.read_text("utf-8"))
    _replace(document, lambda text: text[: -len(target.name)] + to if _is(folder, text, target) else text)
    write_whole(path, tomlkit.dumps(document).encode())


def _files(project: Project, kind: str) -> Iterator[Path]:
    folder = project.folder / kind
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(UserError, OSError):
            yield file_within(folder, path.name, ENDINGS[kind])


def _texts_of(path: Path) -> list[str]:
    """Return all texts in a file that may be names of others; none if it cannot be read."""
    with suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, UserError):
        if path.suffix == ".xml":
            return list(named_files(path.read_bytes()))
        return list(_words(tomllib.loads(path.read_text("utf-8"))))
    return []


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _words(part)
    elif isinstance(value, list):
        for part in value:
            yield from _words(part)


def _replace(value: Any, changed: Callable[[str], str]) -> None:
    """Change the texts within a table or a list in place."""
    for key in list(value) if isinstance(value, Mapping) else range(len(value)):
        part = value[key]
        if isinstance(part, str):
            if (new := changed(str(part))) != part:
                value[key] = new
        elif isinstance(part, Mapping | list):
            _replace(part, changed)


def _is(base: Path, text: str, target: Path) -> bool:
    """Return whether a name, relative to a folder, is that of a file."""
    return text.endswith(target.name) and "\0" not in text and os.path.normpath(base / text) == str(target)


def _has_cell(path: Path, text: str) -> bool:
    with suppress(OSError, UnicodeDecodeError, csv.Error):
        if path.stat().st_size <= _MOST_CSV_BYTES:
            with path.open(encoding="utf-8", newline="") as file:
                return any(text in row for row in csv.reader(file))
    return False
