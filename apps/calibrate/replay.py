"""Judge a calibrated platform: repeat its measurement in SMPI and compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from apps.calibrate.points import Measured, Points
from apps.probes.pointtopoint.measure import call_times
from apps.probes.segments import Array
from platforms.model.platform import Platform

_NEIGHBOURS = 10  # sizes whose measured times make the spread at a size between them


@dataclass(frozen=True)
class CallErrors:
    """Relative errors of a call's replay at sizes that were not fitted."""

    sizes: Array  # bytes
    measured_s: Array
    replayed_s: Array
    low_s: Array  # smallest time measured at the sizes nearest by
    high_s: Array  # largest

    @property
    def errors(self) -> Array:
        """Replayed less measured time, over the measured time."""
        return self.replayed_s / self.measured_s - 1

    @property
    def median(self) -> float:
        """Median of the errors without sign."""
        return float(np.median(np.abs(self.errors)))

    @property
    def largest(self) -> tuple[float, int]:
        """The largest error without sign, and its size in bytes."""
        place = int(np.argmax(np.abs(self.errors)))
        return float(np.abs(self.errors[place])), int(self.sizes[place])

    @property
    def spread(self) -> float:
        """Median, over the sizes, of half the range of times measured nearby, relative to the middle of the range."""
        return float(np.median((self.high_s - self.low_s) / (self.high_s + self.low_s)))

    @property
    def within_spread(self) -> float:
        """Share of the sizes at which the replayed time lies in the range of times measured nearby."""
        return float(np.mean((self.low_s <= self.replayed_s) & (self.replayed_s <= self.high_s)))


def replayed(platform: Platform, measured: Measured, held_out: Measured) -> Mapping[str, CallErrors]:
    """Repeat the measured calls between the first two hosts of a platform, at the sizes held out.

    Raises:
        SimulationError: The simulation does not succeed.
    """
    hosts = (platform.hosts[0].name, platform.hosts[1].name)
    sizes = np.unique(np.concatenate([points.sizes for points in held_out.values()])).astype(int)
    times_s = call_times(platform, hosts, sizes.tolist())
    errors = {}
    for call, points in held_out.items():
        if len(points):
            replayed_s = np.array(times_s[call])[np.searchsorted(sizes, points.sizes)]
            errors[call] = CallErrors(points.sizes, points.times_s, replayed_s, *_range_nearby(measured[call], points))
    return errors


def _range_nearby(measured: Points, asked: Points) -> tuple[Array, Array]:
    """Return the smallest and largest time measured at the sizes nearest to each asked one, half of them smaller."""
    places = np.searchsorted(measured.sizes, asked.sizes)
    windows = [measured.times_s[max(0, p - _NEIGHBOURS // 2) : p + _NEIGHBOURS // 2 + 1] for p in places]
    return np.array([window.min() for window in windows]), np.array([window.max() for window in windows])
