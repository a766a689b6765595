"""Gantt charts: what each of many processes does over time, and a path across them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.plotting.charts import Axes, Figure, legend_below, new_figure

if TYPE_CHECKING:
    import numpy.typing as npt

BINS = 720  # of the time axis
MOST_ROWS = 240  # rows of the image; with more processes, neighbours share a row
_MOST_LABELS = 16  # processes that are labelled
_MOST_CLUSTERS = 12  # clusters that are named
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_PATH: dict[str, Any] = {"color": "black", "linewidth": 1.6}  # a page gives it the colour of its text


@dataclass(frozen=True)
class Kind:
    """An activity of processes."""

    label: str
    color: str
    alpha: float = 1.0  # opacity


def gantt_figure(
    shares: npt.NDArray[np.float64], kinds: Sequence[Kind], time_s: float, clusters: Sequence[str], *,
    x: str, names: Sequence[str] = (), title: str = "", opacity: npt.NDArray[np.float64] | float = 1.0,
    path: npt.NDArray[np.float64] | None = None,
) -> Figure:  # fmt: skip
    """Return a chart with time from left to right and ranks from top to bottom.

    The colour of a pixel is the mean over what its ranks do in its time.

    Args:
        shares: Share of each kind in each bin of the time: ranks x kinds x bins.
        kinds: The kinds; those that never occur are not in the legend.
        time_s: The whole time.
        clusters: The name of each rank's cluster.
        x: What the time is, without a unit.
        names: Labels of the ranks; empty: their numbers.
        title: Title above the chart.
        opacity: Opacity of what happens, ranks x bins.
        path: The rank of the critical path in the middle of each bin; between two ranks where a message is in flight.
    """
    ranks, bins = len(shares), shares.shape[2]
    unit_s, unit = next(
        ((unit_s, unit) for unit_s, unit in ((1.0, "s"), (1e-3, "ms")) if time_s >= unit_s), (1e-6, "µs")
    )
    figure = new_figure(7.6, 1.25 + min(4.6, max(0.8, (0.2 if names else 0.115) * ranks)), title)
    axes = figure.add_subplot()
    image = _painted(shares * np.array([kind.alpha for kind in kinds])[None, :, None], kinds, opacity)
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=(0, time_s / unit_s, ranks, 0))
    if path is not None:
        at = (np.arange(bins) + 0.5) * time_s / unit_s / bins
        axes.plot(at, path + 0.5, solid_capstyle="round", **_PATH)
        axes.set(xlim=(0, time_s / unit_s), ylim=(ranks, 0))
    axes.set(xlabel=f"{x}, {unit}", ylabel="rank")
    shown = range(0, ranks, next(2**power for power in range(40) if ranks / 2**power <= _MOST_LABELS))
    labels = [names[rank] if names else str(rank) for rank in shown]
    axes.set_yticks([rank + 0.5 for rank in shown], labels, fontsize=8, parse_math=False)
    _name_clusters(axes, clusters)
    occurs = shares.sum(axis=(0, 2)) > 0
    keys: dict[str, dict[str, Any]] = {
        kind.label: {"facecolor": kind.color, "alpha": kind.alpha}
        for kind, seen in zip(kinds, occurs, strict=True)
        if seen
    }
    legend_below(figure, keys if path is None else {**keys, "critical path": _PATH})
    return figure


def _painted(
    shares: npt.NDArray[np.float64], kinds: Sequence[Kind], opacity: npt.NDArray[np.float64] | float
) -> npt.NDArray[np.float64]:
    """Return an image of at most MOST_ROWS rows x bins x RGBA, whose pixels are means over what happens in them."""
    # Imported here because it is slow to import.
    from matplotlib.colors import to_rgb

    alpha = shares.sum(axis=1).clip(0, 1)
    colors = np.array([to_rgb(kind.color) for kind in kinds])
    mixed = np.einsum("rab,ac->rbc", shares, colors) / np.maximum(alpha, 1e-12)[..., None]
    image = np.concatenate([mixed.clip(0, 1), (alpha * opacity)[..., None]], axis=2)
    starts = np.arange(0, len(image), -(-len(image) // MOST_ROWS))
    counts = np.diff(np.append(starts, len(image)))
    means: npt.NDArray[np.float64] = np.add.reduceat(image, starts, axis=0) / counts[:, None, None]
    return means


def _name_clusters(axes: Axes, clusters: Sequence[str]) -> None:
    """Write the names of the clusters at the right edge, if the ranks of a cluster are neighbours."""
    groups = [(name, len(list(members))) for name, members in groupby(clusters)]
    if not 1 < len(groups) <= _MOST_CLUSTERS:
        return
    ends = np.cumsum([count for _, count in groups])
    for end in ends[:-1]:
        axes.axhline(end, color="black", linewidth=0.8)
    right = axes.secondary_yaxis("right")
    middles = [end - count / 2 for end, (_, count) in zip(ends, groups, strict=True)]
    right.set_yticks(middles, [name for name, _ in groups], fontsize=8, parse_math=False)
    right.tick_params(length=0)
