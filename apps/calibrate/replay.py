"""Validate a calibrated platform: repeat its measurement in SMPI and compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from apps.calibrate.model import Model
from apps.calibrate.points import Measured, near_ratios
from apps.probes.pointtopoint.measure import call_times
from apps.probes.segments import Array
from platforms.model.platform import Platform


@dataclass(frozen=True)
class CallErrors:
    """Relative errors of a call's replay at sizes that were not fitted."""

    sizes: Array  # bytes
    measured_s: Array
    replayed_s: Array
    low_s: Array  # bounds of the interval that contains 90 % of measured times
    high_s: Array

    @property
    def errors(self) -> Array:
        """Replayed minus measured time, relative to the measured time."""
        return self.replayed_s / self.measured_s - 1

    @property
    def median(self) -> float:
        """Median absolute error."""
        return float(np.median(np.abs(self.errors)))

    @property
    def largest(self) -> tuple[float, int]:
        """The largest absolute error, and its size in bytes."""
        place = int(np.argmax(np.abs(self.errors)))
        return float(np.abs(self.errors[place])), int(self.sizes[place])

    @property
    def interval(self) -> tuple[float, float]:
        """Medians, over the sizes, of the bounds of the interval, relative to the replayed time."""
        return float(np.median(self.low_s / self.replayed_s)), float(np.median(self.high_s / self.replayed_s))

    @property
    def inside(self) -> float:
        """Share of the sizes whose measured time lies in the interval."""
        return float(np.mean((self.low_s <= self.measured_s) & (self.measured_s <= self.high_s)))


def replayed(platform: Platform, model: Model, fitted: Measured, held_out: Measured) -> Mapping[str, CallErrors]:
    """Repeat the measured calls between the first two hosts of a platform, at the sizes held out.

    Their intervals come from the errors of the model at the fitted sizes.

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
            near = fitted[call]
            ratios = near.times_s / model.predicted(call, near.sizes)
            low, high = near_ratios(near.sizes, ratios, points.sizes)
            errors[call] = CallErrors(points.sizes, points.times_s, replayed_s, low * replayed_s, high * replayed_s)
    return errors
