"""Large payloads as files, named by their content: what is there is whole, and equal contents are one file.

A file is written and flushed under a name of its own in ``tmp``, then renamed into ``payloads`` within the very
transaction that commits the row naming it.  Whoever removes files holds the same lock, so no file goes between its
renaming and its row.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from platforms.scratch import scratch_file

FOLDER = "payloads"
_TEMPORARY = "tmp"
_ABANDONED_S = 86400.0  # no write takes a day: a temporary file of this age has lost its writer
_DIGEST = re.compile("[0-9a-f]{64}")


def payload_path(folder: Path, digest: str, *, binary: bool = False) -> Path:
    """Where the content with this SHA-256 is kept; ``binary``: it is no JSON.

    Raises ValueError for what is no SHA-256 (a path, say).
    """
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"not a SHA-256: {digest!r}")
    return folder / FOLDER / digest[:2] / f"{digest}.{'bin' if binary else 'json'}"


@contextlib.contextmanager
def temporary_file(folder: Path, content: bytes) -> Iterator[Path]:
    """Content on the disk under a name of its own, to be published; it goes with the context.  Raises OSError."""
    place = folder / _TEMPORARY
    place.mkdir(parents=True, exist_ok=True)
    with scratch_file(place) as (handle, path):
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        yield path


def publish(folder: Path, temporary: Path, digest: str, *, binary: bool) -> None:
    """Gives a temporary file its final name, durably.  To be called within the transaction of its row."""
    path = payload_path(folder, digest, binary=binary)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(temporary, path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_abandoned(folder: Path) -> None:
    """Removes what no writer is there for any more, as a version of this project has left it that did not lock."""
    limit = time.time() - _ABANDONED_S
    for file in _files(folder / _TEMPORARY):
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < limit:
                os.unlink(file.path)


def unnamed(folder: Path, named: set[str]) -> list[tuple[Path, int]]:
    """Payload files, with their bytes, whose digest no row names.  The caller holds the write lock."""
    found = []
    for group in _entries(folder / FOLDER):
        for file in _files(Path(group.path)):
            if Path(file.name).stem not in named:
                found.append((Path(file.path), file.stat().st_size))
    return found


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    return (entry for entry in _entries(folder) if entry.is_file(follow_symlinks=False))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
