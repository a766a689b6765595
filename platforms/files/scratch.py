"""Temporary folders and files that exist for the duration of one task.

Each is locked (flock) while the process that made it lives, and the operating system releases the lock however that
process ends.  A folder or file without a lock was therefore left by a killed process, and the next process that works
in the same place removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from platforms.errors import UserError


def try_lock(handle: int) -> bool | None:
    """Try to lock the open file exclusively; return whether it is locked, or None if its file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


# Callers lock the folders and files themselves, not lock files beside them, which a killed process would leave behind:
# hence this check, which filelock makes for lock files only.
def still_named(handle: int, path: Path) -> bool:
    """Return whether the open file still has this name: another process may have removed it before it was locked."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let signals whose handlers raise an exception wait until the end of the context, which should be near.

    Nothing changes for signals without a handler in Python, nor in other threads than the main one, to which Python
    gives all signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    waiting: list[tuple[int, FrameType | None]] = []
    over = False

    def note(number: int, frame: FrameType | None) -> None:
        if over:  # while the handlers are put back
            before[number](number, frame)
        else:
            waiting.append((number, frame))

    try:
        for signal_number in _SIGNALS:
            handler = signal.getsignal(signal_number)
            if callable(handler):
                before[signal_number] = handler
                signal.signal(signal_number, note)
        yield
    finally:
        over = True
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            before[number](number, frame)


_PREFIX = "grid-validator-scratch-"
_NAME = re.compile(rf"\.?{_PREFIX}\w+-[a-z0-9_]{{8}}")  # no folder that a user wants to keep has such a name
_PLAIN = re.compile(r"[A-Za-z0-9_./+-]+")
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}
_swept: set[tuple[int, Path]] = set()  # process id and folder


@contextmanager
def scratch_folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """Make a new empty folder that is removed at the end of the context, and yield a path that shell scripts can take.

    Where its own name has other characters than letters of ASCII, digits and ``_./+-``, such as those of TMPDIR, the
    path leads to it through /proc and holds for all processes of this user while the context lasts.

    Args:
        kind: A word of the folder's name.
        parent: The folder in which it is made; by default the system's folder for temporary files (TMPDIR).

    Raises:
        UserError: The folder cannot be made, or a file in it cannot be written.
    """
    # gettempdir alone would silently choose another folder if TMPDIR is full or read-only.
    place = (parent or Path(os.environ.get("TMPDIR") or tempfile.gettempdir())).absolute()
    _sweep_once(place)
    remedy = f"Make room there, or set {'TMPDIR' if parent is None else 'GRID_VALIDATOR_CACHE'} to another folder"
    folder, handle, path = None, None, None
    try:
        with interrupts_held():  # a folder that is made is known here, and removed
            folder, handle = _locked_folder(kind, place)
        path = _plain_path(folder, handle)
        yield path
    except OSError as err:
        inside = folder is None or str(err.filename or folder).startswith((str(folder), str(path)))
        if folder is None or (err.errno in _NO_ROOM and inside):
            raise UserError(f"folder {folder or place}", f"cannot be written: {err.strerror}", remedy) from err
        raise
    finally:
        with interrupts_held():
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if handle is not None:
                os.close(handle)


@contextmanager
def scratch_file(parent: Path) -> Iterator[tuple[int, Path]]:
    """Make a new empty file in ``parent``; yield its handle, open for writing, and its path.

    The file is removed at the end of the context unless it has been renamed.

    Raises:
        OSError: The file cannot be made.
    """
    _sweep_once(parent)
    while True:
        path = parent / f".{_PREFIX}file-{os.urandom(4).hex()}"
        # Files of tempfile are readable by their owner only, but a group may share the folder.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if try_lock(handle) is not False and still_named(handle, path):
            break
        os.close(handle)  # another process removed it before it was locked
    try:
        yield handle, path
    finally:
        with suppress(OSError):
            os.unlink(path)
        os.close(handle)


def is_plain(name: str) -> bool:
    """Return whether shells, loaders and SimGrid's options take a text for one name, without quotes."""
    return _PLAIN.fullmatch(name) is not None


def _plain_path(folder: Path, handle: int) -> Path:
    """Return the folder's path, or one through its open handle if the name is not plain and there is /proc."""
    if is_plain(str(folder)):
        return folder
    with suppress(OSError):
        path = Path("/proc", os.readlink("/proc/self"), "fd", str(handle))
        if os.path.samefile(path, folder):
            return path
    return folder


def _locked_folder(kind: str, place: Path) -> tuple[Path, int]:
    """Make the folder; return it with its open handle, which holds the lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=place))
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # another process removed it before it was locked
            continue
        locked = try_lock(handle)
        if locked is None:  # the file system has no locks, so nothing is ever removed on it
            return folder, handle
        if locked and still_named(handle, folder):
            return folder, handle
        os.close(handle)


def _sweep_once(place: Path) -> None:
    """Remove what killed processes of the same user have left in a folder, once per process."""
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
