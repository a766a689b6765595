"""The slowdown of all-to-all messages of many nodes beyond the bandwidth of the links, from measured runs.

A fluid network lets any number of messages share a link without loss.  With small switch buffers, TCP and busy cores
this fails: the messages of an all-to-all take g times as long.  A node with k of P ranks has x = k (P - k) such
messages on its link.  Runs with few of them give the time of an operation; a run of the same program, with as many busy
cores and at least four times as many messages, gives g at its x.  Between these x, ln g is linear in ln x; beyond the
largest, g is constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.errors import KernelError
from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.traffic import describes, known_names, traffic
from apps.traffic.steps import AllToAll, Step, Traffic
from predictor.base import OutOfRange
from predictor.structural.collectives import exchanges
from predictor.structural.contention import Shares
from predictor.structural.schedule import Schedule

MANY = 4.0  # ratio of messages from which on a run gives g, not the time of an operation
MOST = 50.0  # of g


def traffic_of(problem: Problem, nranks: int) -> Traffic:
    """Return what a program does on this number of ranks.

    Raises:
        OutOfRange: Its traffic is not known, or its kernel refuses the number of ranks.
    """
    where = problem.on(nranks)
    if describes(problem):
        try:
            return traffic(problem, nranks)
        except KernelError as err:
            raise OutOfRange(where, err.problem, err.remedy) from err
    raise OutOfRange(where, "its messages are not declared", f"Use one of {', '.join(known_names())}")


@dataclass(frozen=True)
class Slowdown:
    """A run that shows the slowdown of all-to-all messages."""

    messages: int  # on the link of a node
    fewer: int  # on that of the runs that give the program's time of an operation
    factor: float  # g
    low: float  # g if the run had been as short as the scatter of runs allows
    high: float


@dataclass(frozen=True)
class Crowding:
    """The factors from measured runs."""

    observations: tuple[Slowdown, ...] = ()

    @property
    def most(self) -> int:
        """The largest number of messages at which a factor was observed, 0 if no factor was."""
        return max((one.messages for one in self.observations), default=0)

    def factors(self, messages: int) -> tuple[float, float, float]:
        """Return g at a number of messages, and the ends of its range."""
        if not self.observations or messages <= 0:
            return 1.0, 1.0, 1.0
        points = sorted({one.messages for one in self.observations})
        least = min(min(one.fewer for one in self.observations), points[0] - 1)
        x = np.log([max(least, 1), *points])

        def at(values: Sequence[Sequence[float]]) -> float:
            means = [0.0, *(float(np.mean(np.log(at_point))) for at_point in values)]
            return math.exp(float(np.interp(math.log(messages), x, means)))

        same = [[one for one in self.observations if one.messages == point] for point in points]
        return (
            at([[one.factor for one in group] for group in same]),
            at([[one.low for one in group] for group in same]),
            at([[one.high for one in group] for group in same]),
        )


def messages_of(target: Target) -> int:
    """Return the number of all-to-all messages on the link of a node, the largest of all; 0: the program has none."""
    try:
        declared = traffic_of(target.problem, target.nranks)
    except OutOfRange:
        return 0
    if not any(isinstance(step, AllToAll) for step in _steps(declared)):
        return 0
    counts = [target.placement.count(host) for host in set(target.placement)]
    return max(count * (target.nranks - count) for count in counts)


def stretched_shares(shares: Shares, steps: Schedule, crowded: np.ndarray, factor: float) -> Shares:
    """Return the shares with which messages of the crowded exchanges take ``factor`` times as long on the links."""
    by_message = np.repeat(crowded, np.diff(steps.first))
    return shares._replace(
        flow_s=shares.flow_s * np.where(by_message, factor, 1.0),
        own_s=shares.own_s * np.where(by_message, factor, 1.0)[:, None],
        load_s=shares.load_s * np.where(crowded, factor, 1.0)[:, None],
    )


def _steps(declared: Traffic) -> list[Step]:
    return [*declared.before, *declared.iteration, *declared.last, *declared.after]


def crowded_exchanges(steps: Schedule, declared: Traffic) -> np.ndarray:
    """Return which exchanges of a schedule are those of an all-to-all between all ranks."""
    sizes = set()
    for step in _steps(declared):
        if isinstance(step, AllToAll):
            for exchange in exchanges(step, declared.nranks):
                sizes.add(_key(exchange.source, exchange.destination, exchange.size_bytes))
    bounds = zip(steps.first[:-1].tolist(), steps.first[1:].tolist(), strict=True)
    made = (_key(steps.source[a:b], steps.destination[a:b], steps.size_bytes[steps.size[a:b]]) for a, b in bounds)
    return np.array([key in sizes for key in made], bool)


def _key(source: np.ndarray, destination: np.ndarray, size_bytes: np.ndarray) -> bytes:
    """Return the key of an exchange, which does not depend on the order of its messages."""
    order = np.lexsort((destination, source))
    return np.array([source[order], destination[order], size_bytes[order]], np.int64).tobytes()
