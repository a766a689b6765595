"""The resident process: it waits for commands of its user, and runs each in a copy of itself.

Nothing but imports happens in it: it imports the modules that commands have imported before.  It ends after a minute
without a command, and as soon as a command finds that a file of the project has changed.
"""

from __future__ import annotations

import gc
import importlib
import marshal
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ..kept.state import files_state
from .client import EXIT, PATIENCE_S, SIGNAL, is_users
from .copy import become, leave_at_exit
from .identity import identity, socket_path

IDLE_S = 60.0
_MOST_BYTES = 1 << 20  # of an identity, and of names of modules
# Packages whose import starts no thread and reads nothing of a command, beside Python's own.
_IMPORTED = frozenset({
    *("gridval", "platforms", "apps", "predictor", "validation", "numpy", "pandas", "scipy", "lxml", "jinja2"),
    *("platformdirs", "rich", "markupsafe", "dateutil", "pytz", "six", "pygments", "markdown_it", "mdurl"),
})  # fmt: skip


@dataclass(frozen=True)
class _Running:
    """A copy that runs a command."""

    connection: socket.socket
    names: int  # descriptor from which the names of the modules are read that it has imported


def serve(folder: str, run: Callable[[], int], *, idle_s: float = IDLE_S) -> None:
    """Answer commands until there were none for a while, or the project has changed.

    Args:
        folder: The private folder of the socket.
        run: Runs the command of ``sys.argv``, and returns its exit status.
        idle_s: How long to wait for a command, s.
    """
    leave_at_exit()
    Server(folder, identity(os.environ), run).serve(idle_s)


class Server:
    """Listens, copies itself for commands, and imports what they have imported."""

    def __init__(self, folder: str, name: str, run: Callable[[], int]) -> None:
        self._name, self._run, self._path = name, run, socket_path(folder, name)
        self._state = files_state()
        self._running: dict[int, _Running] = {}
        self._to_import: list[str] = []
        self._is_listening = True
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        scratch = f"{self._path}.{os.getpid()}"  # it gets its name when it listens
        try:
            self._listening.bind(scratch)
            self._listening.listen(64)
            self._inode = os.stat(scratch).st_ino
            os.rename(scratch, self._path)
        except OSError as err:  # such as a full disk
            with suppress(OSError):
                os.unlink(scratch)
            raise SystemExit(1) from err
        self._poll = select.poll()
        self._poll.register(self._listening, select.POLLIN)

    def serve(self, idle_s: float) -> None:
        """Answer commands."""
        woken, wakes = os.pipe()
        for handle in (woken, wakes):
            os.set_blocking(handle, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll.register(woken, select.POLLIN)
        gc.disable()
        while self._is_listening or self._running:
            limit_s = 0.0 if self._to_import else idle_s if self._is_listening else None
            events = {handle for handle, _ in self._poll.poll(None if limit_s is None else limit_s * 1000)}
            if woken in events:
                os.read(woken, 4096)
            self._reap()
            if self._is_listening and self._listening.fileno() in events:
                self._accept()
            if self._to_import and not events:
                self._import(self._to_import.pop(0))
            elif not events and not self._running:
                self._close()

    def _close(self) -> None:
        """Listen no more; what runs goes on."""
        if not self._is_listening:
            return
        self._is_listening = False
        self._to_import.clear()
        self._poll.unregister(self._listening)
        self._listening.close()
        with suppress(OSError):
            if os.stat(self._path).st_ino == self._inode:  # else another process has taken the name
                os.unlink(self._path)

    def _accept(self) -> None:
        connection, _ = self._listening.accept()
        connection.settimeout(PATIENCE_S)
        try:
            name = connection.recv(_MOST_BYTES).decode("utf-8", "surrogateescape")
            is_current = files_state() == self._state
        except OSError:
            name, is_current = "", False
        if is_current and name == self._name and is_users(connection):
            self._copy(connection)
            return
        if name and not is_current:
            self._close()
        connection.close()

    def _copy(self, connection: socket.socket) -> None:
        """Run a command in a copy of this process, which does not return."""
        names, tells = os.pipe()
        os.set_blocking(tells, False)
        gc.freeze()  # what is here now is not looked through by the copy
        process = os.fork()
        if process:
            os.close(tells)
            self._running[process] = _Running(connection, names)
            return
        signal.set_wakeup_fd(-1)
        self._listening.close()
        os.close(names)
        for other in self._running.values():
            other.connection.close()
            os.close(other.names)
        become(connection, tells, self._run)

    def _reap(self) -> None:
        """Report commands that have ended, and note what they have imported."""
        for process in list(self._running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            entry = self._running.pop(process)
            code = os.waitstatus_to_exitcode(status)
            with suppress(OSError):  # the copy has said it, unless it was killed
                entry.connection.send(b"%s %d" % ((EXIT, code) if code >= 0 else (SIGNAL, -code)))
            entry.connection.close()
            with suppress(ValueError, EOFError, TypeError):
                self._to_import += marshal.loads(os.read(entry.names, _MOST_BYTES))
            os.close(entry.names)

    def _import(self, name: str) -> None:
        top = name.partition(".")[0]
        if name in sys.modules or not self._is_listening:
            return
        if top in _IMPORTED or top in sys.stdlib_module_names:
            with suppress(Exception):  # the command that needs it says what is wrong
                importlib.import_module(name)
        if len(os.listdir("/proc/self/task")) > 1:  # a copy would lack the other threads, and wait for their locks
            self._close()
