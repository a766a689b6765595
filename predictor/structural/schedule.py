"""A problem's declared traffic as flat arrays; the recurrence runs over its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apps.programs.problem import Problem
from apps.recording.events import Op
from apps.traffic import traffic
from apps.traffic.steps import AllToAll, Collective, Compute, Exchange, Step, Sweep, Traffic
from predictor.structural.collectives import exchanges

COMPUTE, EXCHANGE, SWEEP = 0, 1, 2  # kinds of steps
_KEPT = 256

Plain = Compute | Exchange | Sweep  # steps without collectives


class Schedule(NamedTuple):
    """The steps of a program; arrays by step, by message and by rank.

    The five segments are the synchronisation at the start, the steps before the iterations, one iteration, the last
    iteration, and the steps after the iterations.
    """

    size_bytes: np.ndarray  # f8, distinct sizes of messages, ascending
    segment: np.ndarray  # i8, 6: index of the first step of each segment, and the number of steps
    kind: np.ndarray  # u1, by step
    item: np.ndarray  # i8, by step: its index among the steps of its kind
    flops: np.ndarray  # f8, computations x ranks
    first: np.ndarray  # i8, exchanges + 1: index of the first message of each exchange
    at_once: np.ndarray  # bool, by exchange: no send waits for the one before it
    meanwhile: np.ndarray  # i8, by exchange: index of the computation before its waits; -1: none
    # By message.  Those of an exchange are in rounds: the first of every source, then the second of every source, ...
    source: np.ndarray  # i4
    destination: np.ndarray  # i4
    size: np.ndarray  # i4, index in size_bytes
    shape: np.ndarray  # i8, sweeps x 4: width, height, forward, planes
    plane_flops: np.ndarray  # f8, sweeps x ranks
    plane_size: np.ndarray  # i4, sweeps x 2 x ranks: index in size_bytes of a plane's message along x and y


@lru_cache(maxsize=_KEPT)
def schedule(problem: Problem, nranks: int) -> Schedule:
    """Return the schedule of a problem on a number of ranks.

    Raises:
        KernelError: The traffic of the problem on this number of ranks is not declared.
    """
    return schedule_of(traffic(problem, nranks))


def schedule_of(declared: Traffic) -> Schedule:
    """Return the schedule of a program's traffic."""
    nranks = declared.nranks
    start = (Collective(Op.BARRIER, 0),)
    segments = [
        list(_plain(steps, nranks))
        for steps in (start, declared.before, declared.iteration, declared.last, declared.after)
    ]
    return flattened(segments, nranks)


def flattened(segments: Sequence[Sequence[Plain]], nranks: int) -> Schedule:
    """Return the schedule of five segments of steps."""
    steps = [step for segment in segments for step in segment]
    distinct: dict[type[Plain], dict[Plain, int]] = {Compute: {}, Exchange: {}, Sweep: {}}
    for step in steps:
        distinct[type(step)].setdefault(step, len(distinct[type(step)]))
    computes = [step for step in distinct[Compute] if isinstance(step, Compute)]
    sweeps = [step for step in distinct[Sweep] if isinstance(step, Sweep)]
    messages = [_in_rounds(step) for step in distinct[Exchange] if isinstance(step, Exchange)]
    overlapped = [message.meanwhile for message in messages if message.meanwhile is not None]
    places = iter(range(len(computes), len(computes) + len(overlapped)))
    size_bytes = np.unique(
        np.concatenate([[0], *[m.size_bytes for m in messages], *[s for w in sweeps for s in (w.x_bytes, w.y_bytes)]])
    )

    def sizes(values: np.ndarray | Sequence[tuple[np.ndarray, np.ndarray]]) -> npt.NDArray[np.int32]:
        return np.searchsorted(size_bytes, np.array(values)).astype(np.int32)

    def joined(field: str, kind: type[np.integer]) -> np.ndarray:
        return np.concatenate([np.empty(0, kind), *[getattr(m, field) for m in messages]])

    kinds: dict[type[Plain], int] = {Compute: COMPUTE, Exchange: EXCHANGE, Sweep: SWEEP}
    return Schedule(
        size_bytes=size_bytes.astype(float),
        segment=np.cumsum([0, *map(len, segments)]),
        kind=np.array([kinds[type(step)] for step in steps], np.uint8),
        item=np.array([distinct[type(step)][step] for step in steps], np.int64),
        flops=np.array([*[c.flops for c in computes], *overlapped], float).reshape(-1, nranks),
        first=np.cumsum([0, *[len(m.source) for m in messages]]),
        at_once=np.array([m.at_once for m in messages], bool),
        meanwhile=np.array([-1 if m.meanwhile is None else next(places) for m in messages], np.int64),
        source=joined("source", np.int32).astype(np.int32),
        destination=joined("destination", np.int32).astype(np.int32),
        size=sizes(joined("size_bytes", np.int64)),
        shape=np.array([(w.width, w.height, w.forward, w.planes) for w in sweeps], np.int64).reshape(-1, 4),
        plane_flops=np.array([w.flops for w in sweeps], float).reshape(-1, nranks),
        plane_size=sizes([(w.x_bytes, w.y_bytes) for w in sweeps]).reshape(-1, 2, nranks),
    )


def sizes_to_measure(problem: Problem, ranks: Sequence[int]) -> frozenset[int]:
    """Return the sizes that a problem sends on these numbers of ranks."""
    return sizes_sent([schedule(problem, nranks) for nranks in ranks if nranks > 1])


def sizes_sent(schedules: Sequence[Schedule]) -> frozenset[int]:
    """Return the sizes of the messages of some schedules."""
    return frozenset(size for steps in schedules for size in steps.size_bytes.astype(np.int64).tolist())


def _plain(steps: Sequence[Step], nranks: int) -> Iterator[Plain]:
    """Yield the steps, with every collective replaced by the exchanges that implement it in the MPI library."""
    for step in steps:
        if isinstance(step, Collective | AllToAll):
            yield from exchanges(step, nranks)
        else:
            yield step


def partners(steps: Schedule) -> list[tuple[int, int]]:
    """Return the pairs of ranks whose first sends to the second."""
    pairs = set(zip(steps.source.tolist(), steps.destination.tolist(), strict=True))
    for width, height, forward, _ in steps.shape.tolist():
        for a in range(width * height):
            after = ([a + 1] if a % width < width - 1 else []) + ([a + width] if a // width < height - 1 else [])
            pairs |= {(a, b) if forward else (b, a) for b in after}
    return sorted(pairs)


def rounds(source: np.ndarray) -> np.ndarray:
    """Return the order of messages in rounds: the first of every source, then the second of every source, ..."""
    order = np.argsort(source, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.searchsorted(source[order], source[order])
    return np.argsort(number, kind="stable")


def _in_rounds(exchange: Exchange) -> Exchange:
    order = rounds(exchange.source)
    return replace(
        exchange,
        source=exchange.source[order],
        destination=exchange.destination[order],
        size_bytes=exchange.size_bytes[order],
        tag=0,
        posted=None,
    )
