"""Timeline figure of one iteration: when each rank computes and communicates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from apps.timelines.timeline import Activity, Timeline
from platforms.plotting.charts import legend_below, new_figure

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {Activity.COMPUTATION: "#0072B2", Activity.MESSAGES: "#E69F00", Activity.COLLECTIVES: "#CC79A7"}
LABELS = {
    Activity.COMPUTATION: "computation",
    Activity.MESSAGES: "messages and waiting for them",
    Activity.COLLECTIVES: "collectives",
}
BINS = 720  # bins of the time axis
MOST_ROWS = 240  # rows of the image; with more ranks, neighbouring ranks share a row
_PALE = 0.3  # opacity of neighbouring iterations
_MOST_CLUSTERS = 12  # clusters that are named


def gantt_figure(timeline: Timeline, clusters: Sequence[str]) -> Figure:
    """Plot time from left to right and ranks from top to bottom.

    The colour of a pixel is the mean over the activities in its time.  Neighbouring iterations are pale.

    Args:
        timeline: The recorded iteration.
        clusters: The name of each rank's cluster.
    """
    ranks = timeline.nranks
    begin_s, end_s = timeline.span_s
    unit, scale = ("ms", 1e3) if end_s - begin_s < 1 else ("s", 1.0)
    figure = new_figure(7.6, 1.25 + min(4.6, max(0.8, 0.115 * ranks)))
    axes = figure.add_subplot()
    axes.imshow(
        _image(timeline), aspect="auto", interpolation="nearest", extent=(0, scale * (end_s - begin_s), ranks, 0),
    )  # fmt: skip
    axes.set_xlabel(f"time since the first rank began, {unit}")
    axes.set_ylabel("rank")
    rank_ticks(axes, ranks)
    name_clusters(axes, clusters)
    spent_s = timeline.spent_s.sum(axis=0)
    legend_below(figure, {LABELS[kind]: {"facecolor": COLORS[kind]} for kind in Activity if spent_s[kind] > 0})
    return figure


def _image(timeline: Timeline) -> npt.NDArray[np.float64]:
    """Return the image, an array of rows x bins x RGBA."""
    begin_s, end_s = timeline.span_s
    middles_s = begin_s + (np.arange(BINS) + 0.5) * (end_s - begin_s) / BINS
    inside = (middles_s >= timeline.begin_s[:, None]) & (middles_s <= timeline.end_s[:, None])
    return painted(timeline.shares(BINS), [COLORS[kind] for kind in Activity], np.where(inside, 1.0, _PALE))


def painted(
    shares: npt.NDArray[np.float64], colors: Sequence[str], opacity: npt.NDArray[np.float64] | float = 1.0
) -> npt.NDArray[np.float64]:
    """Return an image of at most MOST_ROWS rows x bins x RGBA, whose pixels are means over what happens in them.

    Args:
        shares: Share of each kind of activity in each bin: ranks x kinds x bins.
        colors: A colour for each kind.
        opacity: Opacity of the pixels, ranks x bins.
    """
    # Imported here because it is slow to import.
    from matplotlib.colors import to_rgb

    alpha = shares.sum(axis=1).clip(0, 1)
    mixed = np.einsum("rab,ac->rbc", shares, np.array(list(map(to_rgb, colors)))) / np.maximum(alpha, 1e-12)[..., None]
    image = np.concatenate([mixed.clip(0, 1), (alpha * opacity)[..., None]], axis=2)
    starts = np.arange(0, len(image), -(-len(image) // MOST_ROWS))
    counts = np.diff(np.append(starts, len(image)))
    means: npt.NDArray[np.float64] = np.add.reduceat(image, starts, axis=0) / counts[:, None, None]
    return means


def rank_ticks(axes: Axes, ranks: int) -> None:
    """Write the numbers of at most 16 ranks beside the rows, each of height 1."""
    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096) if ranks / step <= 16)
    shown = range(0, ranks, step)
    axes.set_yticks([rank + 0.5 for rank in shown], [str(rank) for rank in shown], fontsize=8)


def name_clusters(axes: Axes, clusters: Sequence[str]) -> None:
    """Write the names of the clusters at the right edge, if the ranks of a cluster are neighbours."""
    groups = [(name, len(list(members))) for name, members in groupby(clusters)]
    if not 1 < len(groups) <= _MOST_CLUSTERS:
        return
    ticks, start = [], 0
    for name, count in groups:
        ticks.append((start + count / 2, name))
        start += count
        if start < len(clusters):
            axes.axhline(start, color="black", linewidth=0.8)
    right = axes.secondary_yaxis("right")
    right.set_yticks([at for at, _ in ticks], [name for _, name in ticks], fontsize=8, parse_math=False)
    right.tick_params(length=0)
