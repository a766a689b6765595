"""Collectives made of messages: the algorithms of SMPI's selector ``default``.

Messages that begin together are waited for together.  No rank takes part in more than one collective at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from apps.traffic.algorithms import all_to_all_algorithm

_SPLIT_BYTES, _NUMBER_BYTES = 8, 4  # a color and a key to rank 0, and a group back; the number of a communicator


class Rank(Protocol):
    """One process of a program, as far as collectives need it (apps/s4u/ranks.py)."""

    rank: int
    size: int

    def collective_send(self, dest: int, size_bytes: int, payload: Any = None) -> Any:
        """Begin to send a message of a collective."""

    def collective_receive(self, source: int) -> Any:
        """Begin to receive a message of a collective."""

    def wait(self, request: Any) -> Any:
        """Wait for one message; return the payload of a received one."""

    def waitall(self, requests: Iterable[Any]) -> list[Any]:
        """Wait for all messages; return their payloads, None for sends."""


def barrier(rank: Rank) -> None:
    """Wait for all ranks, linearly: all send to rank 0, then rank 0 sends to all."""
    if rank.rank == 0:
        rank.waitall([rank.collective_receive(source) for source in range(1, rank.size)])
        rank.waitall([rank.collective_send(dest, 0) for dest in range(1, rank.size)])
    else:
        rank.wait(rank.collective_send(0, 0))
        rank.wait(rank.collective_receive(0))


def reduce(rank: Rank, size_bytes: int, root: int, value: Any, op: Callable[[Any, Any], Any]) -> Any:
    """Return ``op`` over all values at the root, to which all ranks send at once; None elsewhere."""
    if rank.rank != root:
        rank.wait(rank.collective_send(root, size_bytes, value))
        return None
    sources = [source for source in range(rank.size) if source != root]
    values = rank.waitall([rank.collective_receive(source) for source in sources])
    values.insert(root, value)
    if any(value is None for value in values):
        return None
    total = values[0]
    for other in values[1:]:
        total = op(total, other)
    return total


def broadcast(rank: Rank, size_bytes: int, root: int, payload: Any, members: Sequence[int] | None = None) -> Any:
    """Return the payload of the root, which is a place among the members, or a rank where all ranks are members.

    The payload goes down a binomial tree over the places after the root: place p receives from the place p without its
    lowest bit, and sends to p + r for the powers r of two below that bit, the farthest first.
    """
    members = range(rank.size) if members is None else members
    count, me = len(members), members.index(rank.rank)
    place = (me - root) % count
    reach = 1
    while reach < count and not place & reach:
        reach <<= 1
    if place:
        payload = rank.wait(rank.collective_receive(members[(me - reach) % count]))
    while reach > 1:
        reach >>= 1
        if place + reach < count:
            rank.wait(rank.collective_send(members[(me + reach) % count], size_bytes, payload))
    return payload


def all_to_all(rank: Rank, members: Sequence[int], size_bytes: int) -> None:
    """Send a block of this size to every other member, and receive one from each.

    Raises:
        ValueError: SMPI has no algorithm for this size and number of members.
    """
    count, me = len(members), members.index(rank.rank)
    chosen = all_to_all_algorithm(count, size_bytes)
    if chosen == "bruck":
        reach = 1
        while reach < count:
            blocks = sum(1 for distance in range(1, count) if distance & reach)
            to, source = members[(me + reach) % count], members[(me - reach) % count]
            rank.waitall([rank.collective_send(to, blocks * size_bytes), rank.collective_receive(source)])
            reach <<= 1
    elif chosen == "pairwise":
        if count & (count - 1):
            raise ValueError(f"SMPI has no all-to-all of blocks of {size_bytes} bytes among {count} ranks")
        for step in range(1, count):
            other = members[me ^ step]
            rank.waitall([rank.collective_send(other, size_bytes), rank.collective_receive(other)])
    else:
        ahead = [members[(me + step) % count] for step in range(1, count)]
        requests = [rank.collective_receive(source) for source in ahead]
        rank.waitall(requests + [rank.collective_send(dest, size_bytes) for dest in reversed(ahead)])


def all_to_all_v(rank: Rank, members: Sequence[int], sizes_bytes: Sequence[int]) -> None:
    """Send every other member its block, all at once, and receive one from each; sizes by member."""
    requests = [rank.collective_receive(source) for source in members if source != rank.rank]
    for dest, size_bytes in zip(members, sizes_bytes, strict=True):
        if dest != rank.rank:
            requests.append(rank.collective_send(dest, size_bytes))
    rank.waitall(requests)


def split(rank: Rank, groups: Sequence[Sequence[int]]) -> None:
    """Make communicators.

    Rank 0 gathers from all ranks, then sends its members to one group after the other; the first member of each group
    broadcasts a number.
    """
    if rank.rank == 0:
        rank.waitall([rank.collective_receive(source) for source in range(1, rank.size)])
        for members in groups:
            rank.waitall([rank.collective_send(dest, _SPLIT_BYTES) for dest in members if dest != 0])
    else:
        rank.wait(rank.collective_send(0, _SPLIT_BYTES))
        rank.wait(rank.collective_receive(0))
    broadcast(rank, _NUMBER_BYTES, 0, None, next(members for members in groups if rank.rank in members))
