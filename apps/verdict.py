"""Whether an SMPI run succeeded.

Exit status 0 proves nothing: a deadlock, MPI_Abort and a failing host end with it too.  Success is status 0, the
program's final record, and no sign of the others in the log.
"""

from __future__ import annotations

import json
import re
from typing import Any

from apps.errors import KernelError, SimulationError
from apps.failure import failure, no_room, recorders_words, telling_line
from apps.process import Finished
from platforms.errors import PlatformError

_NO_WAY = re.compile(
    r"(You're trying to send data from .* between these two hosts|There can't be route in an Empty zone)"
)
_BAD_OPTION = re.compile(r"Bad config key: (\S+)")


def final_record(done: Finished, what: str) -> dict[str, Any]:
    """The program's final line of JSON.  ``what`` names the run in errors.

    Raises as ``check_success``, and SimulationError where there is no such line.
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
    failed = failure(done)
    if failed is not None:
        raise SimulationError(f"{what}: {failed.text}", done.log)


def readable(log: str) -> list[str]:
    """The lines of a SimGrid log without settings, backtraces and what the recorder noted for the verdict."""
    noted = recorders_words(log)
    noise = ("xbt_cfg/INFO", "smpi_config/INFO", "  ->  ", "Current backtrace", "Legend of the", "simcall RUN_ANSWERED")
    lines = (line for line in log.splitlines() if line.strip() and not any(word in line for word in noise))
    return [line for line in lines if line not in noted]
