"""Draw predictions of measured runs: times against ranks, a panel per program and class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from platforms.plotting import charts
from validation.measured.judge import APART, JUDGED, LEFT_OUT, OTHER_CLASS, Judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {LEFT_OUT: "#666666", JUDGED: "#D55E00", APART: "#0072B2", OTHER_CLASS: "#009E73"}
_LABELS = {
    LEFT_OUT: "evidence, predicted from the rest",
    JUDGED: "judged",
    APART: "reported separately",
    OTHER_CLASS: "evidence of another class only",
}
_ACROSS = 2


def runs_figure(judgements: Sequence[Judged]) -> Figure:
    """Return the figure: measured times as dots, predictions with their intervals beside them."""
    made = [judgement for judgement in judgements if judgement.prediction is not None]
    panels = list(
        dict.fromkeys((judgement.run.app, judgement.run.preset) for judgement in made if judgement.role == JUDGED)
    )
    panels = panels or list(dict.fromkeys((judgement.run.app, judgement.run.preset) for judgement in made))
    figure, axes = charts.panels(len(panels), _ACROSS, 9.0, 1.2 + 3.0 * math.ceil(len(panels) / _ACROSS))
    for (app, preset), axis in zip(panels, axes, strict=True):
        in_panel = [judgement for judgement in made if (judgement.run.app, judgement.run.preset) == (app, preset)]
        _panel(
            axis,
            sorted(in_panel, key=lambda judgement: (judgement.run.ranks, judgement.run.nodes)),
            f"{app.upper()} {preset}",
        )
    shown = {judgement.role for judgement in made if (judgement.run.app, judgement.run.preset) in panels}
    roles = [role for role in _COLOURS if role in shown]
    keys = {f"predicted: {_LABELS[role]}": {"color": _COLOURS[role], "marker": "x"} for role in roles}
    charts.legend_below(figure, {"measured": {"color": "black", "marker": "o", "ls": "none"}, **keys})
    return figure


def _panel(axis: Any, judgements: Sequence[Judged], title: str) -> None:
    axis.set_yscale("log")
    for place, judgement in enumerate(judgements):
        assert judgement.prediction is not None
        colour, made = _COLOURS[judgement.role], judgement.prediction
        axis.plot([place - 0.12], [judgement.run.time_s], "o", color="black", ms=5)
        if made.low_s is not None and made.high_s is not None:
            axis.plot([place + 0.12] * 2, [made.low_s, made.high_s], "-", color=colour, lw=1.5)
        axis.plot([place + 0.12], [made.time_s], "x", color=colour, ms=7, mew=1.5)
    axis.set_xticks(
        range(len(judgements)),
        [f"{judgement.run.ranks}\n{judgement.run.nodes}" for judgement in judgements],
        fontsize=8,
    )
    charts.finish(axis, title, xlabel="ranks, and the nodes that they share", ylabel="time, s")
    axis.set_xlim(-0.6, len(judgements) - 0.4)
