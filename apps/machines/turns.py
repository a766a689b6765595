"""Turns on a machine: two runs at once would disturb each other."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from apps.errors import Stopped
from apps.machines.machine_file import Machine
from platforms.errors import UserError
from platforms.files.caching import cache_folder, unusable
from platforms.files.locks import try_lock

_STEP_S = 0.2  # interval between two tries


@contextmanager
def alone_on(machine: Machine, stop: threading.Event | None = None) -> Iterator[None]:
    """Wait until no other run of this user is on the machine, and keep others away for the duration of the context.

    Other users of this computer, and other computers, are not kept away.

    Raises:
        Stopped: ``stop`` was set while waiting.
        UserError: The cache folder cannot be written.
    """
    stop = threading.Event() if stop is None else stop
    path = cache_folder() / "machines" / f"{machine.content_hash[:24]}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as err:
        raise unusable(path.parent, err.strerror or str(err)) from err
    try:
        while (locked := try_lock(handle)) is not True:
            if locked is None:
                raise UserError(f"cache folder {path.parent}", "its file system has no locks", "Use another one")
            if stop.wait(_STEP_S):
                raise Stopped(f"machine {machine.name}: not started, because its runner was closed")
        yield
    finally:
        os.close(handle)
