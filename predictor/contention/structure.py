"""The time of a program whose operations take a given time, on a measured network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from apps.programs.problem import Problem
from apps.spec.target import Target
from predictor.base import Evidence
from predictor.contention.traffic import traffic_of
from predictor.structural.contention import share
from predictor.structural.recurrence import runs
from predictor.structural.schedule import Schedule, schedule_of
from predictor.structural.setting import ground_of, sizes_of

LEAST_SHARE = 0.05  # of a measured time that its operations take at least
_EXACT = 1e-9  # relative, of the time of an operation


@lru_cache(maxsize=256)
def steps_of(problem: Problem, nranks: int) -> Schedule:
    """Return the schedule of a program; raise OutOfRange as ``traffic_of``."""
    return schedule_of(traffic_of(problem, nranks))


def operations(problem: Problem, nranks: int) -> float:
    """Return the operations of the rank that has most of them."""
    return float(traffic_of(problem, nranks).totals(problem.iterations_on(nranks)).flops.max())


class Structure:
    """The evaluation of one problem on one network.

    Args:
        problem: The problem.
        network: The messages of the network plan; None if all runs have one rank.
        sizes: The messages of the problem's sizes; None if nothing is sent.
    """

    def __init__(self, problem: Problem, network: Evidence | None, sizes: Evidence | None):
        self._problem, self._network, self._sizes = problem, network, sizes

    def times_s(self, target: Target, s_per_op: Sequence[float]) -> list[float]:
        """Return the time of a run on the target's hosts for each of some times of an operation, s."""
        nranks = target.nranks
        if nranks == 1 or self._network is None or self._sizes is None:
            return [each_s * operations(self._problem, nranks) for each_s in s_per_op]
        steps, network = steps_of(self._problem, nranks), self._network
        ground = ground_of(network)
        paths, protocol = ground.at(sizes_of(network, ground, self._sizes), steps.size_bytes)
        host = np.tile(np.array([self._number[name] for name in target.placement], np.int32), (len(s_per_op), 1))
        given = np.tile(np.array(s_per_op)[:, None], (1, nranks))
        times_s, _, _ = runs(steps, share(steps, paths, host, protocol), protocol, given, target.iterations)
        return [float(time_s) for time_s in times_s]

    def s_per_op(self, target: Target, time_s: float) -> tuple[float, bool]:
        """Return the time of an operation with which a run takes ``time_s``, and whether there is one.

        Where the messages alone take nearly as long, there is none; the operations are then given a small share.
        """
        most = time_s / operations(self._problem, target.nranks)
        return stretched(lambda each_s: self.times_s(target, each_s), most, time_s)

    @cached_property
    def _number(self) -> dict[str, int]:
        assert self._network is not None
        return {host: i for i, host in enumerate(ground_of(self._network).hosts)}


def stretched(times_s: Callable[[Sequence[float]], list[float]], most: float, time_s: float) -> tuple[float, bool]:
    """Return the time of an operation with which a run takes ``time_s``, and whether there is one.

    Args:
        times_s: Returns the times of the run, s, for some times of an operation.
        most: The time of an operation with which the operations alone take ``time_s``.
        time_s: The time of the run, s.
    """
    # Imported here for a quick start: it is slow to import.
    from scipy.optimize import brentq

    least = LEAST_SHARE * most
    least_s, whole_s = times_s([least, most])
    if least_s >= time_s:
        return least, False
    if whole_s <= time_s:  # nothing is sent, or waited for
        return most, True
    root = brentq(lambda guess: times_s([guess])[0] - time_s, least, most, xtol=_EXACT * most)
    return float(root), True
