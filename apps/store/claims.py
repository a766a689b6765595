"""Claims of processes on entries that they are making, so that other processes wait for the result.

A claim is a locked empty file in the store's folder.  It ends with the process that holds it, even a killed one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from platforms.files.scratch import still_named, try_lock

_FOLDER = "claims"


class Claim:
    """A claim on an entry, held until the context is left."""

    def __init__(self, handle: int | None, path: Path):
        self._handle, self._path = handle, path

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            with suppress(OSError):
                os.unlink(self._path)  # before the lock ends: another process that waits for the file sees it gone
            os.close(self._handle)
            self._handle = None


def claim(folder: Path, kind: str, key: str) -> Claim | None:
    """Return a claim on an entry, or None if another process or thread holds it.

    If claims are impossible (no disk space, no locks), every process gets one.
    """
    path = folder / _FOLDER / f"{kind}-{key}"
    while True:
        try:
            path.parent.mkdir(exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return Claim(None, path)
        locked = try_lock(handle)
        if locked is False:
            os.close(handle)
            return None
        if locked is None or still_named(handle, path):
            return Claim(handle, path)
        os.close(handle)


def remove_abandoned(folder: Path) -> None:
    """Remove the files that killed processes have left."""
    with suppress(OSError), os.scandir(folder / _FOLDER) as entries:
        for entry in entries:
            with suppress(OSError):
                handle = os.open(entry.path, os.O_RDWR)
                with Claim(handle, Path(entry.path)) if try_lock(handle) else os.fdopen(handle):
                    pass
