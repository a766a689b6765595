"""Distributions of a run time: a model that was fitted on the quiet grid, evaluated over draws of the load.

The forecast knows the distribution of the load, not the load of the run that is to be predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from apps.spec.target import Target
from platforms.background.draws import FORECASTS, Draw, drawn
from platforms.background.statement import Background
from platforms.grids.grid import Grid
from predictor.answers.answers import fit
from predictor.base import Gatherer, Prediction, Predictor
from predictor.shared.responses import Response, TimeOf, response, shares_between

MOST_PARTS = 16  # parts of a run that are evaluated one after the other
INTERVAL = (0.05, 0.95)  # quantiles of the 90 % interval
_PRECISION = 1e-3  # relative: of the length of a part
_STEPS = 4  # towards it, before its root is searched


@dataclass(frozen=True)
class Forecast:
    """The predicted distribution of a run time."""

    predictor: str
    target: Target  # on the quiet grid
    quiet: Prediction  # for the quiet grid
    times_s: tuple[float, ...]  # one for each draw, all equally likely

    def quantile_s(self, share: float) -> float:
        """Return the time that this share of the draws does not exceed, linearly between neighbouring draws."""
        # Imported here for a quick start: it is slow to import.
        import numpy as np

        return float(np.quantile(self.times_s, share))

    @property
    def interval_s(self) -> tuple[float, float]:
        """The 90 % interval."""
        low, high = (self.quantile_s(share) for share in INTERVAL)
        return low, high


@dataclass(frozen=True)
class Load:
    """The background of a grid, and the draws that are made of it."""

    grid: Grid
    background: Background
    draws: int
    seed: int


def forecast(
    predictor: Predictor,
    target: Target,
    load: Load,
    broker: Gatherer,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> Forecast:
    """Return the predicted distribution of a run time.

    Args:
        predictor: Predicts the run on the quiet grid; its model is then evaluated under each draw.
        target: The target on the quiet grid.
        load: The load.
        broker: Gathers the evidence, on the quiet grid.
        progress: Called after each draw with a description, the number of draws so far, and their total number.

    Raises:
        OutOfRange: The target is out of the model's range, or the model cannot follow the load.
        UserError: The evidence cannot be gathered.
    """
    model, _ = fit(predictor, [target], broker)
    quiet = model.predict(target)
    answer = response(model, target, load.grid, quiet)
    times_s = []
    for number in range(load.draws):
        draw = drawn(load.background, load.grid, seed=load.seed, stream=FORECASTS, number=number)
        times_s.append(time_under(answer, target, draw))
        if progress is not None:
            progress(f"{predictor.name}, {target.problem}", number + 1, load.draws)
    return Forecast(predictor.name, target, quiet, tuple(times_s))


def time_under(answer: Response, target: Target, draw: Draw) -> float:
    """Return the time of a run under a draw, s.

    The run is cut into equal parts, at most MOST_PARTS, and no shorter than an iteration.  In each part every node
    has the mean of its share over that part; this makes computation between two exchanges of messages exact if it fills
    the part, and leaves out that nodes wait for one another inside a part in turn.
    """
    time_of: TimeOf = lru_cache(maxsize=64)(answer.under(draw))
    parts = min(MOST_PARTS, target.iterations) if target.problem.iterative else 1
    now_s = 0.0
    for _ in range(parts):
        now_s += _part_s(time_of, target, draw, now_s, parts)
    return now_s


def _part_s(time_of: TimeOf, target: Target, draw: Draw, from_s: float, parts: int) -> float:
    """Return the length of a part that begins at this moment: that to which the shares during it lead."""
    # Imported here for a quick start: it is slow to import.
    from scipy.optimize import brentq

    def takes_s(assumed_s: float) -> float:
        return time_of(shares_between(draw, target.placement, from_s, from_s + assumed_s)) / parts

    low_s = found_s = time_of((1.0,) * target.nranks) / parts
    if low_s <= 0:
        return low_s
    for _ in range(_STEPS):
        before_s, found_s = found_s, takes_s(found_s)
        if abs(found_s - before_s) <= _PRECISION * found_s:
            return found_s
    # Steps swing to and fro where the share at the end differs much from the mean.
    lowest = tuple(min(draw.nodes[host].shares) if host in draw.nodes else 1.0 for host in target.placement)
    high_s = time_of(lowest) / parts * (1 + _PRECISION)
    root_s: float = brentq(lambda one_s: one_s - takes_s(one_s), low_s, high_s, xtol=_PRECISION * low_s)
    return root_s
