"""Draw predicted distributions against simulated ones, and where the simulated times lie in the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from platforms.plotting.charts import Figure, legend_below, panels
from platforms.plotting.styles import style_of
from validation.background.judge import Judged

_BINS = 10


def judged_figure(judgements: Sequence[Judged]) -> Figure:
    """Return the figure: for each target its distributions, and beside them a histogram of the truths' places."""
    targets = list(dict.fromkeys(judgement.forecast.target for judgement in judgements))
    styles = {
        name: style_of(n)
        for n, name in enumerate(dict.fromkeys(judgement.forecast.predictor for judgement in judgements))
    }
    figure, axes = panels(2 * len(targets), 2, 9.0, 0.8 + 2.9 * len(targets))
    for left, right, target in zip(axes[::2], axes[1::2], targets, strict=True):
        of_target = [judgement for judgement in judgements if judgement.forecast.target == target]
        _distributions(left, of_target, styles)
        _places(right, of_target, styles)
        left.set_title(str(target), fontsize=10, loc="left")
    keys = {name: {"color": color, "ls": line} for name, (color, _, line) in styles.items()}
    legend_below(figure, {"simulated": {"color": "black", "lw": 2}, **keys})
    return figure


def _distributions(axis: Any, judgements: Sequence[Judged], styles: dict[str, Any]) -> None:
    axis.ecdf(judgements[0].true_s, color="black", lw=2)
    for judgement in judgements:
        color, _, line = styles[judgement.forecast.predictor]
        axis.ecdf(judgement.forecast.times_s, color=color, ls=line)
        axis.plot([judgement.forecast.quiet.time_s], [0.0], "^", color=color, ms=7, clip_on=False)
    axis.set_xlabel("time, s; triangles: predicted for the quiet grid", fontsize=8)
    axis.set_ylabel("share of the runs that take no longer", fontsize=8)
    axis.tick_params(labelsize=8)


def _places(axis: Any, judgements: Sequence[Judged], styles: dict[str, Any]) -> None:
    edges = [i / _BINS for i in range(_BINS + 1)]
    for judgement in judgements:
        color, _, line = styles[judgement.forecast.predictor]
        axis.hist(judgement.pit, bins=edges, histtype="step", color=color, ls=line, lw=1.6)
    axis.axhline(len(judgements[0].pit) / _BINS, color="#666666", lw=0.8)
    axis.set_xlim(0, 1)
    axis.yaxis.get_major_locator().set_params(integer=True)
    axis.set_xlabel("share of the predicted distribution below a simulated time", fontsize=8)
    axis.set_ylabel("runs; grey line: as many everywhere", fontsize=8)
    axis.tick_params(labelsize=8)
