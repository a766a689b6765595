"""Policies: choose the waiting jobs that start, and their nodes.

First come, first served; or EASY backfilling: a later job may start before the first waiting one if, by the requested
wall times, it does not delay it.  D. A. Lifka, "The ANL/IBM SP scheduling system", 1995.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ORDERS = ("fcfs", "backfill")
PLACEMENTS = ("packed", "spread")


@dataclass(frozen=True)
class Asked:
    """A job as the scheduler knows it."""

    name: str
    arrival_s: float
    nodes: int
    walltime_s: float = math.inf  # requested


@dataclass(frozen=True)
class Policy:
    """The order in which jobs start, and the nodes they get."""

    order: str = "fcfs"
    placement: str = "packed"

    def chosen(
        self,
        now_s: float,
        waiting: Sequence[Asked],
        running: Mapping[str, tuple[Asked, float]],
        free: int,
    ) -> list[Asked]:
        """Return the jobs that start now.

        Args:
            now_s: The present.
            waiting: The waiting jobs in the order of their arrival.
            running: The running jobs with their start dates, s, by name.
            free: Number of free nodes.
        """
        starting = []
        queue = list(waiting)
        while queue and queue[0].nodes <= free:
            starting.append(queue.pop(0))
            free -= starting[-1].nodes
        if self.order == "fcfs" or not queue:
            return starting
        ends = [(start_s + job.walltime_s, job.nodes) for job, start_s in running.values()]
        ends += [(now_s + job.walltime_s, job.nodes) for job in starting]
        shadow_s, extra = _reservation(queue[0].nodes, free, now_s, ends)
        for job in queue[1:]:
            if job.nodes > free:
                continue
            in_time = now_s + job.walltime_s <= shadow_s
            if in_time or job.nodes <= extra:
                starting.append(job)
                free -= job.nodes
                extra -= 0 if in_time else job.nodes
        return starting

    def hosts(self, count: int, free: Sequence[Sequence[str]]) -> list[str]:
        """Return the hosts of a job.

        Args:
            count: Number of hosts.
            free: The free hosts of each cluster, at least ``count`` together.  ``packed`` takes the cluster with the
                fewest free hosts among those that hold the whole job, otherwise the clusters with most free hosts
                first; ``spread`` takes the clusters in turn.
        """
        if self.placement == "spread":
            turns = [[cluster[i] for cluster in free if i < len(cluster)] for i in range(max(map(len, free)))]
            return [host for turn in turns for host in turn][:count]
        holding = [cluster for cluster in free if len(cluster) >= count]
        if holding:
            return list(min(holding, key=len)[:count])
        ordered = sorted(free, key=len, reverse=True)
        return [host for cluster in ordered for host in cluster][:count]


def _reservation(nodes: int, free: int, now_s: float, ends: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """Return when the first waiting job can start by the requested wall times, and how many nodes it leaves then."""
    for end_s, count in sorted(ends):
        free += count
        if free >= nodes:
            return max(end_s, now_s), free - nodes
    return math.inf, 0
