"""Play the declared traffic of a kernel (apps/traffic): every rank executes its part of each step, in mode skeleton.

The steps are cut into the parts of the ranks once, before the simulation begins, so that playing them costs little more
than the calls of ``Rank`` themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from apps.programs.problem import Problem
from apps.traffic import traffic
from apps.traffic.steps import AllToAll, Collective, Compute, Exchange, Split, Step, Sweep

if TYPE_CHECKING:
    from apps.s4u.ranks import Rank

_Part = Callable[["Rank"], object]  # what one rank does in one step
_Parts = list[_Part | None]  # of one step, by rank; None: the rank has nothing to do
_Ends = list[tuple[int, int]]  # (source, tag) of receives, in the order in which they are posted
_Sends = list[tuple[int, int, int]]  # (destination, bytes, tag), in order


class Player:
    """A kernel's problem on this number of ranks; ``main`` is its program."""

    def __init__(self, problem: Problem, nranks: int):
        declared = traffic(problem, nranks)
        self._iterative = problem.iterative
        self._marks_first = bool(declared.before)
        parts: dict[Step | Split, _Parts] = {}  # steps in several places are one object
        self._setup, self._before, self._iteration, self._last, self._after = (
            _by_rank(steps, nranks, parts)
            for steps in (declared.setup, declared.before, declared.iteration, declared.last, declared.after)
        )

    def main(self, rank: Rank) -> None:
        """Execute the part of one rank."""
        number = rank.rank
        _play(self._setup[number], rank)
        rank.start()
        rank.section.all_marked = True
        _play(self._before[number], rank)
        if self._marks_first:
            rank.first_iteration()
        for iteration in range(rank.iterations):
            is_last = iteration == rank.iterations - 1
            _play(self._last[number] if is_last else self._iteration[number], rank)
            if self._iterative:
                rank.iteration()
        _play(self._after[number], rank)
        rank.stop()


def _play(parts: Sequence[_Part], rank: Rank) -> None:
    for part in parts:
        part(rank)


def _by_rank(steps: Iterable[Step | Split], nranks: int, parts: dict[Step | Split, _Parts]) -> list[list[_Part]]:
    """Return what each rank does in these steps; ``parts`` keeps the parts of every step."""
    parts_of_rank: list[list[_Part]] = [[] for _ in range(nranks)]
    for step in steps:
        if step not in parts:
            parts[step] = _parts(step, nranks)
        for steps_of_rank, part in zip(parts_of_rank, parts[step], strict=True):
            if part is not None:
                steps_of_rank.append(part)
    return parts_of_rank


def _parts(step: Step | Split, nranks: int) -> _Parts:
    """Return what each rank does in a step."""
    match step:
        case Compute():
            return [partial(_compute, flops=flops) for flops in step.flops.tolist()]
        case Exchange():
            return _exchange_parts(step, nranks)
        case Sweep():
            return _sweep_parts(step, nranks)
        case AllToAll():
            return _all_to_all_parts(step, nranks)
        case Collective():
            return [partial(_call, name=step.op.name.lower(), size_bytes=step.size_bytes)] * nranks
        case Split():
            return [partial(_split, groups=step.group.tolist())] * nranks


def _compute(rank: Rank, flops: float) -> None:
    rank.compute(flops)


def _call(rank: Rank, name: str, size_bytes: int) -> None:
    if name == "barrier":
        rank.barrier()
    else:
        getattr(rank, name)(size_bytes)


def _split(rank: Rank, groups: list[list[int]]) -> None:
    rank.split(groups)


def _exchange_parts(step: Exchange, nranks: int) -> _Parts:
    receives: list[_Ends] = [[] for _ in range(nranks)]
    sends: list[_Sends] = [[] for _ in range(nranks)]
    count = len(step.source)
    sources, destinations = step.source.tolist(), step.destination.tolist()
    sizes, tags = step.size_bytes.tolist(), np.broadcast_to(step.tag, count).tolist()
    for message in range(count):
        sends[sources[message]].append((destinations[message], sizes[message], tags[message]))
    for message in range(count) if step.posted is None else step.posted.tolist():
        receives[destinations[message]].append((sources[message], tags[message]))
    play = _exchange_at_once if step.at_once else _exchange
    meanwhile = [0.0] * nranks if step.meanwhile is None else step.meanwhile.tolist()
    return [
        partial(play, receives=received, sends=sent, flops=flops) if received or sent or flops else None
        for received, sent, flops in zip(receives, sends, meanwhile, strict=True)
    ]


def _exchange(rank: Rank, receives: _Ends, sends: _Sends, flops: float) -> None:
    requests = [rank.irecv(source, tag=tag) for source, tag in receives]
    for destination, size_bytes, tag in sends:
        rank.send(destination, size_bytes, tag=tag)
    if flops:
        rank.compute(flops)
    for request in requests:
        rank.wait(request)


def _exchange_at_once(rank: Rank, receives: _Ends, sends: _Sends, flops: float) -> None:
    requests = [rank.irecv(source, tag=tag) for source, tag in receives]
    requests += [rank.isend(destination, size_bytes, tag=tag) for destination, size_bytes, tag in sends]
    if flops:
        rank.compute(flops)
    for request in requests:
        rank.wait(request)


def _sweep_parts(step: Sweep, nranks: int) -> _Parts:
    sources: list[list[int]] = [[] for _ in range(nranks)]
    sends: list[_Sends] = [[] for _ in range(nranks)]
    for axis, sizes in enumerate((step.x_bytes.tolist(), step.y_bytes.tolist())):
        for rank in np.flatnonzero(step.has_next(axis)).tolist():
            after = rank + step.stride(axis)
            sends[rank].append((after, sizes[rank], step.tag))
            sources[after].append(rank)
    return [
        partial(_sweep, planes=step.planes, sources=before, tag=step.tag, flops=flops, sends=sent)
        for before, flops, sent in zip(sources, step.flops.tolist(), sends, strict=True)
    ]


def _sweep(rank: Rank, planes: int, sources: list[int], tag: int, flops: float, sends: _Sends) -> None:
    for _ in range(planes):
        for source in sources:
            rank.recv(source, tag=tag)
        rank.compute(flops)
        for destination, size_bytes, sent_tag in sends:
            rank.send(destination, size_bytes, tag=sent_tag)


def _all_to_all_parts(step: AllToAll, nranks: int) -> _Parts:
    parts: _Parts = [None] * nranks
    for group, sizes, even in zip(step.group.tolist(), step.size_bytes.tolist(), step.even.tolist(), strict=True):
        for member, size_bytes in zip(group, sizes, strict=True):
            parts[member] = partial(_all_to_all, members=group, sizes_bytes=size_bytes, even=even)
    return parts


def _all_to_all(rank: Rank, members: list[int], sizes_bytes: list[int], even: bool) -> None:
    if even:
        rank.alltoall(sizes_bytes[0], members=members)
    else:
        rank.alltoallv(sizes_bytes, members=members)
