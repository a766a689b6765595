"""Locks on files (flock): the operating system releases them when their holder ends, even after kill -9."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


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
