"""Exit status of commands that simulate, and the text of a failed simulation."""

from __future__ import annotations

import sys
from collections.abc import Callable

from apps.child.failure import printed_lines, telling_line
from apps.child.verdict import readable
from apps.errors import SimulationError
from platforms.command.status import exit_status as command_status

_LOG_LINES = 12
_LONGEST = 200  # characters of a line of output


def exit_status(command: Callable[[], int]) -> int:
    """Run a command and return its exit status, like platforms.command.status.exit_status.

    A simulation that fails gives status 1, and the end of its log is printed.
    """

    def simulating() -> int:
        try:
            return command()
        except SimulationError as err:
            print_failure(err)
            return 1

    return command_status(simulating)


def print_failure(err: SimulationError) -> None:
    """Print the error in one line, and the ends of the log and of the program's output, on standard error.

    The log is printed without the line that the error quotes.
    """
    print(f"error: {err}", file=sys.stderr)
    for line in [line for line in readable(err.log) if telling_line(err.log) not in line][-_LOG_LINES:]:
        print(f"  {line}", file=sys.stderr)
    printed = printed_lines(err.output)
    if printed:
        print("  its last lines of output:", file=sys.stderr)
    for line in printed[-_LOG_LINES:]:
        print(f"    {line[:_LONGEST]}", file=sys.stderr)
