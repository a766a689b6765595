"""Exit status of commands that simulate, and the text about failures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from apps.child.failure import printed_lines, telling_line
from apps.child.verdict import readable
from apps.errors import SimulationError
from platforms.command.status import exit_status as command_status
from platforms.errors import UserError

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
            say_error(err)
            return 1

    return command_status(simulating)


def say_failures(failures: Iterable[tuple[str, UserError | SimulationError]]) -> int:
    """Print the errors of failed cases of a series with their names, and return the exit status of the command."""
    every = list(failures)
    for case, error in every:
        say_error(error, case)
    return status_of(error for _, error in every)


def say_error(error: UserError | SimulationError, case: str = "") -> None:
    """Print an error of a case in one line on standard error.

    For a simulation, the ends of its log (without the quoted line) and of the program's output follow.
    """
    print(f"error: {case}: {error}" if case else f"error: {error}", file=sys.stderr)
    if isinstance(error, UserError):
        return
    for line in [line for line in readable(error.log) if telling_line(error.log) not in line][-_LOG_LINES:]:
        print(f"  {line}", file=sys.stderr)
    printed = printed_lines(error.output)
    if printed:
        print("  its last lines of output:", file=sys.stderr)
    for line in printed[-_LOG_LINES:]:
        print(f"    {line[:_LONGEST]}", file=sys.stderr)


def status_of(errors: Iterable[UserError | SimulationError]) -> int:
    """Return the exit status of a series with these errors: 1 if a simulation failed, 2 if some input was bad, or 0."""
    bad_input = [isinstance(error, UserError) for error in errors]
    return 0 if not bad_input else 2 if all(bad_input) else 1
