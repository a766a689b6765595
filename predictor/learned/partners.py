"""Rules for the other rank of a message and for the root of a collective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from predictor.learned import points
from predictor.learned.errors import CannotContinue
from predictor.learned.features import Space, holds
from predictor.learned.models import Notes, NumberModel, evaluate
from predictor.learned.rows import Rows
from predictor.learned.trees import from_root, receiver, sender

NONE = -1  # no partner


@dataclass(frozen=True)
class Fixed:
    """The same rank for all, counted from the end if it is negative; or no rank."""

    rank: int | None

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows, as all rules do."""
        if self.rank is None:
            return np.full(len(rows), NONE)
        return np.full(len(rows), self.rank) if self.rank >= 0 else rows.nranks + self.rank


@dataclass(frozen=True)
class Offset:
    """Steps along the axes of the grid, around its ends."""

    steps: tuple[int, ...]
    either: tuple[int, ...] = ()  # axes along which left and right were not told apart

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        c, sides = space.place(rows)
        if any((sides[axis] > 2).any() for axis in self.either):
            notes.assume("that its partner is the next one: along an axis of two ranks left is right")
        return _rank_at((c + np.array(self.steps)[:, None]) % sides, sides)


@dataclass(frozen=True)
class Next:
    """The next rank in a direction along an axis that has points on a level, around the end (module ``points``)."""

    axis: int
    step: int
    level: str
    n: int
    either: bool  # whether left and right were not told apart

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        c, sides = space.place(rows)
        if self.either and (sides[self.axis] > 2).any():
            notes.assume("that its partner is the next one: along an axis of two ranks left is right")
        m = points.size(self.level, rows, space.lengths(self.n, rows))
        place = points.following(c[self.axis], sides[self.axis], m, self.step)
        c[self.axis] = place % sides[self.axis]
        return np.where(place >= 0, _rank_at(c, sides), NONE - 1)


@dataclass(frozen=True)
class Stride:
    """A number of steps along one axis, or over all ranks (axis None), around the end."""

    axis: int | None
    steps: NumberModel

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        steps = _whole(evaluate(self.steps, space, rows, notes))
        if self.axis is None:
            around: np.ndarray = (rows.rank + steps) % rows.nranks
            return around
        c, sides = space.place(rows)
        c[self.axis] = (c[self.axis] + steps) % sides[self.axis]
        return _rank_at(c, sides)


@dataclass(frozen=True)
class Along:
    """The rank at a place along one axis, in the line of the rank itself."""

    axis: int
    place: NumberModel

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        c, sides = space.place(rows)
        c[self.axis] = _whole(evaluate(self.place, space, rows, notes))
        if ((c[self.axis] < 0) | (c[self.axis] >= sides[self.axis])).any():
            raise CannotContinue("a partner would lie outside the grid")
        return _rank_at(c, sides)


@dataclass(frozen=True)
class Exchanged:
    """A bit of the coordinate along one axis changed, or of the rank (axis None)."""

    axis: int | None
    bit: NumberModel

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        change = 1 << np.clip(_whole(evaluate(self.bit, space, rows, notes)), 0, 62)
        if self.axis is None:
            return np.where((rows.rank ^ change) < rows.nranks, rows.rank ^ change, rows.nranks)
        c, sides = space.place(rows)
        c[self.axis] ^= change
        if (c >= sides).any():
            raise CannotContinue("a partner would lie outside the grid")
        return _rank_at(c, sides)


@dataclass(frozen=True)
class Counted:
    """The rank that an expression gives, such as the index of a loop."""

    rank: NumberModel

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        return _whole(evaluate(self.rank, space, rows, notes))


@dataclass(frozen=True)
class TurnExchanged:
    """The rank of which the bits of a loop's index plus 1 are changed."""

    loop: int

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        partner: np.ndarray = rows.rank ^ (rows.index[:, self.loop] + 1)
        return partner


@dataclass(frozen=True)
class Robin:
    """All ranks but 0 in turn, upwards or downwards."""

    loop: int
    up: bool

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        turn = rows.index[:, self.loop] % np.maximum(rows.nranks - 1, 1)
        partner: np.ndarray = turn + 1 if self.up else rows.nranks - 1 - turn
        return partner


@dataclass(frozen=True)
class SwappedBits:
    """The two halves of a rank's bits swapped, without some bits at both ends."""

    high: int
    low: int

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        found = np.full(len(rows), NONE - 1)
        for nranks in rows.counts.tolist():
            bits = nranks.bit_length() - 1
            inner = bits - self.high - self.low
            if 1 << bits != nranks or inner < 0 or inner % 2:
                continue
            which = rows.nranks == nranks
            rank, half = rows.rank[which], inner // 2
            middle = (rank >> self.low) & ((1 << inner) - 1)
            middle = ((middle & ((1 << half) - 1)) << half) | (middle >> half)
            ends = ((rank >> (bits - self.high)) << (bits - self.high)) | (rank & ((1 << self.low) - 1))
            found[which] = ends | (middle << self.low)
        return found


@dataclass(frozen=True)
class Tree:
    """The sender to a rank, or its receiver in a turn of a loop, in a tree along one axis (module ``trees``)."""

    axis: int
    root: str
    kind: str
    loop: int | None  # of the receivers; None: the sender
    far_first: bool = False

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        c, sides = space.place(rows)
        along = sides[self.axis]
        place = from_root(self.root, rows, c[self.axis], along)
        if self.loop is None:
            there = sender(self.kind, place)
        else:
            there = receiver(self.kind, place, along, rows.turn[:, self.loop], far_first=self.far_first)
        good = (there != place) & (there < along)
        c[self.axis] = (there - place + c[self.axis]) % along
        return np.where(good, _rank_at(c, sides), NONE - 1)


@dataclass(frozen=True)
class Transposed:
    """The coordinates of a square grid swapped."""

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        c, sides = space.place(rows)
        if len(c) != 2:
            return np.full(len(rows), NONE - 1)
        return np.where(sides[0] == sides[1], _rank_at(c[::-1] % sides, sides), NONE - 1)


Rule: TypeAlias = (
    Fixed
    | Offset
    | Next
    | Stride
    | Along
    | Exchanged
    | Counted
    | TurnExchanged
    | Robin
    | SwappedBits
    | Tree
    | Transposed
)


@dataclass(frozen=True, eq=False)
class ByIndex:
    """A rule for each index of a loop, or for each number of turns that follow."""

    loop: int
    back: bool
    rules: Mapping[int, PartnerModel]

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        index = rows.turns[:, self.loop] - 1 - rows.turn[:, self.loop] if self.back else rows.index[:, self.loop]
        found = np.full(len(rows), NONE - 1)
        for value in np.unique(index).tolist():
            if value not in self.rules:
                raise CannotContinue(f"turn {value} of its loop was never recorded")
            which = index == value
            found[which] = self.rules[value].ranks(space, rows.take(which), notes)
        return found


@dataclass(frozen=True, eq=False)
class ByCase:
    """A rule where a statement holds, another elsewhere."""

    atom: str
    yes: PartnerModel
    no: PartnerModel

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        true = holds(self.atom, space, rows)
        found = np.full(len(rows), NONE - 1)
        for which, rule in ((true, self.yes), (~true, self.no)):
            if which.any():
                found[which] = rule.ranks(space, rows.take(which), notes)
        return found


@dataclass(frozen=True, eq=False)
class ByParity:
    """A rule where the logarithm of the number of ranks is even, another where it is odd."""

    even: PartnerModel
    odd: PartnerModel

    def ranks(self, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
        """Return the partners of the rows."""
        log = np.log2(rows.nranks)
        found = np.full(len(rows), NONE - 1)
        for which, rule in ((log % 2 == 0, self.even), (log % 2 == 1, self.odd)):
            if which.any():
                found[which] = rule.ranks(space, rows.take(which), notes)
        return found


PartnerModel: TypeAlias = Rule | ByIndex | ByCase | ByParity


def _whole(values: np.ndarray) -> np.ndarray:
    near: np.ndarray = np.rint(values)
    if not np.isfinite(values).all() or (np.abs(values - near) > 1e-6).any():
        raise CannotContinue("its partner would not be a whole number")
    return near.astype(np.int64)


def _rank_at(c: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return the ranks at coordinates; the sides may differ from row to row."""
    rank = np.zeros(c.shape[1], np.int64)
    for axis in range(len(c)):
        rank = rank * sides[axis] + c[axis]
    return rank
