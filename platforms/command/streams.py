"""The standard streams of a command, which its caller may have closed."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO


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
