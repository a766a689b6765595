"""Rows of a table of what was recorded: the number of ranks, the rank, and the loops around the call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Rows:
    """Places in the runs of a program at which a call may be made.

    In a loop over the neighbours inside the grid, the index is the place in the list of all neighbours.
    """

    nranks: np.ndarray  # i8, by row
    rank: np.ndarray  # i8, by row
    index: np.ndarray  # i8, rows x loops, the outermost first
    turns: np.ndarray  # i8, rows x loops: number of turns
    turn: np.ndarray  # i8, rows x loops: number of turns before this one
    # Loops over levels on which ranks drop out, and how turns are counted: i1 from the first, j1 from the last.
    levels: tuple[str, ...] = ()
    columns: dict[str, np.ndarray] = field(default_factory=dict)  # features that were asked for
    # Coordinates and sides under the rules for the grid that were asked for.
    places: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.nranks)

    @property
    def loops(self) -> int:
        """Number of loops around."""
        return int(self.index.shape[1])

    @cached_property
    def counts(self) -> np.ndarray:
        """The numbers of ranks, ascending."""
        return np.flatnonzero(np.bincount(self.nranks))  # faster than np.unique, and called often

    @cached_property
    def key(self) -> int:
        """Hash of the rows."""
        return hash((self.nranks.tobytes(), self.rank.tobytes(), self.index.tobytes(), self.turns.tobytes()))

    def take(self, which: np.ndarray) -> Rows:
        """Return the rows of a mask or of indices."""
        ends, index = (self.nranks[which], self.rank[which]), self.index[which]
        return Rows(*ends, index, self.turns[which], self.turn[which], self.levels)


def reduced(rows: Rows, values: np.ndarray, *, blank: bool = False) -> tuple[Rows, np.ndarray]:
    """Return the rows without those that only repeat others in all but indices on which the values do not depend.

    ``blank``: these indices are 0 in all rows.  Of the rows that are left some may be first turns, on which others,
    which are unlike in something else, would seem to depend.
    """
    keep = np.ones(rows.loops, bool)
    ends = np.column_stack([rows.nranks, rows.rank])
    for loop in range(rows.loops):
        keep[loop] = False
        group = _groups(np.column_stack([ends, rows.index[:, keep], rows.turns[:, keep]]))
        low, high = np.full(group.max(initial=-1) + 1, np.inf), np.full(group.max(initial=-1) + 1, -np.inf)
        np.minimum.at(low, group, values)
        np.maximum.at(high, group, values)
        keep[loop] = bool(np.any(high - low > 1e-9 * np.maximum(np.abs(high), 1e-300)))
    table = np.column_stack([ends, rows.index[:, keep], rows.turns[:, keep]])
    _, first = np.unique(keys_of(table), return_index=True)
    first = np.sort(first)
    few = rows.take(first)
    return replace(few, index=few.index * keep, turn=few.turn * keep) if blank else few, values[first]


def _groups(table: np.ndarray) -> np.ndarray:
    _, inverse = np.unique(keys_of(table), return_inverse=True)
    return inverse.reshape(-1)


def keys_of(table: np.ndarray) -> np.ndarray:
    """Return a number for each row of whole numbers, equal for equal rows, which is sorted faster than rows are."""
    keys = np.zeros(len(table), np.int64)
    most = 1
    for column in table.T if len(table) else ():
        low, high = int(column.min()), int(column.max())
        if most * (high - low + 1) >= 1 << 62:  # then the rows so far are numbered
            values, keys = np.unique(keys, return_inverse=True)
            most = len(values)
        most *= high - low + 1
        keys = keys.reshape(-1) * (high - low + 1) + (column - low)
    return keys
