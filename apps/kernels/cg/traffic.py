"""The declared traffic of CG (apps/kernels/cg): products with a matrix in blocks, sums over groups of ranks.

The ranks form row groups, each of which holds a copy of all vectors.  For a product every rank computes partial sums,
the group adds them up, and every rank fetches the elements of its columns; cg/layout.h says which rank owns what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.traffic.shares import Cuts, counts_for, starts
from apps.traffic.split import split_count, split_start
from apps.traffic.steps import Compute, Exchange, Step, Traffic

# (source, destination, elements).  Sources send, and destinations post their receives, in this order.
_Messages = list[tuple[int, int, int]]
_TAG_SUM, _TAG_FETCH, _TAG_SCALAR = range(3)


@dataclass(frozen=True)
class Shape:
    """The row groups of ranks, and the number of pieces into which a group cuts its block of rows."""

    n: int
    nranks: int
    shares: tuple[float, ...] = ()  # of the ranks in the computation; none: equal ones
    # The operations on vectors, which every group repeats, count as this many more rows, divided by the groups.
    vector_rows: float = 0.0

    @cached_property
    def _uneven(self) -> tuple[npt.NDArray[np.int64], dict[int, npt.NDArray[np.int64]]]:
        """Rows of every group, and columns of every place by the width of the group, for unequal shares.

        Groups of one width cut their columns at the same places, because all must sum the same numbers.
        """
        widths = [self.width(group) for group in range(self.groups)]
        costs = np.split(1 / np.array(self.shares), np.cumsum(widths)[:-1])  # of an element, by group and place
        extra = self.vector_rows / self.groups
        rows = counts_for(self.n, [1 / np.sum(1 / cost) for cost in costs], self.pieces, extra=extra)
        worst = np.inf
        while True:
            columns = {}
            for width in set(widths):
                members = [(rows[g] + extra) * costs[g] for g in range(self.groups) if widths[g] == width]
                columns[width] = counts_for(self.n, np.max(members, axis=0))
            largest = [np.max(columns[width] * cost) for width, cost in zip(widths, costs, strict=True)]
            rows = counts_for(self.n, largest, self.pieces, extra=extra)
            reached = float(np.max((rows + extra) * largest))
            if reached >= worst * (1 - 1e-9):
                return rows, columns
            worst = reached

    def row_cuts(self) -> tuple[int, ...]:
        """Return the cuts of the rows among the groups, for unequal shares."""
        return starts(self._uneven[0])

    def column_cuts(self, width: int) -> tuple[int, ...]:
        """Return the cuts of the columns among the ranks of a group of this width."""
        if self.shares:
            return starts(self._uneven[1][width])
        return tuple(split_start(self.n, width, np.arange(width + 1)).tolist())

    @cached_property
    def _regular(self) -> tuple[int, int] | None:
        """(groups, pieces) where the number of ranks is pieces * groups^2; None if there are no such numbers."""
        for pieces in (1, 2, 3):
            groups = _rounded_root(self.nranks / pieces)
            if groups > 0 and pieces * groups * groups == self.nranks:
                return groups, pieces
        return None

    @cached_property
    def groups(self) -> int:
        """Number of row groups."""
        return self._regular[0] if self._regular else _rounded_root(self.nranks)

    @property
    def pieces(self) -> int:
        """Number of pieces into which a group cuts its rows."""
        return self._regular[1] if self._regular else 1

    @cached_property
    def _first_ranks(self) -> list[int]:
        """First rank of each group, and the number of ranks."""
        first_positions: list[int] = split_start(self.nranks, self.groups, np.arange(self.groups + 1)).tolist()
        return first_positions

    @cached_property
    def _first_rows(self) -> list[int]:
        """First row of each group, and the number of rows."""
        if self.shares:
            return list(self.row_cuts())
        if self.nranks % self.groups == 0:
            first_positions: list[int] = split_start(self.n, self.groups, np.arange(self.groups + 1)).tolist()
            return first_positions
        return [self.n * first // self.nranks for first in self._first_ranks]

    def first_rank(self, group: int) -> int:
        """Return the first rank of a group."""
        return self._first_ranks[group]

    def width(self, group: int) -> int:
        """Return the number of ranks in a group."""
        return self._first_ranks[group + 1] - self._first_ranks[group]

    def holders(self, group: int) -> int:
        """Return how many ranks hold each piece of the group's sum."""
        return self.width(group) // self.pieces

    def first_row(self, group: int) -> int:
        """Return the first row of a group."""
        return self._first_rows[group]

    def rows(self, group: int) -> int:
        """Return the number of rows of a group."""
        return self.first_row(group + 1) - self.first_row(group)

    @cached_property
    def _pieces(self) -> list[list[tuple[int, int]]]:
        """First row, counted from the group's, and number of rows of each piece of each group."""
        return [
            [
                (int(split_start(rows, self.pieces, number)), int(split_count(rows, self.pieces, number)))
                for number in range(self.pieces)
            ]
            for rows in map(self.rows, range(self.groups))
        ]

    def piece(self, group: int, number: int) -> tuple[int, int]:
        """Return the first row of a piece, counted from the group's first row, and its number of rows."""
        return self._pieces[group][number]

    @cached_property
    def group_of(self) -> npt.NDArray[np.int64]:
        """Group of each rank."""
        return np.repeat(np.arange(self.groups), [self.width(g) for g in range(self.groups)])

    @cached_property
    def columns(self) -> npt.NDArray[np.int64]:
        """Number of columns that each rank owns."""
        return np.concatenate([np.diff(self.column_cuts(self.width(group))) for group in range(self.groups)])


def _rounded_root(value: float) -> int:
    return int(np.sqrt(value) + 0.5)


def _factors(number: int) -> list[int]:
    """Return the prime factors, smallest first."""
    factors, divisor = [], 2
    while number > 1:
        while number % divisor:
            divisor += 1
        factors.append(divisor)
        number //= divisor
    return factors


def _scatter(members: list[int], elements: int) -> list[_Messages]:
    """Every member sends each other member the piece of that member, in one phase for each distance."""
    count = len(members)
    parts = split_count(elements, count, np.arange(count)).tolist()
    return [
        [(members[i], members[(i + d) % count], parts[(i + d) % count]) for i in range(count)] for d in range(1, count)
    ]


def _gather(members: list[int], elements: int) -> list[_Messages]:
    """Every member sends its own piece to each other member, in one phase for each distance."""
    count = len(members)
    parts = split_count(elements, count, np.arange(count)).tolist()
    return [[(members[i], members[(i + d) % count], parts[i]) for i in range(count)] for d in range(1, count)]


def _teams(ranks: list[int], stride: int, factor: int) -> list[list[int]]:
    """Return teams of ``factor`` ranks whose places are ``stride`` apart."""
    firsts = [place for place in range(len(ranks)) if place // stride % factor == 0]
    return [[ranks[first + i * stride] for i in range(factor)] for first in firsts]


def _side_by_side(parts: list[list[_Messages]]) -> list[_Messages]:
    """Join the phases of independent groups of ranks, phase by phase."""
    return [[message for phase in phases for message in phase] for phases in zip_longest(*parts, fillvalue=[])]


def _group_sum(shape: Shape, group: int) -> list[_Messages]:
    """Return the phases that add up a group's partial sums: in pieces, then each piece among its holders."""
    first, width, pieces = shape.first_rank(group), shape.width(group), shape.pieces
    ranks = list(range(first, first + width))
    phases = _side_by_side([_scatter(team, shape.rows(group)) for team in _teams(ranks, 1, pieces)])
    stride = pieces
    for factor in _factors(width // pieces):
        parts = []
        for team in _teams(ranks, stride, factor):
            _, elements = shape.piece(group, (team[0] - first) % pieces)
            if factor == 2:
                parts.append([[(team[0], team[1], elements), (team[1], team[0], elements)]])
            else:
                parts.append(_scatter(team, elements) + _gather(team, elements))
        phases += _side_by_side(parts)
        stride *= factor
    return phases


def _fetch(shape: Shape) -> list[_Messages]:
    """Every rank sends each part of its piece of the sum to the ranks that own the columns of the same numbers."""
    if shape.nranks == 1:
        return []
    messages: _Messages = []
    widths = {shape.width(group) for group in range(shape.groups)}
    # By width: the first number of every column owner of such a group, and the end.
    firsts = {width: np.array(shape.column_cuts(width)) for width in widths}
    for rank, group in enumerate(shape.group_of.tolist()):
        place = rank - shape.first_rank(group)
        start, count = shape.piece(group, place % shape.pieces)
        start += shape.first_row(group)
        if count == 0:
            continue
        for to in range(place // shape.pieces, shape.groups, shape.holders(group)):
            rows = firsts[shape.width(to)]
            near, far = (
                int(np.searchsorted(rows, start, "right")) - 1,
                int(np.searchsorted(rows, start + count, "left")),
            )
            edges = [start, *rows[near + 1 : far].tolist(), start + count]
            first = shape.first_rank(to) + near
            messages += [
                (rank, first + j, end - begin) for j, (begin, end) in enumerate(pairwise(edges)) if end > begin
            ]
    return [messages]


def _scalar_sum(shape: Shape, count: int) -> list[_Messages]:
    """Return the phases that sum ``count`` numbers over each group, the farthest ranks first.

    Where groups have two widths, only the wider ones sum; they send the result to the narrower ones.
    """
    wide = shape.nranks % shape.groups
    parts = []
    for group in range(wide or shape.groups):
        first, width = shape.first_rank(group), shape.width(group)
        ranks, stride, phases = list(range(first, first + width)), width, []
        for factor in reversed(_factors(width)):
            stride //= factor
            phases.append(
                [
                    (team[i], team[(i + d) % factor], count)
                    for team in _teams(ranks, stride, factor)
                    for d in range(1, factor)
                    for i in range(factor)
                ]
            )
        parts.append(phases)
    phases = _side_by_side(parts)
    if wide:
        phases.append(
            [
                (shape.first_rank(to % wide) + place, shape.first_rank(to) + place, count)
                for to in range(wide, shape.groups)
                for place in range(shape.width(to))
            ]
        )
    return phases


def _steps(phases: list[_Messages], tag: int) -> tuple[Step, ...]:
    return tuple(Exchange.of(((a, b, 8 * elements) for a, b, elements in phase), tag=tag) for phase in phases if phase)


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    n, nonzer = int(params["na"]), int(params["nonzer"])
    if n < nranks:
        return f"{nranks} ranks need at least as many rows, na is {n}"
    if not 1 <= nonzer <= n // 4:
        return f"nonzer is {nonzer}, not between 1 and na / 4"
    return None


def _shape(params: dict[str, Any], nranks: int, shares: Sequence[float]) -> Shape:
    n, nonzer, steps = (int(params[name]) for name in ("na", "nonzer", "cgitmax"))
    # In an iteration, 5 vector operations in each step and 6 outside, and a product in each step and one outside.
    vectors, products = 5 * steps + 6, steps + 1
    return Shape(n, nranks, tuple(shares), vectors / products * n / (nonzer * (nonzer + 1)))


def cuts(params: dict[str, Any], nranks: int, shares: Sequence[float]) -> Cuts:
    """Return the cuts of the rows among the groups, and of the columns in groups of either width.

    They give every rank its share of the computation, as near as may be.
    """
    shape = _shape(params, nranks, shares)
    wide, narrow = shape.width(0), shape.width(shape.groups - 1)
    more = {"cuts_columns_wide": shape.column_cuts(wide)} if wide > narrow else {}
    return {"cuts_rows": shape.row_cuts(), "cuts_columns": shape.column_cuts(narrow), **more}


def traffic(params: dict[str, Any], nranks: int, shares: Sequence[float] = ()) -> Traffic:
    """Return the traffic for a matrix of na rows with nonzer (nonzer + 1) elements each."""
    n, nonzer = int(params["na"]), int(params["nonzer"])
    shape = _shape(params, nranks, shares)
    rows = np.array([shape.rows(int(group)) for group in shape.group_of])
    product = Compute(2.0 * nonzer * (nonzer + 1) * rows * (shape.columns / n))
    # Every group repeats a vector operation of two flops per element; the benchmark counts it once.
    vector = 2.0 * shape.columns / shape.groups
    vectors = {operations: Compute(operations * vector) for operations in (1, 2)}

    summed = _side_by_side([_group_sum(shape, group) for group in range(shape.groups)])
    multiply = (product, *_steps(summed, _TAG_SUM), *_steps(_fetch(shape), _TAG_FETCH))
    single, two = (_steps(_scalar_sum(shape, count), _TAG_SCALAR) for count in (1, 2))
    step = (*multiply, vectors[1], *single, vectors[2], vectors[1], *single, vectors[1])
    solve = (vectors[1], *single, *step * int(params["cgitmax"]), *multiply, vectors[2], *single)
    iteration = (*solve, vectors[2], *two, vectors[1])
    return Traffic(nranks, before=(), iteration=iteration, last=iteration, after=())
