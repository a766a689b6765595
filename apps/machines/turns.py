"""Turns on a machine: two runs at once would disturb each other."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from apps.errors import Stopped
from apps.machines.launch import real_name
from apps.machines.machine_file import Machine
from platforms.errors import UserError
from platforms.files.caching import cache_folder, unusable
from platforms.files.scratch import try_lock
from platforms.terminal.progress import doing

_STEP_S = 0.2  # interval between two tries
_LOCKS = 64


@contextmanager
def alone_on(machine: Machine, stop: threading.Event | None = None) -> Iterator[None]:
    """Wait until no other run of this user is on the machine's hosts, and hold back others while the context lasts.

    Files of several machines may name the same host; their runs take turns too.  Other users of this computer, and
    other computers, are not kept away.

    Raises:
        Stopped: ``stop`` was set while waiting.
        UserError: The cache folder cannot be written.
    """
    stop = threading.Event() if stop is None else stop
    folder = cache_folder() / "machines"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
    with ExitStack() as held:
        for lock in _locks(machine.hosts):
            held.enter_context(_alone(folder / f"{lock}.lock", machine, stop))
        yield


def _locks(hosts: Iterable[str]) -> list[int]:
    """Return the numbers of the locks of hosts, in a common order, which prevents deadlocks.

    Several hosts of a large machine share a lock, because a process may open few files.
    """
    hashes = (hashlib.sha256(real_name(host).encode()).digest() for host in hosts)
    return sorted({digest[0] % _LOCKS for digest in hashes})


def _wait(handle: int, path: Path, machine: Machine, stop: threading.Event) -> None:
    """Wait for a lock."""
    while (locked := try_lock(handle)) is not True:
        if locked is None:
            raise UserError(f"cache folder {path.parent}", "its file system has no locks", "Use another one")
        if stop.wait(_STEP_S):
            raise Stopped(f"machine {machine.name}: not started, because its runner was closed")


@contextmanager
def _alone(path: Path, machine: Machine, stop: threading.Event) -> Iterator[None]:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as err:
        raise unusable(path.parent, err.strerror or str(err)) from err
    try:
        if not try_lock(handle):
            with doing(f"waiting for another run on the hosts of machine {machine.name}"):
                _wait(handle, path, machine, stop)
        yield
    finally:
        os.close(handle)
