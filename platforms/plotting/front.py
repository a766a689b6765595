"""Pareto fronts: points, the steps that join those on the front, and labels without overlaps."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

_DISTANCES_PT = (7, 16, 28, 42, 60, 80, 105, 130)
_DIRECTIONS = np.deg2rad([30, -30, 150, -150, 90, -90, 0, 180, 60, -60, 120, -120])
_MARKER_PT = 5  # half width of a marker
_GAP_PT = 1  # around a label
_FARTHER = 1e-3  # penalty per point of distance, in units of the label's area
_FRONT, _REST, _LINE = "#0072B2", "#D55E00", "0.35"  # colours of Okabe and Ito for colour-blind readers


def draw_front(axes: Axes, points: Sequence[tuple[float, float, bool, str]], nothing: str) -> None:
    """Draw points as (x, y, on the front, name): filled circles on the front, hollow squares elsewhere.

    Args:
        axes: Where to draw; ``place_labels`` then moves the names apart.
        points: The points; those without a name get no label.
        nothing: What is never below and left of the front, for the legend.
    """
    front = sorted((x, -y) for x, y, on_front, _ in points if on_front)
    steps = [(x, -y) for x, y in front]
    corners = [*steps[:1], *(point for a, b in pairwise(steps) for point in ((b[0], a[1]), b))]
    drawn: tuple[tuple[list[tuple[float, float]], str, dict[str, Any]], ...] = (
        (corners, ":", {"linewidth": 1, "zorder": 1, "label": f"{nothing} is below and left of this line"}),
        (steps, "o", {"markersize": 7, "zorder": 3, "label": "on the Pareto front"}),
    )
    for values, style, look in drawn:
        axes.plot([x for x, _ in values], [y for _, y in values], style, color=_FRONT, **look)
    rest = [(x, y) for x, y, on_front, _ in points if not on_front]
    if rest:
        axes.plot(
            [x for x, _ in rest], [y for _, y in rest], "s", markerfacecolor="none", markeredgecolor=_REST,
            markeredgewidth=1.3, markersize=6, label="dominated",
        )  # fmt: skip
    for x, y, _, name in points:
        if name:
            label = axes.annotate(
                name, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=8, parse_math=False,
                arrowprops={"arrowstyle": "-", "color": _LINE, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 4},
            )  # fmt: skip
            label.set_in_layout(False)
    axes.margins(0.16, 0.12)


def place_labels(axes: Axes, markers: Sequence[tuple[float, float]] = ()) -> None:
    """Move the annotations of a drawn axes so that they do not overlap.

    ``markers`` are the points of the axes; they need no annotations.

    Starting from the topmost, each annotation moves to the nearest place to its point that is inside the axes and
    covers neither points nor labels already placed; if there is none, to the place that covers least.
    """
    # Imported here because it is slow to import.
    from matplotlib.text import Annotation, Text

    labels = sorted((text for text in axes.texts if isinstance(text, Annotation)), key=lambda label: -label.xy[1])
    if not labels:
        return
    pixels = axes.figure.dpi / 72
    frame = np.array(axes.get_window_extent().extents)
    points = axes.transData.transform([label.xy for label in labels])
    half = _MARKER_PT * pixels
    every = axes.transData.transform(list(dict.fromkeys((*(label.xy for label in labels), *markers))))
    taken = [np.array([x - half, y - half, x + half, y + half]) for x, y in every]
    for label, (x, y) in zip(labels, points, strict=True):
        extent = Text.get_window_extent(label)  # extent of the text, without the line to the point
        size = np.array([extent.width, extent.height]) + 2 * _GAP_PT * pixels
        others = taken[: len(every)]  # markers
        boxes = [(distance, _box((x, y), size, distance * pixels, angle)) for distance, angle in _places()]
        _, box = min(
            boxes,
            key=lambda candidate: (
                _covered(candidate[1], taken, frame) + _crossed((x, y), candidate[1], others) + _FARTHER * candidate[0]
            ),
        )
        taken.append(box)
        label.set_horizontalalignment("left")
        label.set_verticalalignment("bottom")
        label.set_position((box[:2] - (x, y)) / pixels + _GAP_PT)


def _places() -> list[tuple[float, float]]:
    return [(distance, angle) for distance in _DISTANCES_PT for angle in _DIRECTIONS]


def _box(
    point: tuple[float, float], size: npt.NDArray[np.float64], distance: float, angle: float
) -> npt.NDArray[np.float64]:
    """Return left, bottom, right and top of a label whose nearest edge or corner has this distance from the point."""
    towards = np.array([np.cos(angle), np.sin(angle)])
    corner = np.array(point) + distance * towards
    low = corner - size * (1 - np.where(abs(towards) < 0.1, 0, np.sign(towards))) / 2
    return np.concatenate([low, low + size])


def _covered(
    box: npt.NDArray[np.float64], taken: list[npt.NDArray[np.float64]], frame: npt.NDArray[np.float64]
) -> float:
    """Return the share of a box that covers other boxes or is outside the frame."""
    area = (box[2] - box[0]) * (box[3] - box[1])
    return float((sum(_overlap(box, other) for other in taken) + area - _overlap(box, frame)) / area)


def _crossed(point: tuple[float, float], box: npt.NDArray[np.float64], markers: list[npt.NDArray[np.float64]]) -> float:
    """Return how many markers of other points the line from the point to the box crosses."""
    start = np.array(point)
    end = np.clip(start, box[:2], box[2:])
    line = start + np.linspace(0, 1, 12)[:, None] * (end - start)
    inside = [((line >= m[:2]) & (line <= m[2:])).all(axis=1).any() for m in markers if not _holds(m, start)]
    return float(sum(inside))


def _holds(box: npt.NDArray[np.float64], point: npt.NDArray[np.float64]) -> bool:
    return bool((point >= box[:2]).all() and (point <= box[2:]).all())


def _overlap(box: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    width, height = np.minimum(box[2:], other[2:]) - np.maximum(box[:2], other[:2])
    return max(float(width), 0.0) * max(float(height), 0.0)
