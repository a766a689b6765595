"""Collectives of programs in Python: the messages of apps/traffic/collectives.py, with what they carry.

Messages that begin together are waited for together.  No rank takes part in more than one collective at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from apps.recording.events import Op
from apps.traffic.collectives import Call, steps


class Rank(Protocol):
    """One process of a program, as far as collectives need it (apps/s4u/ranks.py)."""

    rank: int
    size: int

    def collective_send(self, dest: int, size_bytes: int, payload: Any = None) -> Any:
        """Begin to send a message of a collective."""

    def collective_receive(self, source: int) -> Any:
        """Begin to receive a message of a collective."""

    def waitall(self, requests: Iterable[Any]) -> list[Any]:
        """Wait for all messages; return their payloads, None for sends."""


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
