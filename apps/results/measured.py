"""The part of a record that a run on a real machine has and a simulation has not."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

_FAR = 3.0  # scaled median deviations from the median beyond which a repeat is an outlier
_SCALE = 1.4826  # of the median deviation of normally distributed values, in standard deviations
_NEAR_REL = 0.01  # a repeat that is this near to the median is never one


@dataclass(frozen=True)
class Measured:
    """Repeated runs on a machine.  Lists have one entry per repeat, in the order in which they ran."""

    machine: str
    repeats_s: tuple[float, ...]  # time of the timed section
    outliers: tuple[int, ...]  # indices of the repeats far from the others; they are kept
    representative: int  # index of the repeat whose time is the median; the record's other fields are of it
    load_before: tuple[float, ...]  # largest load of a host when the repeat began, averaged over a minute; -1: unknown
    load_after: tuple[float, ...]
    throttled: tuple[int, ...]  # throttling events, all hosts; -1: not reported by any
    file_s: tuple[float, ...]  # by rank: the part of its time in MPI that MPI's functions for files took
    calls_seen: int  # calls of MPI in the whole run, of the rank with the fewest
    mpi: str  # the version in the library's words
    launcher: tuple[str, ...]  # the command with its options
    date: str  # of the first repeat's start, UTC
    said: tuple[str, ...] | None = field(default=None, metadata={"may_be_absent": True})  # the launcher's cautions

    @property
    def low_s(self) -> float:
        """Shortest repeat."""
        return min(self.repeats_s)

    @property
    def high_s(self) -> float:
        """Longest repeat."""
        return max(self.repeats_s)

    @property
    def range_rel(self) -> float:
        """Range of the repeats as a share of the median."""
        return (self.high_s - self.low_s) / self.repeats_s[self.representative]


def median_repeat(times_s: Sequence[float]) -> int:
    """Return the index of the repeat with the median time; of an even number, with the lower of the middle two.

    >>> median_repeat([3.0, 1.0, 2.0])
    2
    """
    return list(times_s).index(statistics.median_low(times_s))


def far_repeats(times_s: Sequence[float]) -> tuple[int, ...]:
    """Return the indices of outliers: more than 3 scaled median deviations, and more than 1 %, from the median.

    >>> far_repeats([1.00, 1.01, 0.99, 1.02, 1.50])
    (4,)
    """
    middle = statistics.median(times_s)
    deviation = _SCALE * statistics.median(abs(time_s - middle) for time_s in times_s)
    far = max(_FAR * deviation, _NEAR_REL * middle)
    return tuple(index for index, time_s in enumerate(times_s) if abs(time_s - middle) > far)
