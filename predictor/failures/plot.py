"""The figure of expected times against numbers of nodes."""

from __future__ import annotations

import numpy as np

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, lines_figure
from platforms.plotting.styles import dots, line, style_of
from predictor.failures.expected import NO_FAILURES, Outlook
from predictor.failures.report import said

_MOST_POINTS = 600  # per line
_CEILING = 100.0  # upper end of the time axis, as a multiple of the best expected time


def figure(outlook: Outlook, title: str) -> Figure:
    """Draw one line per strategy on logarithmic axes, with a circle at its best number of nodes."""
    places, drawn = _places(outlook.nodes), []
    for number, (name, times_s) in enumerate(outlook.expected_s.items()):
        color, _, dash = ("black", "", (0, (1, 1.5))) if number == 0 else style_of(number - 1)
        best = outlook.best(name)
        label = f"{name}: {'never' if best is None else said(outlook, name, best)}"
        look = dots(color, "." if len(places) <= 40 else "") | line(color, dash)
        drawn.append(
            Series(outlook.nodes[places], np.where(np.isfinite(times_s), times_s, np.nan)[places], look, label)
        )
        if name != NO_FAILURES and best is not None:
            drawn.append(Series([outlook.nodes[best]], [times_s[best]], dots(color, size=8, hollow=True)))
    lowest = min(float(times.min()) for times in outlook.expected_s.values())
    highest = max(float(times[np.isfinite(times)].max(initial=lowest)) for times in outlook.expected_s.values())
    best_s = min(float(times_s.min()) for name, times_s in outlook.expected_s.items() if name != NO_FAILURES)
    usual_s = best_s if np.isfinite(best_s) else float(outlook.run_s.max())
    highest = min(highest, max(_CEILING * usual_s, 1.5 * float(outlook.run_s[0])))
    chart = Panel(
        title=title, x="nodes", y="expected time, s", log="xy", y_ends=(lowest / 1.5, highest * 1.5), drawn=drawn,
        legend={"title": "circle: shortest"},
    )  # fmt: skip
    return lines_figure([chart], 1, 8, 4.8)


def _places(nodes: np.ndarray) -> np.ndarray:
    """Return the indices of the numbers of nodes to draw, spaced by equal ratios where there are many."""
    if len(nodes) <= _MOST_POINTS:
        return np.arange(len(nodes))
    wanted = np.geomspace(nodes[0], nodes[-1], _MOST_POINTS)
    return np.unique(np.searchsorted(nodes, wanted).clip(0, len(nodes) - 1))
