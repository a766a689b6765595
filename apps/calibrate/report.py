"""Validate a calibrated platform by its own measurement, repeated in SMPI, and report the calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.calibrate.model import NEVER, Model
from apps.calibrate.platform_file import Cluster
from apps.calibrate.points import Measured, near_ratios
from apps.probes.pointtopoint.measure import call_times
from apps.probes.segments import Array
from platforms.model.platform import Platform
from platforms.terminal.prose import folded_lines
from platforms.terminal.table import table_lines


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


@dataclass(frozen=True)
class Calibration:
    """A calibrated platform with the measures of its quality."""

    cluster: Cluster
    model: Model
    options: Mapping[str, str]  # SimGrid's, in the platform's <config>
    fitted: Measured
    errors: Mapping[str, CallErrors]  # by call
    files: Mapping[str, str]  # platform, data, picture: path


def as_json(calibration: Calibration) -> dict[str, Any]:
    """Return everything as JSON values, in SI units."""
    thresholds = calibration.model.thresholds
    return {
        "cluster": calibration.cluster.name,
        "calls": {call: _call_json(calibration, call) for call in calibration.fitted},
        "thresholds": {
            "async_small_bytes": _threshold(thresholds.async_bytes),
            "async_small_reason": thresholds.async_reason,
            "send_is_detached_bytes": _threshold(thresholds.detached_bytes),
            "send_is_detached_reason": thresholds.detached_reason,
        },
        "link": {"bandwidth_Bps": calibration.model.bandwidth_Bps, "latency_s": calibration.model.latency_s / 2},
        "options": dict(calibration.options),
        "files": dict(calibration.files),
    }


def _threshold(size: int) -> int | None:
    return None if size == NEVER else size


def _call_json(calibration: Calibration, call: str) -> dict[str, Any]:
    errors = calibration.errors.get(call)
    entry: dict[str, Any] = {"fitted_sizes": len(calibration.fitted[call])}
    if errors is None:
        return entry | {"held_out_sizes": 0}
    largest, size = errors.largest
    return entry | {
        "held_out_sizes": len(errors.sizes),
        "median_error": errors.median,
        "largest_error": largest,
        "largest_error_at_bytes": size,
        "interval": list(errors.interval),
        "inside_interval": errors.inside,
    }


def as_text(calibration: Calibration, *, wide: bool = False) -> str:
    """Return the summary that the command prints; ``wide``: the table is not folded."""
    rows = [("call", "fitted", "held out", "median error", "largest", "at bytes", "90 % interval", "inside")]
    for call, errors in calibration.errors.items():
        largest, size = errors.largest
        rows.append(
            (
                *(
                    call,
                    str(len(calibration.fitted[call])),
                    str(len(errors.sizes)),
                    f"{errors.median:.1%}",
                    f"{largest:.0%}",
                ),
                *(
                    str(size),
                    "{:+.0%} to {:+.0%}".format(*(end - 1 for end in errors.interval)),
                    f"{errors.inside:.0%}",
                ),
            )
        )
    return "\n".join(
        [
            *folded_lines(_description(calibration)),
            "",
            "Replay in SMPI at sizes that were not fitted, against the measured times:",
            *table_lines(rows, left={0}, wide=wide),
            *folded_lines(
                [
                    "90 % interval: of a measured time around the replayed one, median over the sizes; inside: "
                    "held-out times in theirs"
                ]
            ),
            "",
            *(f"{what}: {path}" for what, path in calibration.files.items()),
        ]
    )


def _description(calibration: Calibration) -> list[str]:
    cluster, model, thresholds = calibration.cluster, calibration.model, calibration.model.thresholds
    return [
        f"{cluster.name}: {cluster.nodes} nodes of {cluster.cores} cores of {cluster.core_flops / 1e9:g} Gflop/s",
        f"link: {model.bandwidth_Bps / 1e6:.5g} MB/s, route: {model.latency_s * 1e6:.4g} us",
        f"eager messages below {_size_text(thresholds.async_bytes)} ({thresholds.async_reason})",
        f"MPI_Send waits from {_size_text(thresholds.detached_bytes)} ({thresholds.detached_reason})",
    ]


def _size_text(size: int) -> str:
    return "any size" if size == NEVER else f"{size} bytes"
