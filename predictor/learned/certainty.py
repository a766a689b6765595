"""Certainty of each call path of a learned program, and the further recording that would settle it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from apps.programs.problem import Problem
from platforms.terminal.quantities import percent
from predictor.base import CallCertainty
from predictor.learned.axes import GRID, assumption
from predictor.learned.errors import CannotContinue
from predictor.learned.generate import generate
from predictor.learned.grids import most_cubic
from predictor.learned.models import Notes
from predictor.learned.numbers import FURTHER, advised
from predictor.learned.structure import Structure

_MOST_RANKS = 128  # of a recording that is advised
_SIDE = 3  # of a grid, that tells left from right


def certainties(structure: Structure, notes: Notes, problem: Problem, nranks: int) -> tuple[CallCertainty, ...]:
    """Return how sure each call path is, in the order of the program's text, and the grid of ranks if it is assumed.

    Args:
        structure: What was learned.
        notes: What came up while it was continued to the target.
        problem: The program.
        nranks: Number of ranks of the target.
    """
    settling = _Settling(structure, notes, problem, nranks)
    grid = notes.assumed.get(GRID)
    made = [] if grid is None else [CallCertainty(GRID, "assumed", grid, settling.by_sides())]
    symbols = (leaf.symbol for leaf in structure.leaves)
    return (*made, *(settling.of_call(str(structure.symbols[at])) for at in symbols if at is not None))


class _Settling:
    """Doubts on the target's ranks, and on a few smaller numbers of ranks."""

    def __init__(self, structure: Structure, notes: Notes, problem: Problem, nranks: int):
        self._structure, self._notes = structure, notes
        self._counts = [n for n in FURTHER if n < nranks and n not in structure.seen and problem.allows(n)]
        self._next = advised(problem, nranks, structure.seen)
        self._noted: dict[int, Notes | None] = {}

    def of_call(self, call: str) -> CallCertainty:
        """Return how sure a call path is."""
        notes, structure = self._notes, self._structure
        for kept in (what for name, what in notes.assumed.items() if call in name):
            return CallCertainty(call, "assumed", kept, self._first_new(lambda noted: _has(noted.assumed, call)))
        for what, (low, high) in ((what, ends) for what, ends in structure.fitted.items() if call in what):
            text = f"{what.split(' ')[0]} {percent(100 * (low - 1))} to {percent(100 * (high - 1))} %"
            return CallCertainty(call, "fitted", text, self._next)
        for apart, formulas in (found for name, found in notes.differs.items() if call in name):
            text = f"{formulas}, {percent(100 * apart)} % apart"
            return CallCertainty(call, "ambiguous", text, self._first(lambda noted: _has(noted.differs, call)))
        if any(call in what for what in structure.unconfirmed):
            text = f"it took the recording on {structure.seen[-1]} ranks to learn"
            return CallCertainty(call, "unconfirmed", text, self._next)
        return CallCertainty(call, "exact", "", None)

    def by_sides(self) -> int | None:
        """Return the smallest number of ranks on which rules for the grid differ that the recordings allow."""
        return next((n for n in self._counts if assumption(self._structure, n)), None)

    def _first_new(self, shows: Callable[[Notes], bool]) -> int | None:
        """Return the smallest number of ranks that would show it; None if recordings show it without settling it."""
        seen = self._at(self._structure.seen[-1])
        return None if seen is not None and shows(seen) else self._first(shows)

    def _first(self, shows: Callable[[Notes], bool]) -> int | None:
        """Return the smallest number of ranks that would show the difference."""
        return next((n for n in self._counts if (noted := self._at(n)) is not None and shows(noted)), None)

    def _at(self, count: int) -> Notes | None:
        if count not in self._noted:
            notes = Notes()
            try:
                generate(self._structure, count, notes=notes)
                self._noted[count] = notes
            except CannotContinue:
                self._noted[count] = None
        return self._noted[count]


def _has(named: Mapping[str, object], call: str) -> bool:
    return any(call in name for name in named)


def missing(seen: Sequence[int], allowed: Callable[[int], bool], *, grid: bool = True) -> Iterator[tuple[str, int]]:
    """Yield what recordings on these numbers of ranks cannot show, and a number of ranks that would show it.

    ``grid``: the program may have a grid of ranks (``axes.between_neighbours``).

    >>> list(missing([4, 8, 16, 32], lambda count: True))[0]
    ('sums from powers of two: none of the numbers of ranks has a factor 3', 6)
    """

    def first(shows: Callable[[int], bool], beyond: int = 2) -> int | None:
        return next((n for n in range(beyond, _MOST_RANKS + 1) if n not in seen and shows(n) and allowed(n)), None)

    wanted: list[tuple[str, int | None]] = []
    if not any(count % _SIDE == 0 for count in seen):
        text = "sums from powers of two: none of the numbers of ranks has a factor 3"
        wanted.append((text, first(lambda n: n % _SIDE == 0, 4)))
    for axes in (2, 3) if grid else ():

        def wide(count: int, axes: int = axes) -> bool:
            return min(most_cubic(count, axes)) >= _SIDE

        inside = [count for count in seen if wide(count)]
        if not inside:
            text = f"left from right along all {axes} axes of a grid: no side of 3 along each of them"
            wanted.append((text, first(wide)))
        elif len(inside) == 1:
            text = f"how ranks inside a grid of {axes} axes change: they are recorded on {inside[0]} ranks only"
            wanted.append((text, first(wide)))
    yield from ((text, count) for text, count in wanted if count is not None)
