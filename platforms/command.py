"""How every command line ends: the errors that a user can meet become one line and an exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from platforms.errors import UserError

EXIT_STATUSES = (
    "Exit status: 0 done; 1 a simulation or verification failed, or output could not be written; 2 bad input; "
    "130 interrupted; 141 nobody reads the output any more."
)


def exit_status(command: Callable[[], int]) -> int:
    """Runs a command; its status, or that of EXIT_STATUSES for what it raised.  A bug keeps its traceback."""
    signal.signal(signal.SIGTERM, _interrupt)  # as batch systems end a job: nothing may be left running
    try:
        status = command()
        sys.stdout.flush()
        return status
    except UserError as err:
        print(f"error: {err}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _drop_output()
        return 141
    except OSError as err:
        _drop_output()
        print(f"error: {err.filename or 'output'}: {err.strerror or err}", file=sys.stderr)
        return 1


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _drop_output() -> None:
    """What is still to be flushed has nowhere to go; Python would complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
