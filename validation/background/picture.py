"""Draw predicted distributions against simulated ones, and where the simulated times lie in the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Look, Panel, Series, lines_figure
from platforms.plotting.styles import dots, line, style_of
from validation.background.judge import Judged

_BINS = 10


def judged_figure(judgements: Sequence[Judged]) -> Figure:
    """Return the figure: for each target its distributions, and beside them a histogram of the truths' places."""
    targets = list(dict.fromkeys(judgement.forecast.target for judgement in judgements))
    names = dict.fromkeys(judgement.forecast.predictor for judgement in judgements)
    looks = {name: line(style_of(n)[0], style_of(n)[2]) for n, name in enumerate(names)}
    charts = []
    for target in targets:
        of_target = [judgement for judgement in judgements if judgement.forecast.target == target]
        charts += [_distributions(str(target), of_target, looks), _places(of_target, looks)]
    height_in, truth = 0.8 + 2.9 * len(targets), {"simulated": line("black", width=2)}
    return lines_figure(charts, 2, 9.0, height_in, below={**truth, **looks})


def _distributions(title: str, judgements: Sequence[Judged], looks: dict[str, Look]) -> Panel:
    drawn = [_shares(judgements[0].true_s, line("black", width=2))]
    for judgement in judgements:
        look = looks[judgement.forecast.predictor]
        quiet = dots(look["color"], "^", 7) | {"clip_on": False}
        drawn += [_shares(judgement.forecast.times_s, look), Series([judgement.forecast.quiet.time_s], [0.0], quiet)]
    x, y = "time, s; triangles: predicted for the quiet grid", "share of the runs that take no longer"
    return Panel(title=title, x=x, y=y, drawn=drawn, y_ends=(0, 1), letters=8)


def _shares(times_s: Any, look: Look) -> Series:
    """Return the share of times up to each, as stairs."""
    ordered = np.sort(times_s)
    shares = np.arange(len(ordered) + 1) / len(ordered)
    return Series([ordered[0], *ordered], shares, {**look, "drawstyle": "steps-post"})


def _places(judgements: Sequence[Judged], looks: dict[str, Look]) -> Panel:
    drawn = []
    for judgement in judgements:
        counts, edges = np.histogram(judgement.pit, bins=_BINS, range=(0, 1))
        look = {**looks[judgement.forecast.predictor], "drawstyle": "steps-post", "linewidth": 1.6}
        drawn.append(Series([0, *edges, 1], [0, *counts, counts[-1], 0], look))
    x, y = "share of the predicted distribution below a simulated time", "runs; grey line: as many everywhere"
    evenly = len(judgements[0].pit) / _BINS
    return Panel(x=x, y=y, drawn=drawn, across=(evenly,), x_ends=(0, 1), y_ends=(0, None), letters=8)
