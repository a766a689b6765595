"""Exit status, error line and standard streams of every command: errors that a user can meet become one line."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from platforms.errors import UserError, printable


def is_open(handle: int) -> bool:
    """Return whether a file descriptor is open."""
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


def open_streams() -> None:
    """Open standard streams that the caller has closed: files opened later would take their places.

    Python then has None in place of the stream.
    """
    for handle in range(3):
        if not is_open(handle):
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    for name, handle in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            stream = os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)


def say(line: str) -> None:
    """Print a line on standard error, unless it is closed."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def drop_output() -> None:
    """Discard buffered output that nobody reads; otherwise Python would report an error when it exits."""
    _drop(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    with suppress(ValueError):  # the stream is closed, or an object without a file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


EXIT_STATUSES = (
    "Exit status: 0 done; 1 a simulation or verification failed, or output could not be written; 2 bad input; "
    "130 interrupted; 141 the reader of the output has ended."
)


_NO_MORE = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
# Python's and the loader's texts where a thread cannot be started or a library has no room in memory.
_NO_ROOM_TEXTS = ("can't start new thread", "failed to map segment", "cannot allocate memory")
_TOO_FEW = (
    "error: the system: it gives no more processes, files or memory ({}). Raise its limits (ulimit -a), or end others."
)


_MOST_DIGITS = 11  # of seconds since 1970: to the year 5138


def exit_status(command: Callable[[], int]) -> int:
    """Run a command, from its parser on, and return its exit status.

    An exception that a user can cause is reported in one line and gives the status that EXIT_STATUSES names.  Any other
    exception is a bug and keeps its traceback.

    Raises:
        SystemExit: The parser ends the command: after --help, or at an option that does not exist.
    """
    closed_output = not is_open(1)
    open_streams()
    if closed_output:  # found now rather than after hours of simulation
        say("error: standard output: it is closed. Open it, or send it to /dev/null.")
        return 2
    signal.signal(signal.SIGTERM, _interrupt)  # batch systems end jobs this way; no child process may be left running
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # the terminal closes; nohup ignores the signal
        signal.signal(signal.SIGHUP, _interrupt)
    try:
        _check_environment()
        try:
            status = command()
        except SystemExit:  # after --help, which may be in the buffer still
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return status
    except UserError as err:
        say(f"error: {err}")
        return 2
    except KeyboardInterrupt as err:
        say(f"interrupted: {err}. To continue: {command_line()}" if err.args else "interrupted")
        return 130
    except BrokenPipeError:  # the reader of the output has ended, as `head` does
        drop_output()
        return 141
    except OSError as err:
        drop_output()
        if err.errno in _NO_MORE:
            say(_TOO_FEW.format(err.strerror))
            return 1
        say(f"error: {printable(str(err.filename or 'output'))}: {err.strerror or err}")
        return 2 if err.errno == errno.ENAMETOOLONG else 1
    except (RuntimeError, MemoryError, ImportError) as err:
        if isinstance(err.__cause__, KeyboardInterrupt):  # while a class was being made
            say("interrupted")
            return 130
        if not isinstance(err, MemoryError) and not any(text in str(err) for text in _NO_ROOM_TEXTS):
            raise
        drop_output()
        say(_TOO_FEW.format(printable(str(err)) or "out of memory"))
        return 1
    except UnicodeEncodeError as err:
        drop_output()
        say(f"error: {_not_encodable(err)}")
        return 2


def command_line() -> str:
    """Return the command line of this process, as the user may type it again."""
    words = sys.orig_argv if os.path.basename(sys.argv[0]) != "gridval" else ["gridval", *sys.argv[1:]]
    return printable(shlex.join(words))


def _not_encodable(err: UnicodeEncodeError) -> str:
    """Return the error line for a name that is not UTF-8, or for a character that the output's encoding lacks."""
    what = printable(err.object[max(0, err.start - 40) : err.end + 40])
    if err.encoding.lower().replace("-", "") == "utf8":
        return f"{what!r}: not text in UTF-8. Rename it."
    return f"{what!r}: the output's encoding {err.encoding} has no such character. Set PYTHONIOENCODING to utf-8."


def _check_environment() -> None:
    """Refuse a value of SOURCE_DATE_EPOCH that compilers and Matplotlib cannot read.

    Raises:
        UserError: It is not a number of seconds.
    """
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if text and not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise UserError(f"SOURCE_DATE_EPOCH={printable(text)}", "not a number of seconds since 1970", "Unset it")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
