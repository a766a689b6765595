"""Collectives as SMPI makes them of messages: the algorithms of its selector ``default``.

Messages that are begun together are waited for together; no rank takes part in more than one collective at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apps.s4u.ranks import Rank


def barrier(rank: Rank) -> None:
    """Linear: all tell rank 0, then rank 0 tells all."""
    if rank.rank == 0:
        rank.waitall([rank.collective_receive(source) for source in range(1, rank.size)])
        rank.waitall([rank.collective_send(dest, 0) for dest in range(1, rank.size)])
    else:
        rank.wait(rank.collective_send(0, 0))
        rank.wait(rank.collective_receive(0))


def reduce(rank: Rank, size_bytes: int, root: int, value: Any, op: Callable[[Any, Any], Any]) -> Any:
    """Everybody sends to the root at once."""
    if rank.rank != root:
        rank.wait(rank.collective_send(root, size_bytes, value))
        return None
    sources = [source for source in range(rank.size) if source != root]
    values = rank.waitall([rank.collective_receive(source) for source in sources])
    values.insert(root, value)
    if any(one is None for one in values):
        return None
    total = values[0]
    for one in values[1:]:
        total = op(total, one)
    return total


def broadcast(rank: Rank, size_bytes: int, root: int, payload: Any) -> Any:
    """Binomial tree over the places after the root: place p hears from p without its lowest bit, and tells p + r for
    the powers r of two below that bit, the farthest first.
    """
    place = (rank.rank - root) % rank.size
    reach = 1
    while reach < rank.size and not place & reach:
        reach <<= 1
    if place:
        payload = rank.wait(rank.collective_receive((rank.rank - reach) % rank.size))
    while reach > 1:
        reach >>= 1
        if place + reach < rank.size:
            rank.wait(rank.collective_send((rank.rank + reach) % rank.size, size_bytes, payload))
    return payload
