"""Measured times of MPI calls by message size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from apps.probes.segments import Array

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
