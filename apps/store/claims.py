"""Claims: which process makes what, so that others wait for its result and do not make it too.

A claim is a locked empty file of the store's folder.  It ends with the process that holds it, however that ends.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from platforms.locks import still_named, try_lock

_FOLDER = "claims"


class Claim:
    """Held until the context is left."""

    def __init__(self, handle: int | None, path: Path):
        self._handle, self._path = handle, path

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            with suppress(OSError):
                os.unlink(self._path)  # while it is ours: who opens it meanwhile finds it gone
            os.close(self._handle)
            self._handle = None


def claim(folder: Path, kind: str, key: str) -> Claim | None:
    """None: another process or thread has it.  Where nothing can be claimed (no space, no locks), everyone has it."""
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
    """Removes the files of processes that were killed."""
    with suppress(OSError), os.scandir(folder / _FOLDER) as entries:
        for entry in entries:
            with suppress(OSError):
                handle = os.open(entry.path, os.O_RDWR)
                with Claim(handle, Path(entry.path)) if try_lock(handle) else os.fdopen(handle):
                    pass
