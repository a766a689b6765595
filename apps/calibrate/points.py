"""Measured times of MPI calls by message size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from apps.probes.segments import Array
from platforms.model.platform import Platform

CALLS = ("send", "isend", "recv", "pingpong")


@dataclass(frozen=True)
class Points:
    """Times of one call, with one value per size: the median of its repeats.

    ``pingpong`` is a round trip; ``recv`` receives a message that has already arrived.
    """

    sizes: Array  # bytes, ascending, whole numbers, >= 0
    times_s: Array  # > 0

    def __len__(self) -> int:
        return len(self.sizes)

    def only(self, chosen: Array) -> Points:
        """Return the points whose sizes are among the chosen ones."""
        kept = np.isin(self.sizes, chosen)
        return Points(self.sizes[kept], self.times_s[kept])


Measured = Mapping[str, Points]  # by call, of CALLS


def points_of(values: Iterable[tuple[int, float]]) -> Points:
    """Return the points from (size, time in s), in any order and with repeats."""
    ordered = sorted(values)
    medians = {
        size: float(np.median([time_s for _, time_s in same])) for size, same in groupby(ordered, lambda v: v[0])
    }
    return Points(np.array(list(medians), dtype=float), np.array(list(medians.values())))


def held_out_sizes(measured: Measured, every: int) -> Array:
    """Return the sizes held out to validate the fit: every n-th one, never the smallest or the largest."""
    sizes = np.unique(np.concatenate([points.sizes for points in measured.values()]))
    return sizes[1:-1][every // 2 :: every]


def fitted_and_held_out(measured: Measured, held_out: Array) -> tuple[dict[str, Points], dict[str, Points]]:
    """Return the points to fit and the points for validation."""
    fit = {call: points.only(np.setdiff1d(points.sizes, held_out)) for call, points in measured.items()}
    return fit, {call: points.only(held_out) for call, points in measured.items()}


# Interval around the message times of the fitted platform that contains 90 % of new measurements.
#
# The ratios measured / modelled of the 19 nearest sizes define 20 gaps between and outside them; the ratio of a new
# size is equally likely to lie in each, if the sizes are exchangeable.  The range of the 19 thus contains it in 18 of
# 20 cases (distribution-free prediction intervals: V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random
# World", 2005).

NEAREST = 19
PROPERTY = "message_error"  # of the outermost zone: bounds of the ratio for 90 % of all sizes, LOW:HIGH
_ENDS = (0.05, 0.95)
_FEWEST = 10  # ratios needed for such bounds
_WRITTEN = re.compile(rf'<prop id="{PROPERTY}" value="([0-9.e+-]+):([0-9.e+-]+)"'.encode())


def near_ratios(sizes: Array, ratios: Array, asked: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest ratio of the NEAREST sizes around each given size, by their logarithms."""
    apart = np.abs(np.log1p(sizes)[None, :] - np.log1p(asked)[:, None])
    near = ratios[np.argsort(apart, axis=1, kind="stable")[:, :NEAREST]]
    return near.min(axis=1), near.max(axis=1)


def ends(ratios: Array) -> tuple[float, float] | None:
    """Return bounds that contain 90 % of similar ratios; None: there are too few of them."""
    if len(ratios) < _FEWEST:
        return None
    ordered, more = np.sort(ratios), len(ratios) + 1
    low, high = max(1, int(_ENDS[0] * more)), min(len(ratios), int(np.ceil(_ENDS[1] * more)))
    return float(ordered[low - 1]), float(ordered[high - 1])


def property_of(found: tuple[float, float] | None) -> dict[str, str]:
    """Return the property of the platform's outermost zone; empty if the bounds are not known."""
    return {} if found is None else {PROPERTY: f"{found[0]:.4g}:{found[1]:.4g}"}


def message_error(platform: Platform) -> tuple[float, float] | None:
    """Return the bounds in the platform file; None: it has none."""
    content = (platform.kept or platform.path).read_bytes()
    match = _WRITTEN.search(content)
    return None if match is None else (float(match[1]), float(match[2]))
