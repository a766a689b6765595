"""The steps of a program as arrays over its ranks: how much each rank computes and how much it sends to whom.

All ranks take part in a step, and each rank begins it when it has finished the step before.  There is no common clock:
a rank that has nothing to do in a step goes on at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import Op

Whole = int | np.integer[Any]


@dataclass(frozen=True, eq=False)
class Compute:
    """Every rank computes."""

    flops: npt.NDArray[np.floating[Any]]  # f8, by rank


@dataclass(frozen=True, eq=False)
class Exchange:
    """Every rank posts its receives (MPI_Irecv), sends its messages, then waits for its receives one after the other.

    Messages are sent one after the other (MPI_Send), or ``at_once`` (MPI_Isend, waited for after the receives).  A rank
    may compute ``meanwhile``, after its sends and before it waits.
    """

    source: npt.NDArray[np.int32]  # i4, one per message; messages of one source are in the order in which it sends them
    destination: npt.NDArray[np.int32]  # i4
    size_bytes: npt.NDArray[np.int64]  # i8
    at_once: bool = False
    tag: npt.NDArray[np.int32] | int = 0  # i4, one per message; or the tag of all messages
    # i8: the messages, by their indices, in an order in which every destination posts its receives.  None: that of the
    # messages.
    posted: npt.NDArray[np.int64] | None = None
    meanwhile: npt.NDArray[np.float64] | None = None  # f8, flops by rank; None: no rank computes

    @classmethod
    def of(
        cls,
        messages: Iterable[tuple[Whole, Whole, Whole]],
        *,
        at_once: bool = False,
        tag: npt.NDArray[np.int32] | int = 0,
        posted: npt.NDArray[np.int64] | None = None,
    ) -> Exchange:
        """Return the exchange of messages (source, destination, bytes)."""
        table = np.array(list(messages), np.int64).reshape(-1, 3)
        source, destination = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
        return cls(source, destination, table[:, 2], at_once, tag, posted)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A wavefront through a grid of width x height ranks, plane after plane; rank = x + width y.

    For each plane a rank receives (MPI_Recv) from the one before it along x, then from the one before it along y,
    computes, and sends (MPI_Send) to the one after it along x, then along y.
    """

    width: int
    height: int
    forward: bool  # from place (0, 0) on; else back from the last one
    planes: int
    flops: npt.NDArray[np.float64]  # f8, by rank, of one plane
    x_bytes: npt.NDArray[np.int64]  # i8, by rank: a message of one plane to the next rank along x
    y_bytes: npt.NDArray[np.int64]  # i8, along y
    tag: int = 0  # of all messages

    def has_next(self, axis: int) -> npt.NDArray[np.bool_]:
        """Return by rank whether there is a rank after it along x (0) or y (1)."""
        places = np.arange(self.width * self.height)
        place, last = (places % self.width, self.width - 1) if axis == 0 else (places // self.width, self.height - 1)
        return place < last if self.forward else place > 0

    def stride(self, axis: int) -> int:
        """Return the rank after a rank along x (0) or y (1), less the rank itself."""
        distance = 1 if axis == 0 else self.width
        return distance if self.forward else -distance


@dataclass(frozen=True, eq=False)
class Collective:
    """All ranks call a collective with equal arguments; its root, if it has one, is rank 0."""

    op: Op
    size_bytes: int  # as in apps.recording.events.Op


@dataclass(frozen=True, eq=False)
class AllToAll:
    """Groups of ranks exchange blocks, each group among its members.

    Groups whose blocks are ``even`` call MPI_Alltoall, the others MPI_Alltoallv.
    """

    group: npt.NDArray[np.int64]  # i8, groups x members: ranks
    # i8, groups x members x members: what the first member sends to the second, which may be the same
    size_bytes: npt.NDArray[np.int64]
    even: npt.NDArray[np.bool_]  # bool, by group


Step = Compute | Exchange | Sweep | Collective | AllToAll


@dataclass(frozen=True, eq=False)
class Split:
    """All ranks make communicators (MPI_Comm_split), one for each group of ranks, with its members in rank order."""

    group: npt.NDArray[np.int64]  # i8, groups x members: ranks


@dataclass(frozen=True, eq=False)
class Totals:
    """Totals of the ranks over some steps, by rank.

    ``messages`` and ``bytes`` include messages of a rank to itself, but not those of collectives.  ``collectives`` has
    for each operation the calls and the bytes of the arguments, as records count them (apps/results/record.py).
    """

    flops: npt.NDArray[np.float64]
    messages: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    self_messages: npt.NDArray[np.int64]
    self_bytes: npt.NDArray[np.int64]
    collectives: dict[Op, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]


@dataclass(frozen=True, eq=False)
class Traffic:
    """The timed section of a program on this number of ranks.  A step in several places is one object."""

    nranks: int
    before: tuple[Step, ...]  # before the iterations
    iteration: tuple[Step, ...]  # each iteration but the last
    last: tuple[Step, ...]  # the last iteration
    after: tuple[Step, ...]  # after the iterations
    setup: tuple[Step | Split, ...] = ()  # before the timed section and the barrier with which it begins

    def totals(self, iterations: int) -> Totals:
        """Return what each rank does in the timed section of a run of a number of iterations."""
        counted: Counter[Step] = Counter()
        for steps, times in ((self.before, 1), (self.iteration, iterations - 1), (self.last, 1), (self.after, 1)):
            for step in steps if times > 0 else ():
                counted[step] += times
        return totals(self.nranks, counted)

    def run(self, iterations: int) -> Iterator[Step]:
        """Yield the steps of the timed section of a run of a number of iterations."""
        yield from self.before
        for _ in range(iterations - 1):
            yield from self.iteration
        yield from self.last
        yield from self.after


def totals(nranks: int, steps: Iterable[Step] | Mapping[Step, int]) -> Totals:
    """Return what each rank computes and sends in these steps, each as often as it occurs, or as a mapping says."""
    flops = np.zeros(nranks)
    sent = {name: np.zeros(nranks, np.int64) for name in ("messages", "bytes", "self_messages", "self_bytes")}
    collectives: dict[Op, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def called(
        op: Op, times: int, ranks: npt.NDArray[np.int64] | slice, size_bytes: npt.NDArray[np.int64] | int
    ) -> None:
        calls, moved = collectives.setdefault(op, (np.zeros(nranks, np.int64), np.zeros(nranks, np.int64)))
        calls[ranks] += times
        moved[ranks] += times * size_bytes

    counted = Counter(steps)
    for step, times in counted.items():
        if isinstance(step, Compute):
            flops += times * step.flops
        elif isinstance(step, Exchange):
            flops += times * (0 if step.meanwhile is None else step.meanwhile)
            to_itself = step.source == step.destination
            for prefix, chosen in (("", slice(None)), ("self_", to_itself)):
                who, size_bytes = step.source[chosen], step.size_bytes[chosen]
                sent[f"{prefix}messages"] += times * np.bincount(who, minlength=nranks)
                sent[f"{prefix}bytes"] += times * np.bincount(who, size_bytes, nranks).astype(np.int64)
        elif isinstance(step, Sweep):
            flops += times * step.planes * step.flops
            for axis, size_bytes in enumerate((step.x_bytes, step.y_bytes)):
                sent["messages"] += times * step.planes * step.has_next(axis)
                sent["bytes"] += times * step.planes * step.has_next(axis) * size_bytes
        elif isinstance(step, AllToAll):
            for group, size_bytes, even in zip(step.group, step.size_bytes, step.even, strict=True):
                called(Op.ALLTOALL if even else Op.ALLTOALLV, times, group, size_bytes.sum(axis=1))
        else:
            called(step.op, times, slice(None), step.size_bytes)
    return Totals(flops=flops, collectives=collectives, **sent)
