"""Search for the rules of a call: the computation before it, and its partner.

A program computes between two of its calls; where a rank leaves a call out, what it computes before and after it adds
up before the next one.  By the call before, that is one short formula each, where it would take many cases otherwise.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from predictor.learned import points, trees
from predictor.learned.branches import Branches, Learned, fitting_number, fitting_partner, learned
from predictor.learned.errors import CannotContinue
from predictor.learned.models import Notes, NumberModel, Numeric, coefficient_bits, model_bits
from predictor.learned.nest import calls
from predictor.learned.partners import (
    NONE,
    Along,
    ByCase,
    ByIndex,
    ByParity,
    Counted,
    Exchanged,
    Fixed,
    Next,
    Offset,
    PartnerModel,
    Robin,
    Rule,
    Stride,
    SwappedBits,
    Transposed,
    Tree,
    TurnExchanged,
)
from predictor.learned.rows import Rows, reduced
from predictor.learned.skeleton import Symbol
from predictor.learned.structure import NOTHING

_LONG = 30.0  # bits: a coefficient that fits nothing by chance
_STEPS = (0, 1, -1, 2, -2)  # along an axis
_ENDS = ((0, 0), (0, 1), (1, 0))  # bits at both ends that SwappedBits keeps
_MOST_TURNS = 27  # of a loop, that get a rule each: there are 26 neighbours in three dimensions
_CASES_DEPTH = 3
_SHORT, _ANY_LENGTH = 12.0, 1e9  # bits of a rule's formula


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


Fit = Callable[[Rows, np.ndarray], "PartnerModel | None"]


class PartnerSearch:
    """Looks for rules of partners under one rule for the grid."""

    def __init__(self, branches: Branches, held_out: int):
        self.branches, self.space = branches, branches.space
        self._held_out = held_out
        self._most_bits = _ANY_LENGTH
        self._known: dict[tuple[int, bytes], Learned[PartnerModel]] = {}

    def partner(self, rows: Rows, partner: np.ndarray) -> Learned[PartnerModel]:
        """Return the rule of the partners, if there is one."""
        key = (rows.key, partner.tobytes())
        if key not in self._known:
            few, wanted = reduced(rows, partner.astype(float))

            def fit(every: Rows, told: np.ndarray) -> PartnerModel | None:
                self.branches.search.begin()
                fitted = self.branches.strictly_then_loosely(self._partner, every, told)
                return cast("PartnerModel | None", fitted)

            def fitting(model: PartnerModel, every: Rows, told: np.ndarray) -> PartnerModel | None:
                return fitting_partner(model, self.space, every, told)

            self._known[key] = learned(few, wanted.astype(np.int64), self._held_out, fit, fitting)
        return self._known[key]

    def _partner(self, rows: Rows, partner: np.ndarray) -> PartnerModel | None:
        for most_bits in (_SHORT, _ANY_LENGTH):  # steps along the axes by case are likelier than a long formula
            self._most_bits = most_bits
            model = self._plain(rows, partner)
            if model is None:
                model = self._by_index(rows, partner, self._plain)
                if isinstance(model, ByIndex):
                    return _with_one_sign(model)
            if model is None:
                model = self._by_case(rows, partner, self._plain_or_by_index, _CASES_DEPTH)
            if model is not None:
                return model
        return None

    def _plain_or_by_index(self, rows: Rows, partner: np.ndarray) -> PartnerModel | None:
        return self._plain(rows, partner) or self._by_index(rows, partner, self._plain)

    def _plain(self, rows: Rows, partner: np.ndarray) -> PartnerModel | None:
        for rule in self._rules(rows, partner):
            try:
                if bool((rule.ranks(self.space, rows, Notes()) == partner).all()):
                    return rule
            except CannotContinue:
                continue
        return self._by_parity(rows, partner)

    def _number(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        """Return the formulas of a number that a rule needs, if they are short enough."""
        model = self.branches.search.numeric(rows, values, quick=True)
        return None if model is None or model_bits(model, self.space) > self._most_bits else model

    def _rules(self, rows: Rows, partner: np.ndarray) -> Iterator[Rule]:
        """Yield rules that may hold, the simpler ones first."""
        several = len(rows.counts) > 1
        if (partner == NONE).all():
            yield Fixed(None)
        if (partner < 0).any():
            return
        if partner[0] == 0 or several:
            yield Fixed(int(partner[0]))
        if rows.levels:  # ranks may drop out on more ranks, though none does on those that were recorded
            yield from self._next(rows, partner)
        offset = self._offset(rows, partner)
        if offset is not None:
            yield offset
        if self.space.levels and not rows.levels:
            yield from self._next(rows, partner)
        yield from (SwappedBits(*ends) for ends in _ENDS)
        if not several:
            return
        yield Fixed(-1)
        for loop in range(rows.loops - 1, -1, -1):
            yield from (Robin(loop, up) for up in (True, False))
            if rows.index[:, loop].max() >= 2:  # before, it is a power of two as well
                yield TurnExchanged(loop)
        yield Transposed()
        seen = {statement[4:-2] for statement in self.space.roots}  # on short lines 2^i is i + 1: trees are likelier
        roots = trees.roots(rows)
        yield from self._trees(rows, [root for root in roots if root in seen])
        yield from self._searched(rows, partner)
        yield from self._trees(rows, [root for root in roots if root not in seen])

    def _trees(self, rows: Rows, roots: Sequence[str]) -> Iterator[Tree]:
        for axis, root, kind in itertools.product(range(self.space.axes), roots, trees.KINDS):
            yield Tree(axis, root, kind, None)
            if rows.loops:
                yield from (Tree(axis, root, kind, rows.loops - 1, far_first) for far_first in (True, False))

    def _next(self, rows: Rows, partner: np.ndarray) -> Iterator[Next]:
        here, sides = self.space.place(rows)
        there, _ = self.space.place(rows, partner)
        moving = [axis for axis in range(self.space.axes) if (here[axis] != there[axis]).any()]
        for axis in moving if len(moving) == 1 else ():
            short = bool((sides[axis] <= 2).all())
            for level, n, step in itertools.product(points.levels(rows), points.finest(self.space.numbers), (1, -1)):
                yield Next(axis, step, level, n, short)

    def _offset(self, rows: Rows, partner: np.ndarray) -> Offset | None:
        here, sides = self.space.place(rows)
        there, _ = self.space.place(rows, partner)
        steps, either = [], []
        for axis in range(self.space.axes):
            fits = [by for by in _STEPS if ((there[axis] - here[axis] - by) % sides[axis] == 0).all()]
            if not fits:
                return None
            steps.append(fits[0])
            if fits[0] == 1 and -1 in fits:
                either.append(axis)
        return Offset(tuple(steps), tuple(either))

    def _searched(self, rows: Rows, partner: np.ndarray) -> Iterator[Rule]:
        """Yield rules whose numbers are searched for."""
        here, sides = self.space.place(rows)
        there, _ = self.space.place(rows, partner)
        moving = [axis for axis in range(self.space.axes) if (here[axis] != there[axis]).any()]
        ways = [(axis, here[axis], there[axis], sides[axis]) for axis in moving if len(moving) == 1]
        over_all: tuple[int | None, np.ndarray, np.ndarray, np.ndarray] = (None, rows.rank, partner, rows.nranks)
        for axis, a, b, around in (*ways, over_all):
            changed = a ^ b
            if (changed > 0).all() and (changed & (changed - 1) == 0).all():
                bit = self._number(rows, np.log2(changed))
                if bit is not None:
                    yield Exchanged(axis, bit)
            up = (b - a) % around
            signed = (up + around // 2) % around - around // 2
            for steps in (up, signed, np.where(signed == -(around // 2), around // 2, signed)):
                model = self._number(rows, steps)
                if model is not None:
                    yield Stride(axis, model)
        for along, _, place, _ in ways:
            model = self._number(rows, place)
            if model is not None:
                yield Along(along, model)
        rank = self._number(rows, partner)
        if rank is not None:
            yield Counted(rank)

    def _by_parity(self, rows: Rows, partner: np.ndarray) -> ByParity | None:
        log = np.log2(rows.nranks)
        if not (log == np.rint(log)).all() or len(np.unique(log % 2)) < 2:
            return None
        rules = []
        for odd in (0, 1):
            which = log % 2 == odd
            part, wanted = rows.take(which), partner[which]
            rule = self._plain(part, wanted)
            if rule is None:
                return None
            rules.append(rule)
        return ByParity(*rules)

    def _by_index(self, rows: Rows, partner: np.ndarray, fit: Fit) -> ByIndex | None:
        for loop in range(rows.loops - 1, -1, -1):
            if not self.branches.splits(rows, loop):
                continue
            for back in (False, True):
                index = rows.turns[:, loop] - 1 - rows.turn[:, loop] if back else rows.index[:, loop]
                values = np.unique(index).tolist()
                if 2 <= len(values) <= _MOST_TURNS:
                    rules = {value: fit(rows.take(index == value), partner[index == value]) for value in values}
                    if all(rule is not None for rule in rules.values()):
                        return ByIndex(loop, back, {value: rule for value, rule in rules.items() if rule is not None})
        return None

    def _by_case(self, rows: Rows, partner: np.ndarray, fit: Fit, depth: int) -> ByCase | None:
        options = [(atom, value, true == value) for atom, true in self.branches.atoms(rows) for value in (True, False)]
        for atom, value, which in sorted(options, key=lambda option: -int(option[2].sum())):
            part = rows.take(which)
            rule = fit(part, partner[which]) if len(part.counts) > 1 else None
            if rule is None:
                continue
            others, left = rows.take(~which), partner[~which]
            rest: PartnerModel | None = fit(others, left) if len(others.counts) > 1 or (left == left[0]).all() else None
            if rest is None and depth > 1:
                rest = self._by_case(others, left, fit, depth - 1)
            if rest is not None:
                return ByCase(atom, *((rule, rest) if value else (rest, rule)))
        return None


def _with_one_sign(model: ByIndex) -> ByIndex:
    """Return rules with the direction of the others where left and right could not be distinguished."""
    offsets = {value: rule for value, rule in model.rules.items() if isinstance(rule, Offset)}
    signs = {step for rule in offsets.values() if not rule.either for step in rule.steps if step}
    if len(signs) != 1 or len(offsets) != len(model.rules):
        return model
    sign = signs.pop()
    rules = {
        value: Offset(tuple(sign if axis in rule.either else step for axis, step in enumerate(rule.steps)))
        for value, rule in offsets.items()
    }
    return replace(model, rules=rules)
