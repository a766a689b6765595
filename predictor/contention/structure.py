"""The time of a program whose operations take a given time, on a measured network."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from apps.programs.problem import Problem
from apps.spec.target import Target
from predictor.base import Evidence
from predictor.contention.crowding import MOST, crowded_exchanges, stretched_shares, traffic_of
from predictor.structural.contention import share
from predictor.structural.measured import measured_paths
from predictor.structural.paths import Paths
from predictor.structural.recurrence import runs
from predictor.structural.schedule import Schedule, schedule_of

LEAST_SHARE = 0.05  # of a measured time that its operations take at least
_EXACT = 1e-9  # relative, of the time of an operation


@lru_cache(maxsize=256)
def steps_of(problem: Problem, nranks: int) -> Schedule:
    """Return the schedule of a program; raise OutOfRange as ``traffic_of``."""
    return schedule_of(traffic_of(problem, nranks))


@lru_cache(maxsize=256)
def _crowded(problem: Problem, nranks: int) -> np.ndarray:
    return crowded_exchanges(steps_of(problem, nranks), traffic_of(problem, nranks))


def operations(problem: Problem, nranks: int) -> float:
    """Return the operations of the rank that has most of them."""
    return float(traffic_of(problem, nranks).totals(problem.iterations_on(nranks)).flops.max())


class Structure:
    """The evaluation of one problem on one network.

    Args:
        problem: The problem.
        network: The messages of the network plan; None if all runs have one rank.
        sizes: The further messages for the problem's sizes; None if the network's suffice.
    """

    def __init__(self, problem: Problem, network: Evidence | None, sizes: Evidence | None):
        self._problem, self._network, self._sizes = problem, network, sizes
        self._key = (problem, *(None if messages is None else messages.id for messages in (network, sizes)))

    def __eq__(self, other: object) -> bool:
        """Return whether both evaluate the same on the same messages."""
        return isinstance(other, Structure) and other._key == self._key

    def __hash__(self) -> int:
        """Return the hash of the problem and the messages."""
        return hash(self._key)

    def times_s(
        self,
        target: Target,
        s_per_op: Sequence[float],
        relative: Sequence[float] | None = None,
        crowding: float = 1.0,
    ) -> list[float]:
        """Return the time of a run on the target's hosts for each of some times of an operation, s.

        Args:
            target: The run.
            s_per_op: Times of an operation of the slowest ranks.
            relative: Those of every rank over these; None: all ranks are alike.
            crowding: Factor by which messages of all-to-alls take longer.
        """
        nranks = target.nranks
        if nranks == 1 or self._network is None:
            return [each_s * operations(self._problem, nranks) for each_s in s_per_op]
        steps, (paths, protocol) = steps_of(self._problem, nranks), _paths(self, nranks)
        host = np.tile(np.array([self._number[name] for name in target.placement], np.int32), (len(s_per_op), 1))
        given = np.outer(s_per_op, np.ones(nranks) if relative is None else np.array(relative))
        shares = share(steps, paths, host, protocol)
        if crowding != 1.0:
            shares = stretched_shares(shares, steps, _crowded(self._problem, nranks), crowding)
        times_s, _, _ = runs(steps, shares, protocol, given, target.iterations)
        return [float(time_s) for time_s in times_s]

    def s_per_op(self, target: Target, time_s: float) -> tuple[float, bool]:
        """Return the time of an operation with which a run takes ``time_s``, and whether there is one.

        Where the messages alone take nearly as long, there is none; the operations are then given a small share.
        """
        return _s_per_op(self, target, time_s)

    def crowding(self, target: Target, s_per_op: float, time_s: float) -> float:
        """Return the factor of all-to-all messages with which a run takes ``time_s``; 1 if it takes less."""
        return _crowding(self, target, s_per_op, time_s)

    def paths(self, nranks: int) -> tuple[Paths, np.ndarray]:
        """Return the paths of the network, and the protocol of each size that is sent."""
        assert self._network is not None
        return measured_paths(self._network, self._sizes).at(steps_of(self._problem, nranks).size_bytes)

    def operations(self, nranks: int) -> float:
        """Return the operations of the rank that has most of them."""
        return operations(self._problem, nranks)

    @cached_property
    def _number(self) -> dict[str, int]:
        assert self._network is not None
        return {host: i for i, host in enumerate(measured_paths(self._network).hosts)}


@lru_cache(maxsize=256)
def _paths(structure: Structure, nranks: int) -> tuple[Paths, np.ndarray]:
    return structure.paths(nranks)


@lru_cache(maxsize=1024)
def _s_per_op(structure: Structure, target: Target, time_s: float) -> tuple[float, bool]:
    most = time_s / structure.operations(target.nranks)
    return stretched(lambda each_s: structure.times_s(target, each_s), most, time_s)


@lru_cache(maxsize=1024)
def _crowding(structure: Structure, target: Target, s_per_op: float, time_s: float) -> float:
    # Imported here because it is slow to import.
    from scipy.optimize import brentq

    def above_s(logarithm: float) -> float:
        return structure.times_s(target, [s_per_op], crowding=math.exp(logarithm))[0] - time_s

    if above_s(0.0) >= 0:
        return 1.0
    most = math.log(MOST)
    return MOST if above_s(most) <= 0 else math.exp(float(brentq(above_s, 0.0, most, xtol=1e-6)))


def stretched(times_s: Callable[[Sequence[float]], list[float]], most: float, time_s: float) -> tuple[float, bool]:
    """Return the time of an operation with which a run takes ``time_s``, and whether there is one.

    Args:
        times_s: Returns the times of the run, s, for some times of an operation.
        most: The time of an operation with which the operations alone take ``time_s``.
        time_s: The time of the run, s.
    """
    # Imported here because it is slow to import.
    from scipy.optimize import brentq

    least = LEAST_SHARE * most
    least_s, whole_s = times_s([least, most])
    if least_s >= time_s:
        return least, False
    if whole_s <= time_s:  # nothing is sent, or waited for
        return most, True
    root = brentq(lambda guess: times_s([guess])[0] - time_s, least, most, xtol=_EXACT * most)
    return float(root), True
