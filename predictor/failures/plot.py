"""The figure of expected times against numbers of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from predictor.failures.outlook import NO_FAILURES, Outlook
from predictor.failures.report import said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours; the line styles distinguish the lines in grey.
_STYLES = (
    ("black", (0, (1, 1.5))), ("#D55E00", "-"), ("#0072B2", "--"), ("#009E73", "-."), ("#CC79A7", (0, (5, 1))),
    ("#E69F00", (0, (3, 1, 1, 1))),
)  # fmt: skip
_MOST_POINTS = 600  # per line
_CEILING = 100.0  # upper end of the time axis, as a multiple of the best expected time


def figure(outlook: Outlook, title: str) -> Figure:
    """Draw one line per strategy on logarithmic axes, with a circle at its best number of nodes."""
    # Imported here because it is slow to import.
    from matplotlib.figure import Figure

    picture = Figure(figsize=(8, 4.8), layout="constrained")
    axes = picture.add_subplot()
    places = _places(outlook.nodes)
    for (name, times_s), (color, style) in zip(outlook.expected_s.items(), _STYLES, strict=False):
        shown = np.where(np.isfinite(times_s), times_s, np.nan)[places]
        best = outlook.best(name)
        label = f"{name}: {'never' if best is None else said(outlook, name, best)}"
        marker = "." if len(places) <= 40 else ""
        axes.plot(outlook.nodes[places], shown, color=color, linestyle=style, label=label, marker=marker)
        if name != NO_FAILURES and best is not None:
            axes.plot(outlook.nodes[best], times_s[best], "o", color=color, markersize=8, fillstyle="none")
    axes.set_xscale("log")
    axes.set_yscale("log")
    lowest = min(float(times.min()) for times in outlook.expected_s.values())
    highest = max(float(times[np.isfinite(times)].max(initial=lowest)) for times in outlook.expected_s.values())
    best_s = min(float(times_s.min()) for name, times_s in outlook.expected_s.items() if name != NO_FAILURES)
    shown_s = best_s if np.isfinite(best_s) else float(outlook.run_s.max())
    highest = min(highest, max(_CEILING * shown_s, 1.5 * float(outlook.run_s[0])))
    axes.set_ylim(lowest / 1.5, highest * 1.5)
    axes.set_xlabel("nodes")
    axes.set_ylabel("expected time, s")
    axes.set_title(title, fontsize=10)
    axes.grid(which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.legend(fontsize=9, title="circle: shortest")
    return picture


def _places(nodes: np.ndarray) -> np.ndarray:
    """Return the indices of the numbers of nodes to draw, spaced by equal ratios where there are many."""
    if len(nodes) <= _MOST_POINTS:
        return np.arange(len(nodes))
    wanted = np.geomspace(nodes[0], nodes[-1], _MOST_POINTS)
    return np.unique(np.searchsorted(nodes, wanted).clip(0, len(nodes) - 1))
