"""Totals of the data that a run sends, which show whether two runs of a program did the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from apps.recording.events import DATA_OPS, Kind, Mark, Op, Recording

if TYPE_CHECKING:
    from apps.results.record import RunRecord

_MESSAGES = "messages"
_SAME = 1e-3  # relative: computation that differs by less is equal
_SAME_S = 1e-6  # and s, per second of computation: rounding error of a difference of times
_Counts = dict[str, tuple[int, int]]  # by kind of calls: calls and bytes


@dataclass(frozen=True)
class Totals:
    """Calls and bytes of a run in its timed section, by kind: messages of all ranks, and each collective.

    The calls of a collective are those of the rank with the most, the bytes those of all ranks, as in a RunRecord.
    """

    kinds: _Counts

    def difference(self, other: Totals) -> str | None:
        """Return the kind of calls in which the two differ most, in words; None if they are equal."""
        differences = []
        for kind in dict.fromkeys((*self.kinds, *other.kinds)):
            ours, theirs = self.kinds.get(kind, (0, 0)), other.kinds.get(kind, (0, 0))
            for count, another, unit in zip(ours, theirs, ("", "bytes of "), strict=True):
                if count != another:
                    differences.append(
                        (abs(count - another) / max(count, another), f"{count} and {another} {unit}{kind}")
                    )
        return max(differences)[1] if differences else None


def totals_of_recording(recording: Recording, iterations: int) -> Totals:
    """Return the totals of a run of a number of iterations, even if the recording has fewer.

    The missing ones are assumed to equal its second one.
    """
    return _totals(_of_events(events, recording.communicators, iterations) for events in recording.events)


def totals_of_moments(moments: Sequence[npt.NDArray[np.void]]) -> Totals:
    """Return the totals of a run from the first to the last moment of each rank (apps/recording/files.py)."""
    return _totals(_of_moments(rows[0], rows[-1]) for rows in moments)


def computing_apart(recording: Recording, moments: Sequence[npt.NDArray[np.void]], speed_flops: float) -> str | None:
    """Return the largest difference in computation of two runs, in words; None if all ranks compute alike.

    Args:
        recording: One run, recorded whole.
        moments: The moments of the other run's ranks.
        speed_flops: The speed of the other run's hosts.
    """
    differences = []
    for events, rows in zip(recording.events, moments, strict=True):
        had = events[_timed(events)]
        flops = float(rows[-1]["flops"] - rows[0]["flops"])
        computed_s = float(rows[-1]["compute_s"] - rows[0]["compute_s"])
        least_s = _SAME_S * max(1.0, computed_s)
        for kind, unit, another, least in (
            (Kind.COMPUTE, "flops", flops, least_s * speed_flops),
            (Kind.ELAPSE, "s without flops", computed_s - flops / speed_flops, least_s),
        ):
            amount = float(had["amount"][had["kind"] == kind].sum())
            apart, most = abs(amount - another), max(amount, another)
            if apart > max(least, _SAME * most):
                differences.append((apart / most, f"{amount:.3g} and {another:.3g} {unit}"))
    return max(differences)[1] if differences else None


def totals_of_record(record: RunRecord) -> Totals:
    """Return the totals of a run's record."""
    kinds = {_MESSAGES: (sum(record.messages), sum(record.bytes))}
    return Totals(kinds | {name: (used["calls"], sum(used["bytes"])) for name, used in record.collectives.items()})


def _of_moments(first: np.void, last: np.void) -> _Counts:
    counts = {_MESSAGES: (int(last["messages"] - first["messages"]), int(last["bytes"] - first["bytes"]))}
    for op in DATA_OPS:
        calls = int(last["calls"][op] - first["calls"][op])
        if calls:
            counts[op.name.lower()] = calls, int(last["call_bytes"][op] - first["call_bytes"][op])
    return counts


def _of_events(events: npt.NDArray[np.void], communicators: Sequence[Sequence[int]], iterations: int) -> _Counts:
    marks = np.flatnonzero(events["kind"] == Kind.MARK)
    counts = _counted(events[_timed(events)], communicators)
    marked = marks[events["op"][marks] == Mark.ITERATION]
    missing = iterations - len(marked)
    if len(marked) < 2 or missing <= 0:
        return counts
    body = _counted(events[marked[0] : marked[1]], communicators)
    nothing = (0, 0)
    return {
        kind: (had[0] + missing * more[0], had[1] + missing * more[1])
        for kind, had, more in ((kind, counts.get(kind, nothing), body.get(kind, nothing)) for kind in counts)
    }


def _timed(events: npt.NDArray[np.void]) -> slice:
    """Return where the events of the timed section are."""
    ends = np.flatnonzero((events["kind"] == Kind.MARK) & np.isin(events["op"], (Mark.START, Mark.STOP)))
    return slice(ends[0], ends[-1]) if len(ends) == 2 else slice(None)


def _counted(events: npt.NDArray[np.void], communicators: Sequence[Sequence[int]]) -> _Counts:
    sent = events["size_bytes"][events["kind"] == Kind.SEND]
    counts = {_MESSAGES: (len(sent), int(sent.sum()))}
    calls = events[events["kind"] == Kind.COLLECTIVE]
    for op in DATA_OPS:
        these = calls[calls["op"] == op]
        if not len(these):
            continue
        blocks = [len(communicators[comm]) if op == Op.ALLTOALL else 1 for comm in these["comm"]]
        counts[op.name.lower()] = len(these), int((these["size_bytes"] * blocks).sum())
    return counts


def _totals(ranks: Iterable[_Counts]) -> Totals:
    kinds: _Counts = {}
    for rank in ranks:
        for kind, (calls, size_bytes) in rank.items():
            had = kinds.get(kind, (0, 0))
            together = had[0] + calls if kind == _MESSAGES else max(had[0], calls)
            kinds[kind] = together, had[1] + size_bytes
    return Totals(kinds)
