"""Picture of a program's times on a platform: what each process does over time, and the critical path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import Figure
from platforms.plotting.gantt import BINS, Kind, gantt_figure
from platforms.plotting.styles import BLUE, ORANGE
from predictor.dpgraph.instructions import COMPUTE, SLEEP
from predictor.graph.timed import TimedGraph

if TYPE_CHECKING:
    import numpy.typing as npt

# The grey shows on dark pages and on white.
_KINDS = (
    Kind("computes", BLUE),
    Kind("message in flight", ORANGE),
    Kind("waits for another process", "#808080", 0.3),
)


def timeline_figure(timed: TimedGraph, *, title: str = "", hosts: bool = False) -> Figure:
    """Return the picture of a graph with its times; ``hosts``: ranks are labelled with their hosts too."""
    time_s = timed.time_s or 1.0  # a program that takes no time has an empty picture
    path = _path_ranks(timed, (np.arange(BINS) + 0.5) * time_s / BINS)
    names = [f"{rank} on {host}" for rank, host in enumerate(timed.placement)] if hosts else ()
    return gantt_figure(
        _shares(timed, time_s), _KINDS, time_s, timed.clusters, x="predicted time", names=names, title=title, path=path
    )


def _shares(timed: TimedGraph, time_s: float) -> npt.NDArray[np.float64]:
    """Return the share of computing, of messages and of waiting in each bin: ranks x 3 x bins."""
    dates, ranks = timed.dates, len(timed.placement)
    first, edges_s = dates.program.first, np.linspace(0, time_s, BINS + 1)
    computing = np.isin(dates.program.code, (COMPUTE, SLEEP))
    late_s = np.where(computing, 0.0, dates.late_s)
    spent_s = np.zeros((ranks, 3, BINS))
    for rank in range(ranks):
        steps = slice(first[rank], first[rank + 1])
        begin_s, end_s, turn_s = dates.begin_s[steps], dates.end_s[steps], (dates.begin_s + late_s)[steps]
        clock_s = np.stack([begin_s, turn_s], axis=1).ravel()  # a wait is late, and then for a message
        clock_s = np.append(clock_s, end_s[-1:])
        if len(clock_s) < 2:
            continue
        lasts_s = np.diff(clock_s)
        what = np.stack([np.full(len(begin_s), 2), np.where(computing[steps], 0, 1)], axis=1).ravel()
        for kind in range(3):
            until_s = np.append(0.0, np.cumsum(np.where(what == kind, lasts_s, 0.0)))
            spent_s[rank, kind] = np.diff(np.interp(edges_s, clock_s, until_s))
    shares: npt.NDArray[np.float64] = spent_s * BINS / time_s
    return shares


def _path_ranks(timed: TimedGraph, at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the process of the critical path at each moment; of a message in flight, a place between its two ends."""
    program = timed.dates.program
    rank_of = np.repeat(np.arange(len(timed.placement)), np.diff(program.first))
    moments_s: list[float] = []
    ranks: list[int] = []
    for step in timed.dates.critical:
        moments_s += [step.begin_s, step.end_s]
        ranks += [int(rank_of[step.instruction if step.post is None else step.post]), int(rank_of[step.instruction])]
    at_ranks: npt.NDArray[np.float64] = np.interp(at_s, np.array(moments_s, float), np.array(ranks, float))
    return at_ranks
