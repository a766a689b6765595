"""Placements of measured runs: a launcher may fill nodes, and use fewer of them than the job has.

The times show it: a program that slows down on busy cores takes as long on 16 nodes as on 8 if both times its ranks
fill the same number of nodes.  A run's own program is not asked about it, so that no prediction depends on the time of
its target.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from validation.measured.runs import Run

_EQUAL = 0.15  # of ln(time): runs whose median differs by less take as long
_SPREAD = 0.75  # times its time on the fewest nodes: a program that gets as fast on more nodes shows the placement


def filled_nodes(runs: Sequence[Run], cores: int) -> dict[Run, int]:
    """Return the number of nodes that a run really used, for those that fill fewer than they had.

    Args:
        runs: All measured runs.
        cores: Of a node.
    """
    filled = {}
    for run in runs:
        used = math.ceil(run.ranks / cores)
        if used < run.nodes and _takes_as_long(run, runs):
            filled[run] = used
    return filled


def _takes_as_long(run: Run, runs: Sequence[Run]) -> bool:
    """Say whether programs that show it take as long on this run's nodes as on another number of nodes.

    A run on the fewest nodes of its ranks is filled if those on more nodes take as long.
    """
    counts = sorted({other.nodes for other in runs if other.ranks == run.ranks})
    fewest = counts[0]
    compared = [nodes for nodes in counts if nodes > fewest] if run.nodes == fewest else [run.nodes]
    return any(_equal(run, runs, fewest, nodes) for nodes in compared)


def _equal(run: Run, runs: Sequence[Run], fewest: int, nodes: int) -> bool:
    times = {(other.app, other.preset, other.nodes): other.time_s for other in runs if other.ranks == run.ranks}
    logs = [
        math.log(times[app, preset, nodes] / time_s)
        for (app, preset, where), time_s in times.items()
        if where == fewest and app != run.app and (app, preset, nodes) in times and _tells(app, preset, runs)
    ]
    return bool(logs) and abs(statistics.median(logs)) < _EQUAL


def _tells(app: str, preset: str, runs: Sequence[Run]) -> bool:
    """Say whether a program gets notably faster on more nodes with any number of ranks."""
    by_ranks: dict[int, dict[int, float]] = {}
    for run in runs:
        if (run.app, run.preset) == (app, preset):
            by_ranks.setdefault(run.ranks, {})[run.nodes] = run.time_s
    return any(times[max(times)] < _SPREAD * times[min(times)] for times in by_ranks.values())
