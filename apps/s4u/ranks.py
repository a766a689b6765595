"""Ranks that compute, exchange messages and take part in collectives as MPI processes do, on SimGrid's S4U actors.

The rules are those of SMPI (SimGrid's manual, "Simulating MPI applications"), so that a program takes the same
simulated time under both.  A message of n bytes moves n + 16 bytes and starts when both its send and its receive are
posted.  The sender of a message of less than ``detached_below_bytes`` continues at once; the sender of a larger one
waits for the end of the message.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import simgrid

from apps.recording.events import Mark, Op
from apps.s4u.events import Section
from apps.s4u.versions import get_async
from apps.traffic.collectives import Call, steps

if TYPE_CHECKING:
    from apps.s4u.energy import RankMeter
    from apps.s4u.events import Events


# Collectives of programs in Python: the messages of apps/traffic/collectives.py, with what they carry.
#
# Messages that begin together are waited for together.  No rank takes part in more than one collective at a time.


def play(
    rank: Rank, op: Op, size_bytes: int = 0, *, root: int = -1, payload: Any = None,
    members: Sequence[int] | None = None, counts: Sequence[int] = (),
) -> dict[int, Any]:  # fmt: skip
    """Do a rank's part in a collective, and return what it received by the sender's place among the members.

    Args:
        rank: The rank.
        op: The collective.
        size_bytes: As in ``Op``.
        root: The place of the root among the members; -1: there is none.
        payload: What the rank sends, until it receives a payload, which it sends on.
        members: The ranks that take part; None: all.
        counts: As in ``Call``.

    Raises:
        UserError: SMPI has no algorithm for this collective, size and number of members.
    """
    members = range(rank.size) if members is None else members
    received: dict[int, Any] = {}
    for step in steps(Call(op, members.index(rank.rank), len(members), root, size_bytes, counts)):
        requests = [
            rank.collective_send(members[partner], sent_bytes, payload)
            if is_send
            else rank.collective_receive(members[partner])
            for is_send, partner, sent_bytes in step.operations
        ]
        for (is_send, partner, _), came in zip(step.operations, rank.waitall(requests), strict=True):
            if not is_send:
                received[partner] = payload = came
    return received


def reduce(rank: Rank, size_bytes: int, root: int, value: Any, op: Callable[[Any, Any], Any]) -> Any:
    """Return ``op`` over all values in the order of the ranks at the root; None elsewhere or if a value is missing."""
    received = play(rank, Op.REDUCE, size_bytes, root=root, payload=value)
    if rank.rank != root:
        return None
    total, *others = [value if source == root else received[source] for source in range(rank.size)]
    if total is None or any(other is None for other in others):
        return None
    for other in others:
        total = op(total, other)
    return total


def broadcast(rank: Rank, size_bytes: int, root: int, payload: Any) -> Any:
    """Return the payload of the root."""
    received = play(rank, Op.BCAST, size_bytes, root=root, payload=payload)
    return next(iter(received.values()), payload)


def split(rank: Rank, groups: Sequence[Sequence[int]]) -> None:
    """Make a communicator of each group, whose first member then broadcasts its number."""
    color = {member: number for number, group in enumerate(groups) for member in group}
    key = {member: place for group in groups for place, member in enumerate(group)}
    play(rank, Op.SPLIT, counts=[part for one in range(rank.size) for part in (color[one], key[one])])
    play(rank, Op.CREATE, members=groups[color[rank.rank]])


ENVELOPE_BYTES = 16
MOST_BYTES = 2**31 - 1 - ENVELOPE_BYTES  # SimGrid's Python module passes sizes as C's int
MOST_TAG = 2**31 - 1
_COLLECTIVE = "c"  # the tag of the messages of collectives; no program can give it


class Request:
    """A message begun by ``isend`` or ``irecv``."""

    __slots__ = ("activity", "arriving", "operation", "payload", "what")

    def __init__(self, what: tuple[str, int, int | str], activity: simgrid.Comm | None = None, arriving: Any = None):
        self.what = what  # to or from, partner, tag
        self.activity = activity  # None: there is nothing to wait for
        self.arriving = arriving  # returns (bytes, payload), once; None: a send, or the message has been received
        self.payload: Any = None  # of a message that has been received
        self.operation = -1  # number among the rank's events; -1: not noted, or its wait has been noted

    def __str__(self) -> str:
        way, partner, tag = self.what
        end = "of a collective" if tag == _COLLECTIVE else f"with tag {tag}"
        return f"the message {way} rank {partner} {end}"


class Rank:
    """A process of the program, the argument of its ``main``.  Sizes are in bytes, ``payload`` is any Python value."""

    def __init__(
        self,
        rank: int,
        size: int,
        *,
        iterations: int,
        arguments: Sequence[str] = (),
        flop_scale: float = 1.0,
        detached_below_bytes: int = 65536,
        events: Events | None = None,
        meter: RankMeter | None = None,
    ):
        self.rank = rank
        self.size = size
        self.iterations = iterations  # number of iterations of this run
        self.arguments = tuple(arguments)  # words of --program-args
        self.section = Section()
        self.timed_wall_s = 0.0
        self._wall_start_s = time.perf_counter()
        self._flop_scale = flop_scale
        self._detached_below_bytes = detached_below_bytes
        self._pending_flops = 0.0
        self._mailboxes: dict[tuple[int, int, int | str], simgrid.Mailbox] = {}
        self._events = events  # None: events are not noted
        self.meter = meter  # None: energy is not counted
        self.waits_for: Request | None = None

    # --- the timed section ---

    @property
    def clock_s(self) -> float:
        """Simulated time, s, after all computation that has been charged."""
        self._inject()
        clock_s: float = simgrid.Engine.clock
        return clock_s

    def start(self) -> None:
        """Begin the timed section with a barrier.  Without this call the section is the whole of ``main``."""
        self.barrier()
        self._wall_start_s = time.perf_counter()
        self.section.begin(simgrid.Engine.clock)
        if self.meter is not None:
            self.meter.start()
        if self._events is not None:
            self._events.start(simgrid.Engine.clock)

    def first_iteration(self) -> None:
        """Mark the beginning of the first iteration: the timed section before it belongs to no iteration."""
        if self.section.end is None:
            self.section.before = self.section.now(self.clock_s)
            self._mark(Mark.FIRST_ITERATION)

    def iteration(self) -> None:
        """Mark the end of an iteration."""
        if self.section.end is None:
            self.section.iterations.append(self.section.now(self.clock_s))
            if self.meter is not None:
                self.meter.iteration()
            self._mark(Mark.ITERATION)

    def stop(self) -> None:
        """End the timed section, which otherwise ends with ``main``.  Only the first call counts."""
        if self.section.end is None:
            self.section.end = self.section.now(self.clock_s)
            self.timed_wall_s = time.perf_counter() - self._wall_start_s
            if self.meter is not None:
                self.meter.stop()
            self._mark(Mark.STOP)

    def _mark(self, mark: Mark) -> None:
        if self._events is not None:
            self._events.mark(simgrid.Engine.clock, mark)

    def finish(self) -> None:
        """Compute what was charged after the end of the timed section."""
        self._inject()

    # --- computation ---

    def compute(self, flops: float) -> None:
        """Compute; consecutive computations are simulated as one, before the next message or mark.

        Raises:
            ValueError: ``flops`` is negative or not finite.
        """
        if not 0 <= flops < float("inf"):
            raise ValueError(f"{flops} flops: give a number, not negative")
        self.section.flops += flops
        self._pending_flops += flops

    def _inject(self) -> None:
        flops, self._pending_flops = self._pending_flops * self._flop_scale, 0.0
        if flops:
            from_s = simgrid.Engine.clock
            if self._events is not None:
                self._events.compute(from_s, flops)
            simgrid.this_actor.execute(flops)
            self.section.compute_s += simgrid.Engine.clock - from_s
            if self.meter is not None:
                self.meter.computed()

    # --- messages ---

    def send(self, dest: int, size_bytes: int, *, tag: int = 0, payload: Any = None) -> None:
        """Send a message; return at once for a small one, at its end for a large one, as MPI_Send does."""
        self._complete(self.isend(dest, size_bytes, tag=tag, payload=payload))

    def recv(self, source: int, *, tag: int = 0) -> Any:
        """Return the payload of the next message from ``source`` with this tag."""
        return self._complete(self.irecv(source, tag=tag))

    def isend(self, dest: int, size_bytes: int, *, tag: int = 0, payload: Any = None) -> Request:
        """Begin to send a message."""
        dest, size_bytes, tag = self._checked_rank(dest), _checked_size(size_bytes), _checked_tag(tag)
        self.section.counts.sent(size_bytes, to_itself=dest == self.rank)
        self._inject()
        operation = -1
        if self._events is not None:
            operation = self._events.send(simgrid.Engine.clock, dest, tag, size_bytes)
        request = self._start_send(dest, size_bytes, tag, payload)
        request.operation = operation
        return request

    def irecv(self, source: int, *, tag: int = 0) -> Request:
        """Begin to receive the next message from ``source`` with this tag."""
        source, tag = self._checked_rank(source), _checked_tag(tag)
        self._inject()
        operation = -1 if self._events is None else self._events.receive(simgrid.Engine.clock, source, tag)
        request = self._start_receive(source, tag)
        request.operation = operation
        return request

    def wait(self, request: Request) -> Any:
        """Wait until the message has been sent or received; return the payload of a received one."""
        self._inject()
        return self._complete(request)

    def waitall(self, requests: Iterable[Request]) -> list[Any]:
        """Wait for all requests; return their payloads, None for sends."""
        self._inject()
        began_s = simgrid.Engine.clock
        return [self._complete(request, began_s) for request in requests]

    def _complete(self, request: Request, began_s: float | None = None) -> Any:
        if self._events is not None and request.operation >= 0:
            self._events.wait(simgrid.Engine.clock if began_s is None else began_s, request.operation)
        if request.activity is not None:
            self.waits_for = request
            request.activity.wait()
            self.waits_for = request.activity = None
        if request.arriving is not None:
            size_bytes, request.payload = request.arriving()
            request.arriving = None
            if self._events is not None and request.operation >= 0:
                self._events.came(request.operation, size_bytes)
        request.operation = -1
        return request.payload

    def _start_send(self, dest: int, size_bytes: int, tag: int | str, payload: Any) -> Request:
        mailbox, message = self._mailbox(self.rank, dest, tag), (size_bytes, payload)
        if size_bytes < self._detached_below_bytes:
            mailbox.put_init(message, size_bytes + ENVELOPE_BYTES).detach()
            return Request(("to", dest, tag))
        return Request(("to", dest, tag), mailbox.put_async(message, size_bytes + ENVELOPE_BYTES))

    def _start_receive(self, source: int, tag: int | str) -> Request:
        return Request(("from", source, tag), *get_async(self._mailbox(source, self.rank, tag)))

    def _mailbox(self, source: int, dest: int, tag: int | str) -> simgrid.Mailbox:
        """Return the mailbox of a source, destination and tag: first in, first out, so that no message overtakes."""
        key = source, dest, tag
        if key not in self._mailboxes:
            self._mailboxes[key] = simgrid.Mailbox.by_name(f"{source} {dest} {tag}")
        return self._mailboxes[key]

    def _checked_rank(self, rank: int) -> int:
        if not isinstance(rank, Integral) or not 0 <= rank < self.size:
            raise ValueError(f"there is no rank {rank!r} among {self.size}")
        return int(rank)

    # --- collectives ---

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._collective("barrier", None, 0)
        play(self, Op.BARRIER)

    def bcast(self, size_bytes: int, *, root: int = 0, payload: Any = None) -> Any:
        """Return the payload of the root, on every rank."""
        root, size_bytes = self._collective("bcast", root, size_bytes)
        return broadcast(self, size_bytes, root, payload)

    def reduce(
        self, size_bytes: int, *, root: int = 0, value: Any = None, op: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        """Return ``op`` over the values of all ranks, in rank order, at the root; None elsewhere or without values."""
        root, size_bytes = self._collective("reduce", root, size_bytes)
        return reduce(self, size_bytes, root, value, op)

    def allreduce(self, size_bytes: int, *, value: Any = None, op: Callable[[Any, Any], Any] = operator.add) -> Any:
        """Return ``op`` over the values of all ranks, in rank order, on every rank; None without values."""
        _, size_bytes = self._collective("allreduce", None, size_bytes)
        total = reduce(self, size_bytes, 0, value, op)
        return broadcast(self, size_bytes, 0, total)

    def split(self, groups: Sequence[Sequence[int]]) -> None:
        """Make a communicator of each group, as MPI_Comm_split does.

        ``groups``: the ranks of each group in their order; the groups in the order of their first ranks.
        """
        self._inject()
        split(self, groups)
        if self._events is not None:
            self._events.made(next(members for members in groups if self.rank in members))

    def alltoall(self, size_bytes: int, *, members: Sequence[int]) -> None:
        """Exchange blocks of this size, without payload, among the members of a communicator."""
        size_bytes = _checked_size(size_bytes)
        self._count("alltoall", len(members) * size_bytes)
        if self._events is not None:
            self._events.collective(simgrid.Engine.clock, "alltoall", -1, size_bytes, members=members)
        play(self, Op.ALLTOALL, size_bytes, members=members)

    def alltoallv(self, sizes_bytes: Sequence[int], *, members: Sequence[int]) -> None:
        """Exchange blocks, without payload, among the members of a communicator.

        ``sizes_bytes``: what this rank sends to each member, itself included.
        """
        sizes_bytes = [_checked_size(size_bytes) for size_bytes in sizes_bytes]
        self._count("alltoallv", sum(sizes_bytes))
        if self._events is not None:
            self._events.collective_of_sizes(simgrid.Engine.clock, "alltoallv", sizes_bytes, members=members)
        play(self, Op.ALLTOALLV, members=members, counts=sizes_bytes)

    def _collective(self, name: str, root: int | None, size_bytes: int) -> tuple[int, int]:
        """Count and note a collective of all ranks; return root (-1: it has none) and size, checked."""
        root, size_bytes = -1 if root is None else self._checked_rank(root), _checked_size(size_bytes)
        self._count(name, size_bytes)
        if self._events is not None:
            self._events.collective(simgrid.Engine.clock, name, root, size_bytes)
        return root, size_bytes

    def _count(self, name: str, size_bytes: int) -> None:
        """Count a call of a collective with these bytes of arguments, after the computation that precedes it."""
        self.section.counts.called(name, size_bytes)
        self._inject()

    def collective_send(self, dest: int, size_bytes: int, payload: Any = None) -> Request:
        """Begin to send a message of a collective: it is not counted, and does not meet messages of the program."""
        return self._start_send(dest, size_bytes, _COLLECTIVE, payload)

    def collective_receive(self, source: int) -> Request:
        """Begin to receive a message of a collective."""
        return self._start_receive(source, _COLLECTIVE)


def _checked_size(size_bytes: int) -> int:
    if not isinstance(size_bytes, Integral) or not 0 <= size_bytes <= MOST_BYTES:
        raise ValueError(f"a message of {size_bytes!r} bytes: give an integer between 0 and {MOST_BYTES}")
    return int(size_bytes)


def _checked_tag(tag: int) -> int:
    if not isinstance(tag, Integral) or not 0 <= tag <= MOST_TAG:
        raise ValueError(f"tag {tag!r}: give an integer between 0 and {MOST_TAG}")
    return int(tag)
