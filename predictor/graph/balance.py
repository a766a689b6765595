"""Balance by the graph: what a run would save if work moved between its processes.

The Li paper's conclusion: "once a graph representation of a parallel application is mapped, load balancing can be
applied for task distribution, to minimize the total execution time".  All computations of a process are multiplied by
one factor, and the total flops stay the same.  Messages do not change, which is realistic if they depend little on the
share of the work.  Two divisions are evaluated: in proportion to the speed of each process's cores, and the one for
which computation and message time add up to the same for all processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from predictor.dpgraph.instructions import COMPUTE
from predictor.graph.timed import TimedGraph
from predictor.graph.what_if import Setting

BY_SPEED, BY_TIME, AS_IT_IS = "by speed", "by time", "as it is"


@dataclass(frozen=True)
class Division:
    """A division of the work, and the time that the run takes with it."""

    name: str
    share: tuple[float, ...]  # of the flops, of each process
    time_s: float


@dataclass(frozen=True)
class Balance:
    """The run as it is, and as it would be with other divisions of the work."""

    now: Division
    others: tuple[Division, ...]
    by_cluster: dict[str, tuple[int, ...]]  # processes of each cluster

    @property
    def best(self) -> Division:
        """The division with the shortest time, the one as it is included."""
        return min((self.now, *self.others), key=lambda division: division.time_s)

    @property
    def saved_share(self) -> float:
        """Share of the run's time that the best division saves."""
        return 1 - self.best.time_s / self.now.time_s if self.now.time_s else 0.0


def balance(setting: Setting, timed: TimedGraph) -> Balance | None:
    """Return the savings of other divisions of the work; None for a program that computes nothing.

    Args:
        setting: The program on its target.
        timed: Its graph with times on the target.

    Raises:
        UserError: The program cannot end.
    """
    program, target = setting.program, setting.target
    rank = np.repeat(np.arange(program.nranks), np.diff(program.first))
    flops = np.bincount(rank, np.where(program.code == COMPUTE, program.value, 0.0), program.nranks)
    if not flops.sum() > 0:
        return None
    # Processes that share the cores of a host have a part of them each.
    on_host = Counter(target.placement)
    crowded = np.array([max(1.0, on_host[host] / target.platform.host(host).cores) for host in target.placement])
    s_per_flop = setting.s_per_flop * crowded
    message_s = np.array([process.message_s for process in timed.processes])
    divisions = {
        BY_SPEED: _equal_times(flops.sum(), s_per_flop, np.zeros(program.nranks)),
        BY_TIME: _equal_times(flops.sum(), s_per_flop, message_s),
    }

    def time_s(divided: np.ndarray) -> float:
        factor = np.divide(divided, flops, out=np.ones_like(divided), where=flops > 0)
        return setting.time_s(s_per_flop=setting.s_per_flop * factor)

    def division(name: str, divided: np.ndarray) -> Division:
        return Division(name, tuple((divided / flops.sum()).tolist()), time_s(divided))

    movable = flops > 0
    others = [division(name, _of_some(divided, movable, flops)) for name, divided in divisions.items()]
    clusters: dict[str, list[int]] = {}
    for number, host in enumerate(target.placement):
        clusters.setdefault(target.platform.cluster_of(host).name, []).append(number)
    return Balance(division(AS_IT_IS, flops), tuple(others), {name: tuple(ranks) for name, ranks in clusters.items()})


def _of_some(divided: np.ndarray, movable: np.ndarray, flops: np.ndarray) -> np.ndarray:
    """Return a division among the processes that compute at all; the others get nothing."""
    kept = np.where(movable, divided, 0.0)
    return np.asarray(kept * flops.sum() / kept.sum()) if kept.sum() > 0 else flops


def _equal_times(flops: float, s_per_flop: Sequence[float] | np.ndarray, other_s: np.ndarray) -> np.ndarray:
    """Return the flops of each process with which its computation and its other time take as long as everyone's.

    Those whose other time alone takes longer get none.
    """
    speed, working = 1 / np.asarray(s_per_flop), np.ones(len(other_s), bool)
    while True:
        time_s = (flops + (other_s * speed)[working].sum()) / speed[working].sum()
        late = working & (other_s > time_s)
        if not late.any():
            return np.where(working, np.maximum(0.0, time_s - other_s) * speed, 0.0)
        working &= ~late
