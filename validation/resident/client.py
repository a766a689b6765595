"""The command's side: hand the command to the resident process, and wait for its exit status.

The process copies itself for the command, and the copy says that it is ready.  Only then it gets the command's words,
variables, folder and standard streams, so that a command is run by the copy or here, and never by both.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import struct
import sys
from contextlib import suppress

from .identity import SWITCH, identity, may_answer, private_folder, socket_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

READY, EXIT, SIGNAL = b"ready", b"exit", b"signal"
PATIENCE_S = 1.0  # until the copy is ready; afterwards the command is run here
_INTERRUPTED = 130  # as in platforms/command/status.py, which takes longer to import than all that is here
_PEER = "3i"  # process, user and group of the other end of a socket
_FORWARDED = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH),
)


def answered(words: Sequence[str]) -> int | None:
    """Have the resident process run a command, and return the exit status; None: the command must be run here.

    Where there is no such process, one is started for the commands that follow.
    """
    try:
        environment = dict(os.environ)
        if not may_answer(words, environment):
            return None
        folder = private_folder(environment)
        if folder is None:
            _not_used("its folder is not private, or its path is too long")
            return None
        name = identity(environment)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(PATIENCE_S)
            try:
                connection.connect(socket_path(folder, name))
            except (FileNotFoundError, ConnectionRefusedError):
                _start(folder)
                _not_used("there was none")
                return None
            process = _copy(connection, name)
            if process is not None:
                return _wait(connection, process, environment)
            _not_used("it refused")
    except KeyboardInterrupt:  # before the copy has the command, which then ends
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except (OSError, ValueError) as err:  # before the copy has the command
        _not_used(str(err))
    return None


def is_users(connection: socket.socket) -> bool:
    """Return whether the other end of a socket is a process of the same user."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(_PEER))
    user: int = struct.unpack(_PEER, peer)[1]
    return user == os.getuid()


def _not_used(reason: str) -> None:
    if os.environ.get(SWITCH) == "debug":
        print(f"resident process not used: {reason}", file=sys.stderr)


def _copy(connection: socket.socket, name: str) -> int | None:
    """Return the number of the copy that waits for the command; None: there is none."""
    if not is_users(connection):
        return None
    connection.send(name.encode("utf-8", "surrogateescape"))
    answer, _, number = connection.recv(64).partition(b" ")
    return int(number) if answer == READY else None


def _hand_over(connection: socket.socket, environment: dict[str, str]) -> None:
    """Give the command to the copy."""
    ignored = [int(number) for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    umask = os.umask(0o077)
    os.umask(umask)
    request = marshal.dumps((sys.argv, sys.orig_argv, environment, umask, ignored))
    folder = os.open(".", os.O_PATH)
    try:
        socket.send_fds(connection, [request], [0, 1, 2, folder])
    finally:
        os.close(folder)


def _wait(connection: socket.socket, process: int, environment: dict[str, str]) -> int:
    """Let the process begin, pass signals on to it, and return its exit status.

    Raises:
        OSError: The process did not get the command.
    """

    def forward(number: int, _: object) -> None:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(process, number)

    def stop(_: int, __: object) -> None:  # as the terminal stops a command, and as the shell continues it
        forward(signal.SIGSTOP, None)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, stop)
        forward(signal.SIGCONT, None)

    handlers = {**dict.fromkeys(_FORWARDED, forward), signal.SIGTSTP: stop}
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        _hand_over(connection, environment)
    except OSError:
        for number, usual in before.items():
            signal.signal(number, usual)
        raise
    connection.settimeout(None)
    try:
        answer, _, value = connection.recv(64).partition(b" ")
    except OSError:
        answer, value = b"", b""
    if answer == EXIT:
        return int(value)
    if answer == SIGNAL:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(int(value), signal.SIG_DFL)
        os.kill(os.getpid(), int(value))
    print("error: the process that ran this command was killed. Type the command again.", file=sys.stderr)
    return 1


def _start(folder: str) -> None:
    """Start a resident process that is no child of this one and holds none of its files."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            os.chdir("/")
            null = os.open(os.devnull, os.O_RDWR)
            for handle in range(3):
                os.dup2(null, handle)
            os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 1 << 20))
            begin = f"from gridval.__main__ import serve; serve({folder!r})"
            os.execv(sys.executable, [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {begin}"])
    finally:
        os._exit(0)
