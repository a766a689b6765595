"""The figure of expected times against numbers of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import finish, new_figure
from platforms.plotting.styles import style_of
from predictor.failures.expected import NO_FAILURES, Outlook
from predictor.failures.report import said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_POINTS = 600  # per line
_CEILING = 100.0  # upper end of the time axis, as a multiple of the best expected time


def figure(outlook: Outlook, title: str) -> Figure:
    """Draw one line per strategy on logarithmic axes, with a circle at its best number of nodes."""
    picture = new_figure(8, 4.8)
    axes = picture.add_subplot()
    places = _places(outlook.nodes)
    for number, (name, times_s) in enumerate(outlook.expected_s.items()):
        color, _, style = ("black", "", (0, (1, 1.5))) if number == 0 else style_of(number - 1)
        shown = np.where(np.isfinite(times_s), times_s, np.nan)[places]
        best = outlook.best(name)
        label = f"{name}: {'never' if best is None else said(outlook, name, best)}"
        marker = "." if len(places) <= 40 else ""
        axes.plot(outlook.nodes[places], shown, color=color, linestyle=style, label=label, marker=marker)
        if name != NO_FAILURES and best is not None:
            axes.plot(outlook.nodes[best], times_s[best], "o", color=color, markersize=8, fillstyle="none")
    axes.set(xscale="log", yscale="log")
    lowest = min(float(times.min()) for times in outlook.expected_s.values())
    highest = max(float(times[np.isfinite(times)].max(initial=lowest)) for times in outlook.expected_s.values())
    best_s = min(float(times_s.min()) for name, times_s in outlook.expected_s.items() if name != NO_FAILURES)
    shown_s = best_s if np.isfinite(best_s) else float(outlook.run_s.max())
    highest = min(highest, max(_CEILING * shown_s, 1.5 * float(outlook.run_s[0])))
    axes.set_ylim(lowest / 1.5, highest * 1.5)
    finish(axes, title, legend={"title": "circle: shortest"}, xlabel="nodes", ylabel="expected time, s")
    return picture


def _places(nodes: np.ndarray) -> np.ndarray:
    """Return the indices of the numbers of nodes to draw, spaced by equal ratios where there are many."""
    if len(nodes) <= _MOST_POINTS:
        return np.arange(len(nodes))
    wanted = np.geomspace(nodes[0], nodes[-1], _MOST_POINTS)
    return np.unique(np.searchsorted(nodes, wanted).clip(0, len(nodes) - 1))
