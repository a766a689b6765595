"""Locks on files (flock): the system takes them away however their holder ends, kill -9 included."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def try_lock(handle: int) -> bool | None:
    """Whether the open file is locked for its holder alone now; None: its file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def still_named(handle: int, path: Path) -> bool:
    """Whether the open file still has this name: who locks one may find that it has been removed just before."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
