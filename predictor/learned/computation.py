"""Search for the computation before a call: one formula, or one for each call that may be before it.

A program computes between two of its calls; where a rank leaves a call out, what it computes before and after it adds
up before the next one.  By the call before, that is one short formula each, where it would take many cases otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from predictor.learned.bits import coefficient_bits
from predictor.learned.branches import Branches
from predictor.learned.confirming import Learned, fitting_number
from predictor.learned.models import NumberModel, Numeric
from predictor.learned.order import calls
from predictor.learned.rows import Rows
from predictor.learned.skeleton import Symbol
from predictor.learned.structure import NOTHING

_LONG = 30.0  # bits: a coefficient that fits nothing by chance


class ComputationSearch:
    """Looks for the computation before calls under one rule for the grid.

    Args:
        branches: The search for models.
        symbols: The symbols of the program.
    """

    def __init__(self, branches: Branches, symbols: Sequence[Symbol]):
        self._branches, self._space = branches, branches.space
        self._call = calls(symbols)
        self._known: dict[tuple[int, tuple[str, ...]], list[Numeric]] = {}  # by the loops around

    def short(self, rows: Rows, flops: np.ndarray) -> NumberModel | None:
        """Return a short formula of all rows, or one that is known from elsewhere in the program."""
        found = self._known_formula(rows, flops) or self._branches.short(rows, flops)
        if found.model is None or not found.confirmed:
            return None
        self._keep(rows, found.model)
        return found.model

    def by_symbol(self, symbol: int, rows: Rows, flops: np.ndarray, before: np.ndarray) -> Mapping[int, NumberModel]:
        """Return a formula for each symbol before; none where not all are confirmed.

        ``symbol``: that of the call; ``before``: those before it, by row.
        """
        if len(np.unique(before)) < 2:
            return {}
        for label in self._labels(symbol):
            of_row = label[before]  # NOTHING is the last one
            models: dict[int, NumberModel] = {}
            last = len(np.unique(label)) == len(label)
            labels, sizes = np.unique(of_row, return_counts=True)
            largest_first = labels[np.argsort(-sizes, kind="stable")]  # a large group shows the formula of a small one
            for of in largest_first.tolist():
                which = of_row == of
                some, theirs = rows.take(which), flops[which]
                search = self._branches.number if last else self._branches.formula
                found = self._known_formula(some, theirs) or search(some, theirs)
                if found.model is None or not found.confirmed:
                    break
                models[of] = found.model
                self._keep(rows, found.model)
            else:
                return {
                    at if at < len(self._call) else NOTHING: models[of]
                    for at, of in enumerate(label.tolist())
                    if of in models
                }
        return {}

    def _labels(self, symbol: int) -> Iterator[np.ndarray]:
        """Yield groups of symbols, and of NOTHING, that may have the same formula, as a number for each.

        Where ranks drop out of levels, on more ranks other calls follow each other: then all of the same call of a
        function or all others are tried first, and then those of each such call.
        """
        if self._space.levels:
            yield np.array([*(of == self._call[symbol] for of in self._call), False]).astype(np.int64)
            number = {of: at for at, of in enumerate(dict.fromkeys(self._call))}
            yield np.array([*(number[of] for of in self._call), len(number)])
        yield np.arange(len(self._call) + 1)

    def _keep(self, rows: Rows, *models: NumberModel) -> None:
        """Remember formulas whose coefficients fit nothing by chance."""
        for model in models:
            terms = model.formulas[0].terms if isinstance(model, Numeric) else ()
            if isinstance(model, Numeric) and terms and all(coefficient_bits(factor) > _LONG for factor, _ in terms):
                known = self._known.setdefault((rows.loops, rows.levels), [])
                known += [model] if model not in known else []

    def _known_formula(self, rows: Rows, flops: np.ndarray) -> Learned[NumberModel] | None:
        """Return a formula of the computation elsewhere that is that of these rows too.

        They are tried where ranks drop out of levels, which leaves few rows of some calls; else they take long to try.
        """
        if not self._space.levels or not flops.any():
            return None
        for model in self._known.get((rows.loops, rows.levels), ()):
            fits = fitting_number(model, self._space, rows, flops)
            if fits is not None:
                return Learned(fits, confirmed=True)
        return None
