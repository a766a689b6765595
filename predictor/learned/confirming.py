"""Models checked with rows that were held out: formulas that do not fit them are dropped."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from predictor.learned.errors import CannotContinue
from predictor.learned.features import Space, holds
from predictor.learned.models import Cases, Formula, Notes, NumberModel, Numeric, Split, evaluate, exact
from predictor.learned.partners import Along, ByCase, ByIndex, Counted, Exchanged, Next, Offset, PartnerModel, Stride
from predictor.learned.rows import Rows

_M = TypeVar("_M")


@dataclass(frozen=True)
class Learned(Generic[_M]):
    """A model, and whether it came out of the smaller numbers of ranks and fits the largest one exactly."""

    model: _M | None
    confirmed: bool = False


def learned(
    rows: Rows,
    values: np.ndarray,
    held_out: int,
    fit: Callable[[Rows, np.ndarray], _M | None],
    fitting: Callable[[_M, Rows, np.ndarray], _M | None],
) -> Learned[_M]:
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

    Where left and right were not told apart, the one that fits is taken; it is certain if a side is longer than two.
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
    """Yield the rule, and those that go the other way along axes of which left and right were not told apart."""
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
