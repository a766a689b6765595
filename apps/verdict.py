"""Whether an SMPI run succeeded.

Exit status 0 proves nothing: a deadlock, MPI_Abort and a failing host end with it too.  Success is status 0, the
program's final record, and no sign of the others in the log.
"""

from __future__ import annotations

import json
import re

from apps.errors import KernelError, SimulationError
from apps.process import Finished
from platforms.errors import PlatformError

_EXCEPTION = re.compile(r"Uncaught exception [\w:]+(?: by \S+)?: (.*)")
_NO_WAY = re.compile(
    r"(You're trying to send data from .* between these two hosts|There can't be route in an Empty zone)"
)
_PREFIX = re.compile(r"^\[[^]]*\]\s*(\S+:\d+:\s*)?(\[\S+/\w+\]\s*)?")  # [time] file:line: [category/LEVEL]
_BAD_OPTION = re.compile(r"Bad config key: (\S+)")


def final_record(done: Finished, what: str) -> dict:
    """The program's final line of JSON.  ``what`` names the run in errors.

    Raises as ``check_success``, and SimulationError where there is no such line.
    """
    check_success(done, what)
    try:
        return json.loads(done.output.rstrip().rpartition("\n")[2])
    except json.JSONDecodeError:
        raise SimulationError(f"{what}: ended without a record: {telling_line(done.log)}", done.log) from None


def check_success(done: Finished, what: str) -> None:
    """Raises SimulationError for a run that did not succeed, as far as can be told without a final record, KernelError
    for a SimGrid option that does not exist, and PlatformError for a message that finds no way.
    """
    bad_option = _BAD_OPTION.search(done.log)
    if bad_option:
        raise KernelError(
            f"--cfg {bad_option[1]}", "SimGrid has no such option", "See smpirun's --help for the known ones"
        )
    no_way = _NO_WAY.search(done.log)
    if no_way:
        remedy = "Mend the platform (loopback_bw and loopback_lat of a <cluster> let hosts send to themselves)"
        raise PlatformError(what, f"SimGrid says: {no_way[1]}", remedy)
    reason = _failure(done)
    if reason is not None:
        raise SimulationError(f"{what}: {reason}", done.log)


def _failure(done: Finished) -> str | None:
    if done.timed_out:
        return f"time limit reached after {done.wall_s:.1f} s of wall time"
    if done.too_loud:
        return "the program wrote too much"
    if aborted_itself(done):
        return "the program called MPI_Abort"
    if "Deadlock detected" in done.log:
        return "deadlock: the ranks that are left wait for messages that are never sent"
    if done.status != 0:
        # A shell reports a signal as 128 + its number.
        how = {134: "aborted", 137: "was killed", 139: "crashed"}.get(done.status, f"ended with status {done.status}")
        return f"the simulation {how}: {telling_line(done.log)}"
    if "Stalling SMPI instance" in done.log:
        return "some ranks ended without MPI_Finalize"
    return None


def aborted_itself(done: Finished) -> bool:
    """Whether the program has called MPI_Abort."""
    return "MPI_Abort was called" in done.log


def telling_line(log: str) -> str:
    """The line of a SimGrid log that says most: an exception's own text, else the last complaint."""
    exception = _EXCEPTION.search(log)
    if exception:
        return exception[1]
    lines = [line.strip() for line in log.splitlines() if line.strip() and "/INFO]" not in line]
    complaints = [line for line in lines if "CRITICAL" in line or "ERROR" in line or "error" in line.lower()]
    return _PREFIX.sub("", (complaints or lines or ["nothing was said"])[-1])


def readable(log: str) -> list[str]:
    """The lines of a SimGrid log without settings and backtraces."""
    noise = ("xbt_cfg/INFO", "smpi_config/INFO", "  ->  ", "Current backtrace", "Legend of the", "simcall RUN_ANSWERED")
    return [line for line in log.splitlines() if line.strip() and not any(word in line for word in noise)]
