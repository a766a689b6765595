"""Distributions of a run time: a model that was fitted on the quiet grid, evaluated over draws of the load.

The forecast knows the distribution of the load, not the load of the run that is to be predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from apps.spec.target import Target
from platforms.background.site import Loadable
from platforms.background.statement import FORECASTS, Background, Draw, drawn
from predictor.answers.answers import fit
from predictor.background.responses import Response, TimeOf, response, shares_between
from predictor.base import Gatherer, Prediction, Predictor

MOST_STEPS = 64  # of a quiet run, where the load changes often
INTERVAL = (0.05, 0.95)  # quantiles of the 90 % interval
_PRECISION = 1e-4  # relative: of the time of a run in which each node computes alone


@dataclass(frozen=True)
class Forecast:
    """The predicted distribution of a run time."""

    predictor: str
    target: Target  # on the quiet grid
    quiet: Prediction  # for the quiet grid
    times_s: tuple[float, ...]  # one for each draw, all equally likely

    def quantile_s(self, share: float) -> float:
        """Return the time that this share of the draws does not exceed, linearly between neighbouring draws."""
        # Imported here because it is slow to import.
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

    grid: Loadable
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

    Where nodes wait for one another throughout the run, it advances at the pace that their shares allow.  A step lasts
    until the share of a node changes, but no less than the time between two waits, and no less than a MOST_STEPS-th of
    the quiet run; in a step in which it changes every node has its mean share.  Where nodes wait at the end only, each
    has its mean share over the whole run.
    """
    time_of: TimeOf = lru_cache(maxsize=64)(answer.under(draw))
    quiet_s = time_of((1.0,) * target.nranks)
    if quiet_s <= 0:
        return quiet_s
    if answer.waits <= 1:
        return _whole_s(time_of, target, draw, quiet_s)
    least_s = quiet_s / min(MOST_STEPS, answer.waits)
    now_s, left = 0.0, 1.0  # left: part of the run
    hosts = set(target.placement)
    while True:
        changes_s = [node.next_change_s(now_s) for host, node in draw.nodes.items() if host in hosts]
        until_s = max(min(changes_s, default=inf), now_s + least_s)
        if until_s == inf:
            return now_s + left * time_of(shares_between(draw, target.placement, now_s, now_s + quiet_s))
        pace = 1 / time_of(shares_between(draw, target.placement, now_s, until_s))
        if left <= pace * (until_s - now_s):
            return now_s + left / pace
        left -= pace * (until_s - now_s)
        now_s = until_s


def _whole_s(time_of: TimeOf, target: Target, draw: Draw, quiet_s: float) -> float:
    """Return the time to which the mean shares during it lead."""
    # Imported here because it is slow to import.
    from scipy.optimize import brentq

    def takes_s(assumed_s: float) -> float:
        return time_of(shares_between(draw, target.placement, 0.0, assumed_s))

    lowest = tuple(min(draw.nodes[host].shares) if host in draw.nodes else 1.0 for host in target.placement)
    high_s = time_of(lowest) * (1 + _PRECISION)
    root_s: float = brentq(lambda one_s: one_s - takes_s(one_s), quiet_s, high_s, xtol=_PRECISION * quiet_s)
    return root_s
