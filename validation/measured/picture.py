"""Draw predictions of measured runs: times against ranks, a panel per program and class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    # Imported here because it is slow to import.
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    made = [judgement for judgement in judgements if judgement.prediction is not None]
    panels = list(
        dict.fromkeys((judgement.run.app, judgement.run.preset) for judgement in made if judgement.role == JUDGED)
    )
    panels = panels or list(dict.fromkeys((judgement.run.app, judgement.run.preset) for judgement in made))
    down = math.ceil(len(panels) / _ACROSS)
    figure = Figure(figsize=(9.0, 1.2 + 3.0 * down), layout="constrained")
    axes: Any = list(figure.subplots(down, _ACROSS, squeeze=False).flat)
    for axis in axes:
        axis.set_visible(False)
    for (app, preset), axis in zip(panels, axes, strict=False):
        in_panel = [judgement for judgement in made if (judgement.run.app, judgement.run.preset) == (app, preset)]
        _panel(
            axis,
            sorted(in_panel, key=lambda judgement: (judgement.run.ranks, judgement.run.nodes)),
            f"{app.upper()} {preset}",
        )
    shown = {judgement.role for judgement in made if (judgement.run.app, judgement.run.preset) in panels}
    roles = [role for role in _COLOURS if role in shown]
    handles: list[Any] = [Line2D([], [], color="black", marker="o", ls="none", label="measured")]
    handles += [
        Line2D([], [], color=_COLOURS[role], marker="x", ls="-", label=f"predicted: {_LABELS[role]}") for role in roles
    ]
    figure.legend(handles=handles, loc="outside lower center", ncol=3, fontsize=8)
    return figure


def _panel(axis: Any, judgements: Sequence[Judged], title: str) -> None:
    axis.set_visible(True)
    axis.set_title(title, fontsize=10)
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
    axis.set_xlabel("ranks, and the nodes that they share", fontsize=8)
    axis.set_ylabel("time in s", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.set_xlim(-0.6, len(judgements) - 0.4)
