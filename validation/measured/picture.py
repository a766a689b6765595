"""Draw predictions of measured runs: times against ranks, a panel per program and class."""

from __future__ import annotations

import math
from collections.abc import Sequence

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, bar_at, lines_figure
from platforms.plotting.styles import BLUE, GREEN, RED, SOFT, dots, line
from validation.measured.judge import APART, JUDGED, LEFT_OUT, OTHER_CLASS, Judged

_COLOURS = {LEFT_OUT: SOFT, JUDGED: RED, APART: BLUE, OTHER_CLASS: GREEN}
_LABELS = {
    LEFT_OUT: "evidence, predicted from the rest",
    JUDGED: "judged",
    APART: "reported separately",
    OTHER_CLASS: "evidence of another class only",
}
_ACROSS = 2
_MEASURED = dots("black")


def runs_figure(judgements: Sequence[Judged]) -> Figure:
    """Return the figure: measured times as dots, predictions with their intervals beside them."""
    made: dict[tuple[str, str], list[Judged]] = {}
    for judgement in judgements:
        if judgement.prediction is not None:
            made.setdefault((judgement.run.app, judgement.run.preset), []).append(judgement)
    shown = {key: rows for key, rows in made.items() if any(row.role == JUDGED for row in rows)} or made
    charts = [_panel(rows, f"{app.upper()} {preset}") for (app, preset), rows in shown.items()]
    roles = {row.role for rows in shown.values() for row in rows}
    keys = {f"predicted: {_LABELS[role]}": dots(color, "x") | line(color) for role, color in _COLOURS.items()
            if role in roles}  # fmt: skip
    height_in = 1.2 + 3.0 * math.ceil(len(charts) / _ACROSS)
    return lines_figure(charts, _ACROSS, 9.0, height_in, below={"measured": _MEASURED, **keys})


def _panel(judgements: Sequence[Judged], title: str) -> Panel:
    drawn, ticks = [], {}
    for place, judgement in enumerate(sorted(judgements, key=lambda row: (row.run.ranks, row.run.nodes))):
        assert judgement.prediction is not None
        color, made = _COLOURS[judgement.role], judgement.prediction
        drawn.append(Series([place - 0.12], [judgement.run.time_s], _MEASURED))
        if made.low_s is not None and made.high_s is not None:
            drawn.append(bar_at(place + 0.12, made.low_s, made.high_s, color))
        drawn.append(Series([place + 0.12], [made.time_s], dots(color, "x", 7)))
        ticks[float(place)] = f"{judgement.run.ranks}\n{judgement.run.nodes}"
    return Panel(
        title=title, x="ranks, and the nodes that they share", y="time, s", log="y", drawn=drawn, x_ticks=ticks,
        x_ends=(-0.6, len(ticks) - 0.4),
    )  # fmt: skip
