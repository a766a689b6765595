"""Validate a platform by its patterns: repeat the measured calls in SMPI and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.calibrate.patterns.rows import PatternTime
from apps.probes.patterns.measure import pattern_times
from platforms.model.platform import Platform


@dataclass(frozen=True)
class Replayed:
    """A measured call and its replay."""

    row: PatternTime
    fitted: bool
    replayed_s: float

    @property
    def error(self) -> float:
        """Replayed minus measured time, relative to the measured time."""
        return self.replayed_s / self.row.time_s - 1


def replayed(platform: Platform, rows: Sequence[PatternTime], fit: Sequence[PatternTime]) -> list[Replayed]:
    """Repeat the measured calls on the first hosts of a platform, which has as many as the calls need.

    Raises:
        SimulationError: The simulation does not succeed.
    """
    hosts = [host.name for host in platform.hosts[: max(row.call.ranks for row in rows)]]
    times_s = pattern_times(platform, hosts, [row.call for row in rows])
    return [Replayed(row, row in fit, time_s) for row, time_s in zip(rows, times_s, strict=True)]


def median_error(replays: Sequence[Replayed]) -> float:
    """Return the median absolute error."""
    return float(np.median([abs(replay.error) for replay in replays]))
