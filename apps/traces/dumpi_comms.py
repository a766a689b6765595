"""Communicators in DUMPI's text: every rank has numbers of its own for them, which stand for the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from apps.errors import TraceError
from apps.traces.dumpi_text import Call

WORLD, SELF = 2, 3  # DUMPI's numbers (common/constants.h)
_FIRST_OF_USER = 4
SPLIT, DUP, CART = "MPI_Comm_split", "MPI_Comm_dup", "MPI_Cart_create"
MADE = frozenset({SPLIT, DUP, CART})


@dataclass(frozen=True)
class Making:
    """A call of one rank that makes a communicator."""

    how: str
    parent: int  # the rank's own number of the making of the parent; 0: MPI_COMM_WORLD, 1: MPI_COMM_SELF
    color: int = 0
    key: int = 0
    ranks: int = 0  # of a Cartesian communicator


class OwnComms:
    """The communicators of a rank: every one that it makes gets the next number, from 2 on."""

    def __init__(self) -> None:
        self.made: list[Making] = []
        self._numbers = {WORLD: 0, SELF: 1}  # by DUMPI's number, which may be used again

    def number(self, call: Call, name: str = "comm") -> int:
        """Return the rank's own number of the communicator in an argument."""
        handle = call.number(name)
        if handle not in self._numbers:
            raise call.broken(f"{call.name} names the communicator {handle}, which the rank has not made")
        return self._numbers[handle]

    def note(self, call: Call) -> None:
        """Take note of a call that makes a communicator."""
        parent = self.number(call, "oldcomm")
        if call.name == SPLIT:
            making = Making(SPLIT, parent, color=call.number("color"), key=call.number("key"))
        elif call.name == CART:
            making = Making(CART, parent, ranks=prod(call.numbers("dims")))
        else:
            making = Making(DUP, parent)
        self.made.append(making)
        new = call.number("newcomm")
        if new >= _FIRST_OF_USER:
            self._numbers[new] = len(self.made) + 1


def resolve(where: str, ranks: Sequence[OwnComms]) -> tuple[list[tuple[int, ...]], list[Mapping[int, int]]]:
    """Return the members of all communicators, and the index among them of each rank's own numbers.

    Raises:
        TraceError: Some members of a communicator do not take part in a call that makes another one.
    """
    communicators = [tuple(range(len(ranks))), *((rank,) for rank in range(len(ranks)))]
    known: list[dict[int, int]] = [{0: 0, 1: 1 + rank} for rank in range(len(ranks))]
    turns: dict[tuple[int, int], dict[int, Making]] = {}  # by parent and number of the call on it
    waiting = {rank: 0 for rank, calls in enumerate(ranks) if calls.made}  # place of the next making
    made_on: list[dict[int, int]] = [{} for _ in ranks]
    while waiting:
        before = dict(waiting)
        for rank in before:
            making = ranks[rank].made[before[rank]]
            if making.parent not in known[rank]:
                raise TraceError(where, f"rank {rank} uses a communicator of which it is no member", _REMEDY)
            parent = known[rank][making.parent]
            key = parent, made_on[rank].get(parent, 0)
            turn = turns.setdefault(key, {})
            turn[rank] = making
            if len(turn) < len(communicators[parent]):
                continue
            _make(where, communicators, known, turn, communicators[parent], waiting)
            for member in communicators[parent]:
                made_on[member][parent] = key[1] + 1
                waiting[member] += 1
                if waiting[member] == len(ranks[member].made):
                    del waiting[member]
            break  # the places of several ranks have changed
        if waiting == before:
            rank = min(waiting)
            problem = f"rank {rank} calls {ranks[rank].made[waiting[rank]].how}, and other members do not"
            raise TraceError(where, problem, _REMEDY)
    return communicators, [dict(numbers) for numbers in known]


_REMEDY = "Give the texts of all ranks of one run"


def _make(
    where: str,
    communicators: list[tuple[int, ...]],
    known: Sequence[dict[int, int]],
    turn: Mapping[int, Making],
    members: Sequence[int],
    places: Mapping[int, int],
) -> None:
    """Add the communicators that one collective call makes."""
    hows = {making.how for making in turn.values()}
    if len(hows) > 1:
        raise TraceError(where, f"members of a communicator call {' and '.join(sorted(hows))} together", _REMEDY)
    how = hows.pop()
    groups: dict[int, list[int]] = {}
    for place, rank in enumerate(members):
        making = turn[rank]
        if how == SPLIT and making.color >= 0:
            groups.setdefault(making.color, []).append(rank)
        elif how == DUP or (how == CART and place < making.ranks):
            groups.setdefault(0, []).append(rank)
    for group in groups.values():
        ordered = sorted(group, key=lambda rank: turn[rank].key)  # stable: equal keys keep the parent's order
        for rank in ordered:
            known[rank][places[rank] + 2] = len(communicators)
        communicators.append(tuple(ordered))
