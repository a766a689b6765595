"""One measured time, and the checks that all formats share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from apps.calibrate.points import CALLS
from platforms.errors import UserError, nearest

MOST_BYTES = 2**31 - 1  # of a message: SMPI's thresholds and MPI's counts are ints


@dataclass(frozen=True)
class Sample:
    """A measured time of one call."""

    call: str  # of CALLS; pingpong is a round trip
    size_bytes: int
    time_s: float
    cluster: str | None = None  # None: the file does not name it


def sample(where: str, call: str, size: str, time: str, *, unit_s: float = 1.0, cluster: str | None = None) -> Sample:
    """Return a checked sample.

    Args:
        where: File and line, for error messages.
        call: The call.
        size: Message size in bytes, as text.
        time: The time, as text.
        unit_s: Seconds per unit of ``time``; twice as many if the file has half a round trip.
        cluster: Name of the cluster, if the file has it.

    Raises:
        UserError: A value is invalid.
    """
    if call not in CALLS:
        raise UserError(where, f"no call {call!r}", nearest(call, CALLS))
    try:
        number = float(size)
    except ValueError:
        number = math.nan
    if not (0 <= number <= MOST_BYTES and number == int(number)):
        raise UserError(where, f"the size is {size!r}", f"Give whole bytes, from 0 to {MOST_BYTES}")
    try:
        time_s = float(time) * unit_s
    except ValueError:
        time_s = math.nan
    if not 1e-12 < time_s < 1e6:
        raise UserError(where, f"the time is {time!r}", "Give a positive one; leave out calls that were not timed")
    return Sample(call, int(number), time_s, cluster)
