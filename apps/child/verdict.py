"""Check whether an SMPI run succeeded.

Exit status 0 proves nothing: a deadlock, MPI_Abort and a failing host also end with it.  A run has succeeded if its
status is 0, it has printed the program's final record, and its log shows no sign of these failures.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from apps.child.failure import failure, no_room, recorders_words, telling_line
from apps.child.process import Finished
from apps.errors import KernelError, OptionError, SimulationError
from platforms.errors import PlatformError

_NO_WAY = re.compile(
    r"(You're trying to send data from .* between these two hosts|There can't be route in an Empty zone)"
)
_SHELLS = 126  # the first exit status with a meaning of the shell
_NO_DISK = "Trying to open file on a diskless host"
_BAD_OPTION = re.compile(r"Bad config key: (\S+)")


def final_record(done: Finished, what: str) -> dict[str, Any]:
    """Return the program's final line of JSON.

    Args:
        done: The ended process.
        what: Name of the run in error messages.

    Raises:
        SimulationError: The run did not succeed (see ``check_success``), or there is no such line.
        OptionError: See ``check_success``.
        PlatformError: See ``check_success``.
    """
    check_success(done, what)
    try:
        record = json.loads(done.output.rstrip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        reason = no_room(done) or telling_line(done.log)
        raise SimulationError(f"{what}: ended without a record: {reason}", done.log)
    return record


def check_success(done: Finished, what: str) -> None:
    """Check that a run succeeded, as far as that is visible without a final record.

    Args:
        done: The ended process.
        what: Name of the run in error messages.

    Raises:
        SimulationError: The run did not succeed.
        OptionError: A SimGrid option does not exist.
        PlatformError: There is no route for a message.
        KernelError: There is no disk for a file; the platforms on which programs are recorded have none.
    """
    bad_option = _BAD_OPTION.search(done.log)
    if bad_option:
        raise OptionError(
            f"--cfg {bad_option[1]}", "SimGrid has no such option", "See smpirun's --help for the known ones"
        )
    no_way = _NO_WAY.search(done.log)
    if no_way:
        remedy = "Correct the platform file (loopback_bw and loopback_lat of a <cluster> let hosts send to themselves)"
        raise PlatformError(what, f"SimGrid says: {no_way[1]}", remedy)
    if _NO_DISK in done.log:
        remedy = "Give each host a <disk> with the properties mount and content (docs/programs/own-program.md)"
        raise KernelError(what, "the program opens a parallel file on a host without a disk", remedy)
    failed = failure(done)
    if failed is not None:
        raise SimulationError(f"{what}: {failed.text}", done.log, done.output)


def as_expected(done: Finished, status: int, what: str) -> Finished:
    """Return an ended run with status 0 if its program ended with the expected exit status.

    Raises:
        SimulationError: The program ended with another status.
    """
    if not status or done.status not in range(_SHELLS) or failure(replace(done, status=0)) is not None:
        return done
    if done.status != status:
        raise SimulationError(f"{what}: ended with status {done.status} instead of {status}", done.log, done.output)
    return replace(done, status=0)


def readable(log: str) -> list[str]:
    """Return the lines of a SimGrid log without settings, backtraces and the recorder's own notes."""
    noted = recorders_words(log)
    noise = (
        *("xbt_cfg/INFO", "smpi_config/INFO", "  ->  ", "Current backtrace", "Legend of the", "simcall RUN_ANSWERED"),
        *("SMPI process did not return 0", "Execution failed with code"),
    )
    lines = (line for line in log.splitlines() if line.strip() and not any(word in line for word in noise))
    return [line for line in lines if line not in noted]
