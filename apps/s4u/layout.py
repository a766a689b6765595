"""CG's layout: which rank owns what of matrix and vectors, and what it sends to whom (apps/cg/layout.h explains it).

A Block is a range of the elements of a vector.  The plans equal those of the C kernel, message by message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt

MOST_PIECES = 3


@dataclass(frozen=True)
class Block:
    """Elements [start, stop)."""

    start: int
    stop: int

    def __len__(self) -> int:
        return max(0, self.stop - self.start)

    def __and__(self, other: Block) -> Block:
        return Block(max(self.start, other.start), min(self.stop, other.stop))

    def split(self, owners: int) -> list[Block]:
        """As evenly as possible, the first ones one longer."""
        each, longer = divmod(len(self), owners)
        cuts = [self.start + each * owner + min(owner, longer) for owner in range(owners + 1)]
        return [Block(*ends) for ends in pairwise(cuts)]


@dataclass(frozen=True)
class Part:
    """``count`` elements for or from ``rank``; 0 in plans for scalars, whose number is the caller's."""

    rank: int
    count: int = 0


@dataclass(frozen=True)
class Phase:
    """All receives are posted, all sends are made, all receives are waited for."""

    receives: tuple[Part, ...]
    sends: tuple[Part, ...]


Plan = list[Phase]


@dataclass(frozen=True)
class Group:
    """Ranks that own one block of rows and split the columns."""

    ranks: range
    rows: Block
    pieces: int  # into which the block is cut when it is summed; a multiple of ranks hold each

    @property
    def holders(self) -> int:
        return len(self.ranks) // self.pieces


@dataclass(frozen=True)
class Layout:
    """One rank's part."""

    groups: int
    rows: int
    columns: int
    sum: Plan  # the partial product over the group
    fetch: Plan  # from the summed rows to the own columns
    scalar: Plan  # one or two numbers over the group


def layout(n: int, rank: int, nranks: int) -> Layout:
    """The layout of a matrix of ``n`` rows for 1 <= nranks <= n."""
    groups = _groups(n, nranks)
    g = next(g for g, group in enumerate(groups) if rank in group.ranks)
    own, place = groups[g], rank - groups[g].ranks.start
    columns = Block(0, n).split(len(own.ranks))[place]
    fetch = _fetch_plan(groups, g, place, n) if nranks > 1 else []
    return Layout(
        len(groups), len(own.rows), len(columns), _sum_plan(own, place), fetch, _scalar_plan(groups, g, place)
    )


def _groups(n: int, nranks: int) -> list[Group]:
    """sqrt(P / pieces) groups where that is a whole number, else sqrt(P) rounded; rows in proportion to the ranks."""
    exact = ((isqrt(nranks // pieces), pieces) for pieces in range(1, MOST_PIECES + 1))
    rounded = (isqrt(4 * nranks) + 1) // 2
    count, pieces = next(((r, k) for r, k in exact if r and k * r * r == nranks), (rounded, 1))
    members = Block(0, nranks).split(count)
    if nranks % count == 0:
        rows = Block(0, n).split(count)
    else:
        rows = [Block(n * one.start // nranks, n * one.stop // nranks) for one in members]
    return [Group(range(m.start, m.stop), r, pieces) for m, r in zip(members, rows, strict=True)]


def _factors(n: int) -> list[int]:
    """Prime factors, the smallest first."""
    factors, divisor = [], 2
    while n > 1:
        if divisor * divisor > n:
            divisor = n
        if n % divisor:
            divisor += 1
        else:
            factors.append(divisor)
            n //= divisor
    return factors


def _turns(members: range, me: int) -> Iterator[tuple[int, int]]:
    """(to, from) in the steps of an exchange of all with all: always farther, as places among the members."""
    for step in range(1, len(members)):
        yield (me + step) % len(members), (me - step) % len(members)


def _scatter_sum(members: range, me: int, whole: Block) -> Plan:
    """Everybody receives the others' shares of its own piece of the whole."""
    pieces = whole.split(len(members))
    return [
        Phase((Part(members[source], len(pieces[me])),), (Part(members[dest], len(pieces[dest])),))
        for dest, source in _turns(members, me)
    ]


def _gather(members: range, me: int, whole: Block) -> Plan:
    """Everybody receives the others' pieces."""
    pieces = whole.split(len(members))
    return [
        Phase((Part(members[source], len(pieces[source])),), (Part(members[dest], len(pieces[me])),))
        for dest, source in _turns(members, me)
    ]


def _stages(first_rank: int, place: int, stride: int, factors: list[int]) -> Iterator[tuple[range, int]]:
    """For each factor the ranks that meet, ``stride`` apart, and this rank's place among them; nearest first."""
    for factor in factors:
        me = place // stride % factor
        first = first_rank + place - me * stride
        yield range(first, first + factor * stride, stride), me
        stride *= factor


def _sum_plan(own: Group, place: int) -> Plan:
    """Pieces among neighbours; then each piece among those that have it, pairwise for factors 2 of their number."""
    within = place % own.pieces
    neighbours = own.ranks[place - within : place - within + own.pieces]
    plan = _scatter_sum(neighbours, within, own.rows)
    piece = own.rows.split(own.pieces)[within]
    for members, me in _stages(own.ranks.start, place, own.pieces, _factors(own.holders)):
        if len(members) == 2:
            other = Part(members[1 - me], len(piece))
            plan.append(Phase((other,), (other,)))
        else:
            plan += _scatter_sum(members, me, piece) + _gather(members, me, piece)
    return plan


def _scalar_plan(groups: list[Group], g: int, place: int) -> Plan:
    """Everyone in the group, farthest first.  Where groups have two widths, the narrower are told by the wider ones."""
    own = groups[g]
    wide = sum(len(group.ranks) > len(groups[-1].ranks) for group in groups)
    if wide and g >= wide:
        return [Phase((Part(groups[g % wide].ranks[place]),), ())]
    stages = list(_stages(own.ranks.start, place, 1, _factors(len(own.ranks))))
    plan = []
    for members, me in reversed(stages):
        turns = list(_turns(members, me))
        receives = tuple(Part(members[source]) for _, source in turns)
        plan.append(Phase(receives, tuple(Part(members[dest]) for dest, _ in turns)))
    if wide and place < len(groups[-1].ranks):
        told = (group for to, group in enumerate(groups) if to >= wide and to % wide == g)
        plan.append(Phase((), tuple(Part(group.ranks[place]) for group in told)))
    return plan


def _fetch_plan(groups: list[Group], g: int, place: int, n: int) -> Plan:
    """Group g fetches piece m of a group's rows from the (g mod holders)-th of those that hold it."""

    def columns(group: Group) -> list[Block]:
        return Block(0, n).split(len(group.ranks))

    own = groups[g]
    wanted = columns(own)[place]
    receives = [
        Part(group.ranks[g % group.holders * group.pieces + m], len(wanted & piece))
        for group in groups
        for m, piece in enumerate(group.rows.split(group.pieces))
    ]
    held = own.rows.split(own.pieces)[place % own.pieces]
    sends = [
        Part(rank, len(held & part))
        for group in groups[place // own.pieces :: own.holders]
        for rank, part in zip(group.ranks, columns(group), strict=True)
    ]
    return [Phase(tuple(one for one in receives if one.count), tuple(one for one in sends if one.count))]
