"""Curves of times against sizes: pieces of straight lines, none of which falls, fitted to noisy points.

Errors are relative: lines are fitted to the logarithms of the times.  The number of pieces is the smallest whose error
on left-out points is within one standard error of the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

MOST_SEGMENTS = 12
FEWEST_POINTS = 4  # in a segment
_FOLDS = 5
_WINDOW = 5  # points of the running median, which identifies outliers
_OUTLIER = 3.0  # standard deviations from the running median beyond which a point is an outlier
_GOOD_ENOUGH = 0.005  # mean relative error that needs no further segments
_SLACK = 0.1  # relative improvement needed for more segments
_L1_SCALE = 0.02  # larger relative errors count linearly, as for a median
MOST_SIMPLIFIED = 0.03  # relative error of a simplified curve
_SAMPLES = 9  # sizes at which a smooth function is sampled in each part
_MOST_PLACES = 300  # points between which a curve may break; of more, evenly spread ones are taken


@dataclass(frozen=True)
class Segment:
    """A straight line for sizes from ``from_bytes`` on, up to the next segment."""

    from_bytes: int
    base_s: float  # >= 0
    per_byte_s: float  # >= 0

    def at(self, sizes: Array) -> Array:
        """Return the times of these sizes, s."""
        return self.base_s + self.per_byte_s * sizes


@dataclass(frozen=True)
class Curve:
    """Segments in the order of their sizes; the first begins at 0."""

    segments: tuple[Segment, ...]

    def at(self, sizes: Sequence[int] | Array) -> Array:
        """Return the times of these sizes, s."""
        asked = np.asarray(sizes, dtype=float)
        starts = [segment.from_bytes for segment in self.segments]
        place = np.maximum(0, np.searchsorted(starts, asked, side="right") - 1)
        base_s = np.array([segment.base_s for segment in self.segments])[place]
        return np.asarray(base_s + np.array([segment.per_byte_s for segment in self.segments])[place] * asked)

    def jumps(self) -> list[tuple[int, float]]:
        """Return the sizes at which segments begin, and the factor by which the time changes there."""
        bounds = []
        for before, after in pairwise(self.segments):
            start = np.array([float(after.from_bytes)])
            bounds.append((after.from_bytes, float((after.at(start) / np.maximum(before.at(start), 1e-300))[0])))
        return bounds


def fitted(sizes: Sequence[int] | Array, times_s: Sequence[float] | Array, *, least_per_byte_s: float = 0.0) -> Curve:
    """Return the curve through these points.

    Args:
        sizes: Ascending, in bytes; at least one.
        times_s: Positive.
        least_per_byte_s: Slope that no segment goes below.
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(times_s, dtype=float)
    smooth, kept = _tamed(y)
    count = _segments_needed(x, kept, smooth, least_per_byte_s)
    ends = _best_ends(x, kept, smooth, count, least_per_byte_s)[count]
    segments, first = [], 0
    for end in ends:
        base_s, per_byte_s = _line(x[first:end], y[first:end], least_per_byte_s)
        segments.append(Segment(_between(x[first - 1], x[first]) if first else 0, base_s, per_byte_s))
        first = end
    return Curve(tuple(segments))


def simplified(
    curve_at: Callable[[Array], Array], starts: Sequence[int], end: int, *, least_per_byte_s: float
) -> Curve:
    """Return a curve with the fewest segments that stay within MOST_SIMPLIFIED of a smooth function.

    Args:
        curve_at: The function: times in s of sizes in bytes.
        starts: Ascending sizes, between which the function is nearly straight; the first is the first segment's.
        end: The size that ends the last segment.
        least_per_byte_s: Slope that no segment goes below.
    """
    samples = [_samples(start, stop) for start, stop in zip(starts, [*starts[1:], end], strict=True)]
    pieces = [(start, x, curve_at(x)) for start, x in zip(starts, samples, strict=True)]
    while len(pieces) > 1:
        merged = [
            (left[0], np.concatenate([left[1], right[1]]), np.concatenate([left[2], right[2]]))
            for left, right in pairwise(pieces)
        ]
        errors = [_largest_error(x, y, least_per_byte_s) for _, x, y in merged]
        place = int(np.argmin(errors))
        if errors[place] > MOST_SIMPLIFIED:
            break
        pieces[place : place + 2] = [merged[place]]
    return Curve(tuple(Segment(start, *_smooth_line(x, y, least_per_byte_s)) for start, x, y in pieces))


def _samples(start: int, stop: int) -> Array:
    """Return sizes from a start up to an end, evenly spread in their logarithms."""
    return np.unique(np.geomspace(max(start, 1), max(stop - 1, start, 1), _SAMPLES).round())


def _smooth_line(x: Array, y: Array, least_per_byte_s: float) -> tuple[float, float]:
    positive = np.maximum(y, 1e-15)
    return _weighted_line(x, positive, positive, least_per_byte_s)


def _largest_error(x: Array, y: Array, least_per_byte_s: float) -> float:
    """Return the largest relative error of the line through the points."""
    base, slope = _smooth_line(x, y, least_per_byte_s)
    return float(np.max(np.abs((base + slope * x) / np.maximum(y, 1e-15) - 1)))


def _between(below: float, above: float) -> int:
    """Return the size at which a segment begins, between the last point before it and its own first."""
    return int(min(above, max(below + 1, round((max(below, 1.0) * above) ** 0.5))))


def _tamed(y: Array) -> tuple[Array, Array]:
    """Return the running median, and the points with outliers moved to the edge of the usual range around it."""
    logs = np.log(y)
    padded = np.pad(logs, _WINDOW // 2, mode="edge")
    middle = np.median(np.lib.stride_tricks.sliding_window_view(padded, _WINDOW), axis=1)
    away = logs - middle
    edge = max(0.02, _OUTLIER * 1.4826 * float(np.median(np.abs(away))))
    return np.exp(middle), np.exp(middle + np.clip(away, -edge, edge))


def _segments_needed(x: Array, y: Array, smooth: Array, least_per_byte_s: float) -> int:
    """Return the smallest number of segments whose error on left-out points is not worse than the best."""
    most = min(MOST_SEGMENTS, max(1, len(x) // FEWEST_POINTS - 1))
    if most == 1 or len(x) < 2 * _FOLDS:
        return 1
    errors: list[Array] = []  # by fold: of every left-out point, by number of segments
    for fold in range(_FOLDS):
        left_out = np.arange(len(x)) % _FOLDS == fold
        ends = _best_ends(x[~left_out], y[~left_out], smooth[~left_out], most, least_per_byte_s)
        rows = [
            _predicted(x[~left_out], y[~left_out], smooth[~left_out], ends[k], x[left_out], least_per_byte_s)
            for k in range(1, len(ends))
        ]
        errors.append(np.abs(np.log(np.array(rows) / y[left_out])))
    fewest = min(len(error) for error in errors)
    table = np.concatenate([error[:fewest] for error in errors], axis=1)
    means = table.mean(axis=1)
    best = int(np.argmin(means))
    for k in range(best):
        extra = table[k] - table[best]  # both numbers of segments see the same points
        slack = max(_SLACK * means[best], _GOOD_ENOUGH - means[best], extra.std() / len(extra) ** 0.5)
        if extra.mean() <= slack:
            return k + 1
    return best + 1


def _predicted(x: Array, y: Array, smooth: Array, ends: Sequence[int], asked: Array, least_per_byte_s: float) -> Array:
    """Return the times of sizes by lines through the points of each segment."""
    first, starts, lines = 0, [], []
    for end in ends:
        starts.append(_between(x[first - 1], x[first]) if first else 0)
        lines.append(_weighted_line(x[first:end], y[first:end], smooth[first:end], least_per_byte_s))
        first = end
    place = np.maximum(0, np.searchsorted(starts, asked, side="right") - 1)
    base, slope = np.array(lines)[place].T
    return np.asarray(np.maximum(base + slope * asked, 1e-300))


def _weighted_line(x: Array, y: Array, smooth: Array, least_per_byte_s: float) -> tuple[float, float]:
    base, slope, _ = _lines_from(x, y, smooth, least_per_byte_s)
    return float(base[-1]), float(slope[-1])


def _lines_from(x: Array, y: Array, smooth: Array, least_per_byte_s: float) -> tuple[Array, Array, Array]:
    """Fit a line to the first 1, 2, ... points by least squares of relative errors; return bases, slopes and costs."""
    w = smooth**-2
    sw, sx, sy = np.cumsum(w), np.cumsum(w * x), np.cumsum(w * y)
    sxx, sxy, syy = np.cumsum(w * x * x), np.cumsum(w * x * y), np.cumsum(w * y * y)
    determinant = sw * sxx - sx * sx
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(determinant > 1e-12 * sw * sxx, (sw * sxy - sx * sy) / determinant, 0.0)
    slope = np.maximum(slope, least_per_byte_s)
    base = (sy - slope * sx) / sw
    through_zero = base < 0
    base = np.where(through_zero, 0.0, base)
    slope = np.where(through_zero, np.maximum(sxy / np.maximum(sxx, 1e-300), least_per_byte_s), slope)
    cost = syy + base * base * sw + slope * slope * sxx - 2 * base * sy - 2 * slope * sxy + 2 * base * slope * sx
    return base, slope, np.maximum(cost, 0.0)


def _best_ends(x: Array, y: Array, smooth: Array, most: int, least_per_byte_s: float) -> list[list[int]]:
    """Return, by number of segments (0: none), the ends of the segments that fit best: dynamic programming."""
    n = len(x)
    places = np.arange(n + 1)
    if n > _MOST_PLACES:
        places = np.unique(np.linspace(0, n, _MOST_PLACES + 1).round().astype(int))
    cost = np.full((len(places), len(places)), np.inf)
    for i, start in enumerate(places[:-1]):
        costs = _lines_from(x[start:], y[start:], smooth[start:], least_per_byte_s)[2]
        later = places[i + 1 :]
        enough = (later - start >= FEWEST_POINTS) | ((start == 0) & (later == n))
        cost[i, i + 1 :] = np.where(enough, costs[later - start - 1], np.inf)
    best, chosen = cost[0], [np.zeros(len(places), dtype=int)]
    ends = [[], [n]]
    for _ in range(2, most + 1):
        sums = best[:, None] + cost
        chosen.append(np.argmin(sums, axis=0))
        best = np.min(sums, axis=0)
        if not np.isfinite(best[-1]):
            break
        back, place = [], len(places) - 1
        for before in reversed(chosen):
            back.append(int(places[place]))
            place = int(before[place])
        ends.append(back[::-1])
    return ends


def _line(x: Array, y: Array, least_per_byte_s: float) -> tuple[float, float]:
    """Return base and slope of the line whose logarithm is nearest to the points', most of them at least."""
    smooth, kept = _tamed(y)
    base, slope = _weighted_line(x, kept, smooth, least_per_byte_s)
    scale_s, scale_bytes = float(np.median(y)), float(np.median(x)) or 1.0
    floor = least_per_byte_s * scale_bytes / scale_s
    start = [base / scale_s, slope * scale_bytes / scale_s - floor]

    def errors(parameters: Array) -> Array:
        line = parameters[0] + (parameters[1] + floor) * x / scale_bytes
        return np.asarray(np.log(np.maximum(line, 1e-12)) - np.log(y / scale_s))

    # Imported here because it is slow to import.
    from scipy.optimize import least_squares

    done = least_squares(
        errors, np.maximum(start, 1e-9), bounds=(0.0, np.inf), loss="soft_l1", f_scale=_L1_SCALE, x_scale=1.0
    )
    return float(done.x[0] * scale_s), float((done.x[1] + floor) * scale_s / scale_bytes)
