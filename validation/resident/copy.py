"""The copy of the resident process that runs a command, as a process that was started for it."""

from __future__ import annotations

import atexit
import fcntl
import io
import marshal
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from .client import EXIT, READY

_PATIENCE_S = 5.0  # for the command
_MOST_BYTES = 1 << 20  # of a command
_DESCRIPTORS = 4  # three standard streams, and the folder


@dataclass(frozen=True)
class Command:
    """All that a process gets from the shell, beside its open files."""

    words: list[str]  # sys.argv
    started: list[str]  # sys.orig_argv
    environment: dict[str, str]
    umask: int
    ignored: list[int]  # signals


@dataclass
class _Leaving:
    """The last message of the copy; without a connection this is the resident process itself."""

    process: int = -1  # the copy's; processes that it copies of itself say nothing
    connection: socket.socket | None = None
    status: int = 1
    imports: int = -1  # descriptor for the names of modules
    modules: frozenset[str] = frozenset()  # imported before the command


_leaving = _Leaving()


def leave_at_exit() -> None:
    """Have a copy report its exit status after all else that is done when Python exits; call this before imports."""
    atexit.register(_leave)


def become(connection: socket.socket, imports: int, run: Callable[[], int]) -> NoReturn:
    """Wait for a command, run it in this process, a copy of the resident one, and exit with its status.

    Args:
        connection: To the caller of the command.
        imports: Descriptor to which the names of modules are written that the command has imported.
        run: Runs the command of ``sys.argv``, and returns the exit status.
    """
    try:
        connection.settimeout(_PATIENCE_S)
        connection.send(b"%s %d" % (READY, os.getpid()))
        request, handles, _, _ = socket.recv_fds(connection, _MOST_BYTES, _DESCRIPTORS)
        command = Command(*marshal.loads(request))
        connection.settimeout(None)
    except (OSError, ValueError, EOFError, TypeError):  # the caller runs it
        os._exit(0)
    _leaving.process, _leaving.connection = os.getpid(), connection
    _leaving.imports, _leaving.modules = imports, frozenset(sys.modules)
    try:
        _surroundings(command, handles)
        _end_with_caller(connection)
        _leaving.status = run()
    except SystemExit as err:
        _leaving.status = err.code if isinstance(err.code, int) else 0 if err.code is None else 1
        raise
    sys.exit(_leaving.status)


def _signals(ignored: frozenset[int]) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in ignored else usual)


def _end_with_caller(connection: socket.socket) -> None:
    """Have the copy ended as by SIGTERM when the caller is gone, whether or not the resident process is still there."""

    def look(*_: object) -> None:
        try:
            gone = not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            gone = False
        except OSError:
            gone = True
        if gone:
            os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGIO, look)  # comes when the other end of the socket is closed
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    look()  # it may have been closed before


def _surroundings(command: Command, handles: list[int]) -> None:
    """Take signals, streams, folder, variables and words of a command."""
    os.setsid()
    _signals(frozenset(command.ignored))
    *streams, folder = handles
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
    os.fchdir(folder)
    for handle in handles:
        os.close(handle)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        stream = _stream(getattr(sys, name), number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.umask(command.umask)
    os.environ.clear()
    os.environ.update(command.environment)
    sys.argv[:], sys.orig_argv[:] = command.words, command.started
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # else that of the resident process


def _stream(like: io.TextIOWrapper, number: int) -> io.TextIOWrapper:
    """Return a stream of a descriptor, as Python makes them; ``like`` was made for another file."""
    buffering = 0 if like.write_through else -1
    binary = os.fdopen(number, "wb" if number else "rb", buffering, closefd=False)
    return io.TextIOWrapper(
        binary, like.encoding, like.errors, "\n", number == 2 or os.isatty(number), like.write_through
    )


def _leave() -> None:
    if _leaving.connection is None or _leaving.process != os.getpid():
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # the caller ends when it has the status
    with suppress(OSError):
        _leaving.connection.send(b"%s %d" % (EXIT, _leaving.status & 0xFF))
    with suppress(OSError, ValueError):
        os.write(_leaving.imports, marshal.dumps([name for name in sys.modules if name not in _leaving.modules]))
    os._exit(_leaving.status & 0xFF)
