"""Activities under way in a simulation: the calls of its ranks, and the messages in flight.

Equal iteration times prove nothing while the network has more and more to do, for example if receives are posted long
before the program waits for them.  Only if everything under way repeats too can the iterations be extrapolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.recording.events import Kind, Mark, Recording
from apps.recording.files import by_rank
from apps.results.steady import Period

FLIGHT = np.dtype([("messages", "f8"), ("first", "f8"), ("second", "f8")])  # InFlight of recorder/network.h


@dataclass(frozen=True, eq=False)
class UnderWay:
    """Calls and messages under way in each iteration."""

    calls_s: tuple[tuple[npt.NDArray[np.float64], ...], ...]  # by rank and iteration: its calls since it began, s
    flights: npt.NDArray[np.void]  # by iteration: messages in flight at its end on rank 0, FLIGHT

    def drift_rel(self, period: Period, start: int = 0) -> float:
        """Return how much a period of iterations may grow, judged by its messages that do not repeat.

        A message that arrives later from period to period eventually delays a rank.  Of several messages in flight, one
        may cause the whole difference.  Infinity: calls or messages differ.

        Args:
            period: Period of the iterations.
            start: First iteration that repeats.
        """
        last, lag = len(self.flights) - 1, period.iterations  # the last iteration is left out, as in find_period
        compared = range(last - period.window, last)
        return max(
            *(_flights_rel(self.flights[at - lag], self.flights[at]) for at in compared if at >= lag),
            *(
                _calls_rel(row[at - lag], row[at], period.time_s)
                for row in self.calls_s
                for at in compared
                if at > start + lag
            ),
            0.0,
        )


def _flights_rel(before: np.void, after: np.void) -> float:
    if before["messages"] != after["messages"]:
        return float("inf")
    differences = (
        abs(after[name] - before[name]) / max(after[name], before[name])
        for name in ("first", "second")
        if after[name] != before[name]
    )
    return float(after["messages"] * max(differences, default=0.0))


def _calls_rel(before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], period_s: float) -> float:
    if len(before) != len(after):
        return float("inf")
    apart_s = float(np.abs(after - before).max(initial=0.0))
    return apart_s / period_s if apart_s else 0.0


def under_way(notes: Path, recording: Recording, starts: Sequence[npt.NDArray[np.int64]] | None = None) -> UnderWay:
    """Return what was under way in a run with the recording ``recording`` in the folder ``notes``.

    Args:
        notes: The recorder's folder; the run had RECORDER_FLIGHTS.
        recording: As ``read_events`` returns it.
        starts: By rank, the index of the first event of each iteration, and the end of the last one; None: as marked by
            the program.
    """
    rows = [_marked(events) for events in recording.events] if starts is None else starts
    (flights,) = by_rank(notes, 1, "flights", FLIGHT)
    margin = (len(flights) - len(recording.events[0])) // 2  # as in read_energies
    return UnderWay(
        calls_s=tuple(
            tuple(events["clock_s"][begin:end] - events["clock_s"][begin] for begin, end in pairwise(row.tolist()))
            for events, row in zip(recording.events, rows, strict=True)
        ),
        flights=flights[rows[0][1:] + max(margin, 0)],
    )


def _marked(events: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """Return the start of the timed section and the ends of the iterations, at which the next ones start."""
    op = np.where(events["kind"] == Kind.MARK, events["op"], -1)
    begin = np.flatnonzero(op == Mark.START)[:1]
    return np.concatenate([begin, np.flatnonzero(op == Mark.ITERATION)])
