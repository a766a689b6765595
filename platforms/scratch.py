"""Folders and files for the time of one piece of work.

Each is locked (flock) as long as whoever made it lives, and the system takes the lock away however that ends.  So what
has no lock is what a killed process has left, and the next process to work in the same place removes it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platforms.errors import UserError
from platforms.locks import still_named, try_lock

_PREFIX = "grid-validator-scratch-"
_NAME = re.compile(rf"\.?{_PREFIX}\w+-[a-z0-9_]{{8}}")  # nobody calls a folder so who wants to keep it
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}
_swept: set[tuple[int, Path]] = set()  # process and place


@contextmanager
def scratch_folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """A new empty folder that goes with the context; ``kind`` is a word of its name.

    It is in ``parent``, by default where the system has its temporary files (TMPDIR).  Raises UserError where it
    cannot be made, or the context fails with OSError because something in it cannot be written.
    """
    # Not gettempdir alone: where TMPDIR is full or read-only it says nothing and takes another.
    place = parent or Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
    _sweep_once(place)
    remedy = f"Make room there, or set {'TMPDIR' if parent is None else 'GRID_VALIDATOR_CACHE'} to another folder"
    folder, lock = None, None
    try:
        folder, lock = _locked_folder(kind, place)
        yield folder
    except OSError as err:
        inside = folder is None or str(err.filename or folder).startswith(str(folder))
        if err.errno in _NO_ROOM and inside:
            raise UserError(f"folder {folder or place}", f"cannot be written: {err.strerror}", remedy) from err
        raise
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def scratch_file(parent: Path) -> Iterator[tuple[int, Path]]:
    """A new empty file in ``parent``, open for writing, and its name: to be renamed, or else it goes with the context.

    Raises OSError.
    """
    _sweep_once(parent)
    while True:
        path = parent / f".{_PREFIX}file-{os.urandom(4).hex()}"
        # Not tempfile: its files are readable by their owner only, and the place may belong to a group.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if try_lock(handle) is not False and still_named(handle, path):
            break
        os.close(handle)  # swept before it was locked
    try:
        yield handle, path
    finally:
        with suppress(OSError):
            os.unlink(path)
        os.close(handle)


def _locked_folder(kind: str, place: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=place))
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # swept before it was locked
            continue
        locked = try_lock(handle)
        if locked is None:  # no locks on this file system, where nothing is swept then
            os.close(handle)
            return folder, None
        if locked and still_named(handle, folder):
            return folder, handle
        os.close(handle)


def _sweep_once(place: Path) -> None:
    """Removes what killed processes of the same user have left there; once in a process."""
    key = os.getpid(), place
    if key in _swept:
        return
    _swept.add(key)
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_abandoned(entry)


def _remove_abandoned(entry: os.DirEntry[str]) -> None:
    if entry.stat(follow_symlinks=False).st_uid != os.geteuid() or entry.is_symlink():
        return
    handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if try_lock(handle) and still_named(handle, Path(entry.path)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
    finally:
        os.close(handle)
