"""Fits of numbers that follow no rule exactly, such as measured computation and the particles in a share."""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from predictor.learned.features import Space
from predictor.learned.models import Cases, Fitted, Term, matrix_of
from predictor.learned.rows import Rows

_BETTER = 0.8  # part of the score of a simpler fit that a longer one may have at most
_PARAMETER = 0.01  # relative error that one more part of a fit has to make up for
_MOST_ROWS = 4000
_STEP = 1.1  # factor between two numbers of ranks from which on it may be a step
_CLEAR = 3.0  # times the scatter on either side of it that a step is
_LEAST = 1e-12
_NEGLIGIBLE, _APART, _LITTLE = 1e-3, 4.0, 0.05  # of the largest amount; a factor; a part of the sum
_MOST_MISSED = math.log(10)  # of a number that is mostly 0, ratios say nothing
_WIDEST = 50.0  # scatter
_EDGES = ("", "+1", "-1", "+2", "-2")  # shares with or without edges


def fitted(space: Space, rows: Rows, values: np.ndarray) -> Fitted:
    """Return the fit that leads from the fewer numbers of ranks to the largest one best.

    It is a product of features, such as the shares along two axes, times a factor, perhaps times powers of the number
    of ranks or of the sides of the grid.  Its ratios are the least and the largest mean of a rank, and no nearer to 1
    than what the largest number of ranks was missed by.  Its factor may change at once from one number of ranks on, as
    where a share begins to fit into a cache; where the next such step is cannot be known, so that the range allows for
    one as large.
    """
    values = np.asarray(values, float)
    if len(rows) > _MOST_ROWS:
        which = np.sort(np.random.default_rng(3).choice(len(rows), _MOST_ROWS, replace=False))
        rows, values = rows.take(which), values[which]
    best: tuple[float, Fitted] | None = None
    few = rows.nranks < rows.counts[-1]
    for term, powers in _forms(space, rows):
        for with_step in (False, True):
            model = _on_means(space, rows, values, term, powers, with_step=with_step)
            if model is None:
                continue
            before = _on_means(space, rows.take(few), values[few], term, powers, with_step=with_step)
            if before is None and (powers or with_step):
                continue
            missed = 0.0
            if before is not None:
                mean = _ratios(before, space, rows.take(~few), values[~few])[1]
                missed = min(abs(math.log(max(mean, _LEAST))), _MOST_MISSED)
            scatter = math.log(max(model.high, _LEAST)) - math.log(max(model.low, _LEAST))
            score = missed + min(scatter, _WIDEST) + _PARAMETER * (len(term) + 2 * len(powers) + 4 * with_step)
            if best is None or score < _BETTER * best[0] - 1e-9:
                best = score, model.widened(math.exp(-missed), math.exp(missed))
    assert best is not None  # the constant always has a fit
    model = best[1]
    return model if model.step is None else model.widened(*sorted((model.step[1], 1 / model.step[1])))


def fitted_by_turn(space: Space, rows: Rows, values: np.ndarray) -> Fitted | Cases:
    """Return the fit, that of the first turn of a loop apart where that is unlike all others, as a warm-up is."""
    whole = fitted(space, rows, values)
    for loop in range(rows.loops):
        first = rows.turn[:, loop] == 0
        if not first.any() or first.all():
            continue
        parts = [fitted(space, rows.take(which), values[which]) for which in (first, ~first)]
        if _width(parts[1]) < _BETTER * _width(whole):
            return Cases(f"t{loop}=0", *parts)
    return whole


def of_note(values: np.ndarray) -> np.ndarray | None:
    """Return which measured amounts are not negligible beside the others; None where there are no two such sizes."""
    largest = float(values.max(initial=0.0))
    logs = np.sort(np.log(np.maximum(values, _NEGLIGIBLE * largest))) if largest > 0 else np.zeros(1)
    at = int(np.argmax(np.diff(logs))) if len(logs) > 1 else 0
    if len(logs) < 2 or logs[at + 1] - logs[at] < math.log(_APART):
        return None
    large: np.ndarray = values > math.exp((logs[at] + logs[at + 1]) / 2)
    return large if float(values[~large].sum()) < _LITTLE * float(values.sum()) else None


def little(values: np.ndarray) -> Fitted:
    """Return the fit of amounts that are negligible: their mean, without any rule."""
    mean = max(float(values.mean()), _LEAST)
    return Fitted(math.log(mean), low=float(values.min()) / mean, high=float(values.max()) / mean)


def _width(model: Fitted) -> float:
    return math.log(max(model.high, _LEAST)) - math.log(max(model.low, _LEAST))


def _forms(space: Space, rows: Rows) -> Iterator[tuple[Term, tuple[str, ...]]]:
    """Yield products of features, and features whose powers are fitted."""
    sides = tuple(f"p{axis}" for axis in range(space.axes))
    yield (), ()
    yield (), ("P",)
    if space.axes > 1 and len(rows.counts) > space.axes + 2:
        yield (), sides
    names = [name for name in space.names(0) if name[0] in "P1pqeEF" and bool((space.value(name, rows) > 0).all())]
    names = [name for name in names if np.ptp(space.value(name, rows)) > 0]
    yield from (((name,), ()) for name in names)
    for number in space.numbers:
        shares = [[f"e{axis}{by}:{number}" for by in _EDGES] for axis in range(space.axes)]
        for length in range(2, space.axes + 1):
            for axes in itertools.combinations(shares, length):
                yield from ((term, ()) for term in itertools.product(*axes))


def _on_means(
    space: Space, rows: Rows, values: np.ndarray, term: Term, powers: Sequence[str], *, with_step: bool
) -> Fitted | None:
    """Return the fit through the means of the numbers of ranks; None if it is not determined, or has no step."""
    base = matrix_of((term,), space, rows)[:, 0]
    if (base <= 0).any() or not len(values) or (with_step and powers):
        return None
    by_count = [rows.nranks == nranks for nranks in rows.counts]
    means = np.array([max(_typical(rows.rank[which], values[which] / base[which]), 0.0) for which in by_count])
    if (means <= 0).any():
        if powers or term:
            return None
        means = np.full(len(means), max(float(values.mean()), _LEAST))
    if with_step:
        model = _step(rows.counts, np.log(means), term)
    else:
        features = [[math.log(float(space.value(name, rows)[which][0])) for which in by_count] for name in powers]
        matrix = np.column_stack([np.ones(len(means)), *map(np.array, features)])
        if len(means) < matrix.shape[1]:
            return None
        solved = np.linalg.lstsq(matrix, np.log(means), rcond=None)[0].tolist()
        model = Fitted(solved[0], tuple(zip(powers, solved[1:], strict=True)), term)
    if model is None:
        return None
    low, _, high = _ratios(model, space, rows, values)
    return model.widened(low, high)


def _step(counts: np.ndarray, logs: np.ndarray, term: Term) -> Fitted | None:
    """Return the fit whose factor changes at once from one number of ranks on; None if none does clearly.

    This happens where a share begins to fit into a cache.
    """
    for at in range(1, len(logs)):
        before, behind = logs[:at], logs[at:]
        jump = float(behind.mean() - before.mean())
        if abs(jump) > _CLEAR * max(np.ptp(before), np.ptp(behind), math.log(_STEP) / _CLEAR):
            return Fitted(float(behind.mean()), term=term, step=(int(counts[at]), math.exp(jump)))
    return None


def _ratios(model: Fitted, space: Space, rows: Rows, values: np.ndarray) -> tuple[float, float, float]:
    """Return the least, the mean and the largest ratio to the fit of the mean of a rank."""
    ratio = ratios_to(model.middle(space, rows), values)
    middles = _medians(rows.nranks * (int(rows.rank.max()) + 1) + rows.rank, ratio)
    return float(middles.min()), float(middles.mean()), float(middles.max())


def ratios_to(middle: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the ratios of values to those of a fit: 1 where both are 0, infinite where the fit alone is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((values == 0) & (middle == 0), 1.0, values / middle)


def _medians(group: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the median of each group."""
    order = np.lexsort((values, group))
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    lengths = np.diff(np.append(begins, len(group)))
    low, high = (values[order[begins + place]] for place in ((lengths - 1) // 2, lengths // 2))
    middles: np.ndarray = (low + high) / 2
    return middles


def _typical(rank: np.ndarray, values: np.ndarray) -> float:
    """Return the mean over ranks of the median of each: single turns may take much longer."""
    return float(_medians(rank, values).mean())
