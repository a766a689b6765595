"""Timeline figure of one iteration: when each rank computes and communicates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from apps.timelines.timeline import Activity, Timeline

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
_BINS = 720  # bins of the time axis
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
    # Imported here because they are slow to import.
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    ranks = timeline.nranks
    begin_s, end_s = timeline.span_s
    unit, scale = ("ms", 1e3) if end_s - begin_s < 1 else ("s", 1.0)
    figure = Figure(figsize=(7.6, 1.25 + min(4.6, max(0.8, 0.115 * ranks))), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(
        _image(timeline), aspect="auto", interpolation="nearest", extent=(0, scale * (end_s - begin_s), ranks, 0),
    )  # fmt: skip
    axes.set_xlabel(f"time since the first rank began, {unit}")
    axes.set_ylabel("rank")
    rank_ticks(axes, ranks)
    name_clusters(axes, clusters)
    spent_s = timeline.spent_s.sum(axis=0)
    handles = [Patch(color=COLORS[activity], label=LABELS[activity]) for activity in Activity if spent_s[activity] > 0]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8.5, frameon=False)
    return figure


def _image(timeline: Timeline) -> npt.NDArray[np.float64]:
    """Return the image, an array of rows x bins x RGBA."""
    # Imported here because it is slow to import.
    from matplotlib.colors import to_rgb

    shares = timeline.shares(_BINS)
    begin_s, end_s = timeline.span_s
    middles_s = begin_s + (np.arange(_BINS) + 0.5) * (end_s - begin_s) / _BINS
    inside = (middles_s >= timeline.begin_s[:, None]) & (middles_s <= timeline.end_s[:, None])
    colors = np.array([to_rgb(COLORS[activity]) for activity in Activity])
    alpha = shares.sum(axis=1).clip(0, 1)
    mixed = np.einsum("rab,ac->rbc", shares, colors) / np.maximum(alpha, 1e-12)[..., None]
    image = np.concatenate([mixed.clip(0, 1), (alpha * np.where(inside, 1.0, _PALE))[..., None]], axis=2)
    per_row = -(-timeline.nranks // MOST_ROWS)
    if per_row == 1:
        return image
    starts = np.arange(0, timeline.nranks, per_row)
    counts = np.diff(np.append(starts, timeline.nranks))
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
