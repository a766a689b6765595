"""Search for formulas of numbers that belong to the cells of a multi-partition (module ``cells``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from predictor.learned.bits import feature_bits
from predictor.learned.cells import names
from predictor.learned.features import Space
from predictor.learned.fits import multiples, sums_of_two
from predictor.learned.models import Formula, Term
from predictor.learned.rows import Rows


def is_square(space: Space, rows: Rows) -> bool:
    """Return whether the ranks form a square on all numbers of ranks, of more than one size."""
    sides = [space.sides(nranks) for nranks in rows.counts.tolist()]
    return space.axes == 2 and len(sides) > 1 and all(a == b for a, b in sides)


def candidates(space: Space, rows: Rows, values: np.ndarray) -> Iterator[list[Formula]]:
    """Yield formulas that fit the rows: multiples of a feature of cells, and sums of two such multiples."""
    moving = [k for k in range(rows.loops) if np.ptp(rows.index[:, k]) > 0][-1:]  # the innermost loop that goes round
    kept: dict[bytes, tuple[Term, np.ndarray]] = {}
    for name in sorted(names(space.numbers, moving), key=lambda name: feature_bits(name, space)):
        column = space.value(name, rows)
        if np.ptp(column) > 0:
            kept.setdefault(column.tobytes(), ((name,), column))
    if kept:
        terms, columns = zip(*kept.values(), strict=True)
        matrix = np.column_stack(columns)
        yield multiples(terms, matrix, values)
        yield sums_of_two(terms, matrix, values)
