"""Search for models with cases: by index, by turns that follow, and by statements about the place."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

import numpy as np

from predictor.learned import trees
from predictor.learned.errors import CannotContinue
from predictor.learned.features import Space, holds
from predictor.learned.models import (
    Cases,
    Formula,
    Notes,
    NumberModel,
    Numeric,
    Split,
    constant,
    evaluate,
    exact,
    model_bits,
)
from predictor.learned.partners import Along, ByCase, ByIndex, Counted, Exchanged, Next, Offset, PartnerModel, Stride
from predictor.learned.rows import Rows, reduced
from predictor.learned.scatter import looks_drawn
from predictor.learned.search import Search, is_square

_Fitted = TypeVar("_Fitted")
_ENDS = re.compile(r"[tj]\d+=0$")  # statements about the first and the last turn
_ANY = re.compile("")
_SHORT = 24.0  # bits: no cases are looked for beside so short a formula
_LONG = 50.0  # bits: cases are looked for beside so long a model
_MOST_TURNS = 27  # of a loop, that get a model each: there are 26 neighbours in three dimensions
_FEW_TURNS = 12  # of a loop, that get a model of the longer search each
_MOST_REST = 3  # statements whose other side is searched for further cases
_MOST_ROWS = 3000  # that cases are searched on


@dataclass(frozen=True)
class Learned(Generic[_Fitted]):
    """A model, and whether it came out of the smaller numbers of ranks and fits the largest one exactly."""

    model: _Fitted | None
    confirmed: bool = False


def learned(
    rows: Rows,
    values: np.ndarray,
    held_out: int,
    fit: Callable[[Rows, np.ndarray], _Fitted | None],
    fitting: Callable[[_Fitted, Rows, np.ndarray], _Fitted | None],
) -> Learned[_Fitted]:
    """Return the model of the rows on fewer ranks than ``held_out``, if it fits all; otherwise that of all rows.

    Args:
        rows: Where it was recorded.
        values: What was recorded.
        held_out: The largest recorded number of ranks.
        fit: Makes a model.
        fitting: Returns the model without what does not fit, or None.
    """
    few = rows.nranks < held_out
    if few.any() and not few.all():
        model = fit(rows.take(few), values[few])
        model = None if model is None else fitting(model, rows, values)
        if model is not None:
            return Learned(model, confirmed=True)
    model = fit(rows, values)
    return Learned(None if model is None else fitting(model, rows, values))


def fitting_number(model: NumberModel, space: Space, rows: Rows, values: np.ndarray) -> NumberModel | None:
    """Return the model without the formulas that do not fit; None if something does not fit at all."""
    if not len(rows):
        return model
    if isinstance(model, Numeric):
        formulas = [f for f in model.formulas if bool(np.all(exact(f.values(space, rows), values)))]
        return Numeric(tuple(formulas)) if formulas else None
    if isinstance(model, Split):
        index = model.index(rows)
        if not set(np.unique(index).tolist()) <= set(model.models):
            return None
        parts = {}
        for turn, part in model.models.items():
            which = index == turn
            kept = fitting_number(part, space, rows.take(which), values[which])
            if kept is None:
                return None
            parts[turn] = kept
        return replace(model, models=parts)
    if isinstance(model, Cases):
        true = holds(model.atom, space, rows)
        yes = fitting_number(model.yes, space, rows.take(true), values[true])
        no = fitting_number(model.no, space, rows.take(~true), values[~true])
        return None if yes is None or no is None else Cases(model.atom, yes, no)
    notes = Notes()
    fits = bool(np.all(exact(evaluate(model, space, rows, notes), values)))
    return model if fits and not notes.assumed else None


def fitting_partner(model: PartnerModel, space: Space, rows: Rows, partner: np.ndarray) -> PartnerModel | None:
    """Return the rule without the formulas that do not fit; None if it does not fit at all.

    Where left and right were not distinguished, the one that fits is taken; it is certain if a side is longer than two.
    """
    if not len(rows):
        return model
    if isinstance(model, ByIndex):
        index = rows.turns[:, model.loop] - 1 - rows.turn[:, model.loop] if model.back else rows.index[:, model.loop]
        if not set(np.unique(index).tolist()) <= set(model.rules):
            return None
        rules = {
            turn: fitting_partner(rule, space, rows.take(index == turn), partner[index == turn])
            for turn, rule in model.rules.items()
        }
        kept_rules = {turn: rule for turn, rule in rules.items() if rule is not None}
        return replace(model, rules=kept_rules) if len(kept_rules) == len(rules) else None
    if isinstance(model, ByCase):
        true = holds(model.atom, space, rows)
        yes, no = (
            fitting_partner(rule, space, rows.take(which), partner[which])
            for rule, which in ((model.yes, true), (model.no, ~true))
        )
        return None if yes is None or no is None else ByCase(model.atom, yes, no)
    if isinstance(model, Next) and model.either:
        ways = (replace(model, step=step) for step in (model.step, -model.step))
        way = next((other for other in ways if _fits(other, space, rows, partner)), None)
        _, sides = space.place(rows)
        return None if way is None else replace(way, either=not (sides[model.axis] > 2).any())
    if isinstance(model, Offset) and model.either:
        offset = next((rule for rule in _either_way(model) if _fits(rule, space, rows, partner)), None)
        _, sides = space.place(rows)
        short = tuple(axis for axis in model.either if not (sides[axis] > 2).any())
        return None if offset is None else Offset(offset.steps, short)
    name = {Stride: "steps", Along: "place", Exchanged: "bit", Counted: "rank"}.get(type(model))
    inner = None if name is None else getattr(model, name)
    if name is None or not isinstance(inner, Numeric):
        return model if _fits(model, space, rows, partner) else None

    def with_formulas(*formulas: Formula) -> PartnerModel:
        changed: Any = {name: Numeric(formulas)}
        return replace(model, **changed)

    kept = [formula for formula in inner.formulas if _fits(with_formulas(formula), space, rows, partner)]
    return with_formulas(*kept) if kept else None


def _either_way(model: Offset) -> Iterator[Offset]:
    """Yield the rule, and those that go the other way along axes of which left and right were not distinguished."""
    yield model
    for signs in itertools.product((1, -1), repeat=len(model.either)):
        steps = list(model.steps)
        for axis, sign in zip(model.either, signs, strict=True):
            steps[axis] *= sign
        yield Offset(tuple(steps))


def _fits(model: PartnerModel, space: Space, rows: Rows, partner: np.ndarray) -> bool:
    try:
        return bool((model.ranks(space, rows, Notes()) == partner).all())
    except CannotContinue:
        return False


_M = TypeVar("_M")
Fit = Callable[[Rows, np.ndarray], NumberModel | None]


class Branches:
    """Looks for models of numbers and of truths under one rule for the grid.

    Args:
        space: The features.
        held_out: The largest recorded number of ranks.
        searches: The most searches of formulas for one quantity.
    """

    def __init__(self, space: Space, held_out: int, searches: int = 200):
        self.space = space
        self.search = Search(space, searches)
        self._held_out = held_out
        self.loose = False  # whether a loop may have a model for each turn though its number of turns varies
        self._known: dict[tuple[str, int, bytes], Learned[NumberModel]] = {}

    def number(self, rows: Rows, values: np.ndarray) -> Learned[NumberModel]:
        """Return an exact model of a number, if there is one."""
        return self._remembered("number", rows, np.asarray(values, float), self._number)

    def short(self, rows: Rows, values: np.ndarray) -> Learned[NumberModel]:
        """Return a short exact formula of a number, if there is one, which is found quickly."""
        return self._remembered("short", rows, np.asarray(values, float), self._short)

    def formula(self, rows: Rows, values: np.ndarray) -> Learned[NumberModel]:
        """Return an exact formula of a number without cases, if there is one."""
        return self._remembered("formula", rows, np.asarray(values, float), self._quick)

    def truth(self, rows: Rows, values: np.ndarray) -> Learned[NumberModel]:
        """Return an exact model of a truth value, 0 or 1, if there is one."""
        return self._remembered("truth", rows, np.asarray(values, float), self._truth)

    def _remembered(self, kind: str, rows: Rows, values: np.ndarray, fit: Fit) -> Learned[NumberModel]:
        key = (f"{kind} {self.search.blank}", rows.key, values.tobytes())
        if key not in self._known:

            def fit_sample(every: Rows, told: np.ndarray) -> NumberModel | None:
                if len(every) > _MOST_ROWS:
                    which = np.sort(np.random.default_rng(2).choice(len(every), _MOST_ROWS, replace=False))
                    every, told = every.take(which), told[which]
                self.search.begin()
                return cast("NumberModel | None", self.strictly_then_loosely(fit, every, told))

            def fitting(model: NumberModel, every: Rows, told: np.ndarray) -> NumberModel | None:
                return fitting_number(model, self.space, every, told)

            self._known[key] = learned(
                *reduced(rows, values, blank=self.search.blank), self._held_out, fit_sample, fitting
            )
        return self._known[key]

    def strictly_then_loosely(
        self, fit: Callable[[Rows, np.ndarray], _M | None], rows: Rows, values: np.ndarray
    ) -> _M | None:
        """Return what is fitted; if there is nothing, try loops that have as many turns on the two largest counts."""
        model = fit(rows, values)
        if model is None and not self.loose and any(turns_vary(rows, loop) for loop in range(rows.loops)):
            self.loose = True
            try:
                model = fit(rows, values)
            finally:
                self.loose = False
        return model

    def splits(self, rows: Rows, loop: int) -> bool:
        """Return whether each turn of a loop may get a model of its own."""
        if any(int(level[1:]) == loop for level in rows.levels):
            return False  # levels are more than turns that are counted
        if not turns_vary(rows, loop):
            return True
        most = [int(rows.turns[rows.nranks == nranks, loop].max()) for nranks in rows.counts]
        return self.loose and len(most) > 2 and most.count(max(most)) > 1

    def _number(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        """Return the shortest of the models that the cheaper searches find, or what the expensive ones find."""
        short = self._quick(rows, values)
        if short is not None and model_bits(short, self.space) < _SHORT:
            return short
        if rows.levels:  # points decide who drops out: nested cases take long to search
            return short or self.search.numeric(rows, values) or self._cases(rows, values, self._quick, 1)
        if short is None and looks_drawn(rows, values):
            return self._cells(rows, values)
        models = [short, self.split(rows, values, self._quick)]
        best = self._shortest(models) or self.search.numeric(rows, values) or self._cells(rows, values)
        if best is None:
            best = self.split(rows, values, self.search.numeric, _FEW_TURNS)
        self.search.begin()  # cases are not cut short by what was looked for before
        if best is None or model_bits(best, self.space) > _LONG:
            best = self._shortest([*models, best, self._cases(rows, values, self._light, 2)])
        if best is None:
            best = self.split(rows, values, self._light_or_cases)
        if best is None:
            self.search.begin()
            best = self._cases(rows, values, self._light, 3)
        if best is None:
            best = self.split(rows, values, self._light_or_nested_cases, _FEW_TURNS)
        return best

    def _short(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        model = self._quick(rows, values)
        return None if model is None or model_bits(model, self.space) >= _SHORT else model

    def _shortest(self, models: Sequence[NumberModel | None]) -> NumberModel | None:
        known = [model for model in models if model is not None]
        return min(known, key=lambda model: model_bits(model, self.space), default=None)

    def _quick(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        return self.search.numeric(rows, values, quick=True)

    def _cells(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        """Return a model by the cells of a multi-partition, perhaps by turn, the first or the last turn apart."""
        if not is_square(self.space, rows):
            return None

        def by_turn(some: Rows, theirs: np.ndarray) -> NumberModel | None:
            return self._quick_or_cells(some, theirs) or self._cases(some, theirs, self._quick_or_cells, 1, _ENDS)

        return self.search.cells(rows, values) or self.split(rows, values, by_turn) or by_turn(rows, values)

    def _quick_or_cells(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        return self._quick(rows, values) or self.search.cells(rows, values)

    def _light(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        formulas = self._quick(rows, values)
        return self.split(rows, values, self._quick) if formulas is None else formulas

    def _light_or_cases(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        return self._light(rows, values) or self._cases(rows, values, self._light, 1)

    def _light_or_nested_cases(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        self.search.begin()
        return self._light(rows, values) or self._cases(rows, values, self._light, 3)

    def _truth(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        tries: tuple[Fit, ...] = (
            _same,
            self._by_points,
            lambda r, v: self._cases(r, v, _same, 1),
            lambda r, v: self.split(r, v, _same),
            lambda r, v: self._cases(r, v, lambda r2, v2: _same(r2, v2) or self.split(r2, v2, _same), 4),
            lambda r, v: self.split(r, v, lambda r2, v2: _same(r2, v2) or self._cases(r2, v2, _same, 3)),
        )
        return next((model for model in (attempt(rows, values) for attempt in tries) if model is not None), None)

    def _by_points(self, rows: Rows, values: np.ndarray) -> NumberModel | None:
        """Return the fewest statements about points of levels that tell a truth, each for what the others leave."""
        made = [(name, holds(name, self.space, rows)) for name in self.space.level_statements(rows)]
        unlike = {true.tobytes(): (name, true) for name, true in reversed(made) if true.any() and not true.all()}
        atoms = list(reversed(unlike.values()))
        for depth in range(1, _MOST_REST + 1):
            model = _decided(atoms, np.ones(len(rows), bool), values == 1, depth)
            if model is not None:
                return model
        return None

    def split(self, rows: Rows, values: np.ndarray, fit: Fit, most: int = _MOST_TURNS) -> Split | None:
        """Return a model for each index of one loop that has the same number of turns on all numbers of ranks."""
        for loop in range(rows.loops - 1, -1, -1):
            if not self.splits(rows, loop):
                continue
            splits = []
            for back in (False, True):
                split = self._split(rows, values, Split(loop, back, {}), fit, most)
                if split is not None:
                    splits.append(split)
            if splits:
                return min(splits, key=lambda model: model_bits(model, self.space))
        return None

    def _split(self, rows: Rows, values: np.ndarray, split: Split, fit: Fit, most: int) -> Split | None:
        index = split.index(rows)
        turns = np.unique(index).tolist()
        if not 2 <= len(turns) <= most:
            return None
        models = {}
        for turn in turns:
            which = index == turn
            part = rows.take(which)
            model = fit(part, values[which]) if _seen_enough(part, values[which]) else None
            if model is None:
                return None
            models[turn] = model
        return Split(split.loop, split.back, models)

    def _cases(
        self, rows: Rows, values: np.ndarray, fit: Fit, depth: int, among: re.Pattern[str] = _ANY
    ) -> Cases | None:
        """Return a model with cases: the shortest with one statement, or the largest part first and then the rest."""
        atoms = [(atom, true) for atom, true in self.atoms(rows, moving=fit is _same) if among.match(atom)]
        options = [(atom, value, true == value) for atom, true in atoms for value in (True, False)]
        parts: list[tuple[str, bool, np.ndarray, NumberModel]] = []
        best: Cases | None = None
        for atom, value, which in sorted(options, key=lambda option: -int(option[2].sum())):
            if fit is _same and np.ptp(values[which]) > 0:
                continue
            part, others = rows.take(which), rows.take(~which)
            model = fit(part, values[which]) if _seen_enough(part, values[which]) else None
            if model is None:
                continue
            rest = fit(others, values[~which]) if _seen_enough(others, values[~which]) else None
            if rest is None:
                parts.append((atom, value, which, model))
                continue
            best = self._shorter(best, Cases(atom, *((model, rest) if value else (rest, model))))
        if best is not None or depth == 1:
            return best
        parts.sort(key=lambda part: part[0].endswith("odd"))  # ends and edges are likelier
        for atom, value, which, model in parts[:_MOST_REST]:
            rest = self._cases(rows.take(~which), values[~which], fit, depth - 1)
            if rest is None:
                continue
            both = Cases(atom, *((model, rest) if value else (rest, model)))
            if fit is not _same:
                return both
            best = self._shorter(best, both)
        return best

    def _shorter(self, best: Cases | None, other: Cases) -> Cases:
        return other if best is None or model_bits(other, self.space) < model_bits(best, self.space) else best

    def atoms(self, rows: Rows, *, moving: bool = False) -> list[tuple[str, np.ndarray]]:
        """Return the statements that hold for some of the rows only, and for which.

        ``moving``: statements about all roots that may move, and not only about those that were seen to matter.
        """
        axes = range(self.space.axes)
        names = [f"c{a}={x}" for a in axes for x in ("0", "last")] + ["r=0", "r=last"]
        for k in range(rows.loops):
            names += [f"t{k}=0", f"j{k}=0", f"t{k}<workers", f"j{k}<workers", f"t{k}=1", f"j{k}=1", f"t{k} odd"]
            names += [f"t{k}<{bits}{a}" for bits in ("lc", "ld") for a in axes]
        for a in axes:
            names += [f"p{a}=1", f"c{a} odd", *(f"{x}{a}={x}{b}" for b in range(a) for x in "cp")]
        if moving:
            names += [f"{end}{a}@{root}=0" for root in trees.roots(rows)[1:] for a in axes for end in ("rf", "rl")]
        else:
            names += [name for name in sorted(self.space.roots) if int(name[5:-2]) < rows.loops]
        names += self.space.level_statements(rows)
        made = [(name, holds(name, self.space, rows)) for name in (*names, "r odd")]
        return [(name, true) for name, true in made if true.any() and not true.all()]


def _decided(
    atoms: Sequence[tuple[str, np.ndarray]], left: np.ndarray, wanted: np.ndarray, depth: int
) -> NumberModel | None:
    """Return cases of a truth on the rows that are left, by as many statements as ``depth`` says; None if none do."""
    some = wanted[left]
    if some.all() or not some.any():
        return constant(float(some.any()))
    if not depth:
        return None
    for atom, true in atoms:
        for value in (True, False):
            part = left & (true == value)
            inside = wanted[part]
            if not len(inside) or not (inside.all() or not inside.any()):
                continue
            rest = _decided(atoms, left & ~part, wanted, depth - 1) if part.sum() < left.sum() else None
            if rest is not None:
                mine = constant(float(inside.any()))
                return Cases(atom, *((mine, rest) if value else (rest, mine)))
    return None


def _same(rows: Rows, values: np.ndarray) -> Numeric | None:
    return constant(float(values[0])) if bool((values == values[0]).all()) else None


def turns_vary(rows: Rows, loop: int) -> bool:
    """Return whether a loop has different numbers of turns on different numbers of ranks, or was seen on one alone."""
    most = [int(rows.index[rows.nranks == nranks, loop].max()) for nranks in rows.counts]
    return len(most) < 2 or len(set(most)) > 1


def _seen_enough(rows: Rows, values: np.ndarray) -> bool:
    """Return whether the rows are from several numbers of ranks, or contain only zeros and ones."""
    return len(values) > 0 and (len(rows.counts) > 1 or bool(np.isin(values, (0, 1)).all()))
