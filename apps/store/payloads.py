"""Large payloads as files named by a hash of their content: every file is whole, and equal contents share a file.

A file is written and flushed under a temporary name in ``tmp``, then renamed into ``payloads`` within the transaction
that commits its row.  A process that removes files holds the same lock, so no file is removed between its renaming and
the commit of its row.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from platforms.files.caching import sync_folder
from platforms.files.scratch import scratch_file

FOLDER = "payloads"
_TEMPORARY = "tmp"
_ABANDONED_S = 86400.0  # a temporary file of this age has no writer any more: no write takes a day
_DIGEST = re.compile("[0-9a-f]{64}")


def payload_path(folder: Path, digest: str, *, binary: bool = False) -> Path:
    """Return the path of the content with this SHA-256; ``binary`` means that it is not JSON.

    Raises:
        ValueError: ``digest`` is not a SHA-256 but, for example, a path.
    """
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"not a SHA-256: {digest!r}")
    return folder / FOLDER / digest[:2] / f"{digest}.{'bin' if binary else 'json'}"


@contextlib.contextmanager
def temporary_file(folder: Path, content: bytes) -> Iterator[Path]:
    """Write content to a temporary file, which is removed with the context unless it has been published.

    Raises:
        OSError: The file cannot be written.
    """
    place = folder / _TEMPORARY
    place.mkdir(parents=True, exist_ok=True)
    with scratch_file(place) as (handle, path):
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        yield path


def publish(folder: Path, temporary: Path, digest: str, *, binary: bool) -> None:
    """Give a temporary file its final name, durably.  Call it within the transaction of its row."""
    path = payload_path(folder, digest, binary=binary)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(temporary, path)
    sync_folder(path.parent)


def remove_abandoned(folder: Path) -> None:
    """Remove old temporary files, which versions of this project without file locks may have left."""
    limit = time.time() - _ABANDONED_S
    for file in _files(folder / _TEMPORARY):
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < limit:
                os.unlink(file.path)


def unnamed(folder: Path, named: set[str]) -> list[tuple[Path, int]]:
    """Return the payload files whose digest is not in ``named``, with their sizes.  The caller holds the write lock."""
    unnamed_files = []
    for group in _entries(folder / FOLDER):
        for file in _files(Path(group.path)):
            if Path(file.name).stem not in named:
                unnamed_files.append((Path(file.path), file.stat().st_size))
    return unnamed_files


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    return (entry for entry in _entries(folder) if entry.is_file(follow_symlinks=False))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return list(listing)
    except (FileNotFoundError, NotADirectoryError):
        return []
