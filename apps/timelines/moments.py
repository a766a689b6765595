"""The moments of a run at which a timeline changes, in the order of a file."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from apps.timelines.activities import Activities


class Change(IntEnum):
    """Kinds of changes at a moment, in the order in which they happen at the same moment."""

    RECEIVED = 0  # who: message; before the end of the activity that waits for it
    ACTIVITY_ENDS = 1  # who: rank; value: as when it began
    ITERATION_ENDS = 2  # who: rank; value: number of the iteration, from 1
    ITERATION_BEGINS = 3
    ACTIVITY_BEGINS = 4  # value: index into activities.NAMES
    SENT = 5  # who: message; after the beginning of the activity that sends it
    RECEIVED_AT_ONCE = 6  # who: message, which took no time; after it was sent


class Moment(NamedTuple):
    """A moment; messages are numbered in the order of Activities.messages."""

    time_s: float
    change: Change
    who: int
    value: int


def moments(activities: Activities) -> Iterator[Moment]:
    """Yield everything that happens in the run, in the order of time; what belongs together is nested."""
    parts = []
    for rank, recorded in enumerate(activities.ranks):
        parts += [
            _part(recorded.begin_s, Change.ACTIVITY_BEGINS, rank, recorded.activity),
            _part(recorded.end_s, Change.ACTIVITY_ENDS, rank, recorded.activity),
        ]
        begin_s, end_s = recorded.iteration_s[:-1], recorded.iteration_s[1:]
        numbers = np.flatnonzero(end_s > begin_s)
        parts += [
            _part(begin_s[numbers], Change.ITERATION_BEGINS, rank, numbers + 1),
            _part(end_s[numbers], Change.ITERATION_ENDS, rank, numbers + 1),
        ]
    sent_s, received_s = activities.messages.sent_s, activities.messages.received_s
    places = np.arange(len(sent_s))
    parts += [
        _part(sent_s, Change.SENT, places, places),
        _part(received_s, np.where(received_s > sent_s, Change.RECEIVED, Change.RECEIVED_AT_ONCE), places, places),
    ]
    time_s, change, who, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    for at in np.lexsort((change, time_s)):
        yield Moment(float(time_s[at]), Change(change[at]), int(who[at]), int(value[at]))


def _part(
    time_s: npt.NDArray[np.float64], *columns: int | npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64 | np.int64], ...]:
    """Return columns of equal lengths."""
    return time_s, *(np.broadcast_to(np.asarray(column, np.int64), time_s.shape) for column in columns)
