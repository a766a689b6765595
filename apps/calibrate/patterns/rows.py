"""Measured and replayed times of patterns: calls that several nodes make at once, with one rank each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.calibrate.readers import MOST_BYTES
from apps.probes.patterns.measure import PATTERNS, Call, pattern_times
from platforms.errors import UserError, nearest
from platforms.files.commented_csv import checked_rows
from platforms.model.platform import Platform

COLUMNS = ("pattern", "size_bytes", "active_ranks", "time_median_s")
FITTED = ("send", "sendrecv_same", "sendrecv_diff")  # an all-to-all only judges
MOST_RANKS = 1024
_RANGE = ("time_p10_s", "time_p90_s")  # optional columns
_FEWEST = {"send": 2, "sendrecv_same": 2, "sendrecv_diff": 3, "alltoall": 2}  # ranks


@dataclass(frozen=True)
class PatternTime:
    """A measured call."""

    call: Call
    time_s: float  # median
    low_s: float | None  # 10th percentile
    high_s: float | None  # 90th percentile


def read_rows(paths: Sequence[str], cluster: str) -> list[PatternTime]:
    """Return the measured patterns of one cluster, in the order of the files.

    Args:
        paths: CSV files with the columns of COLUMNS and maybe cluster, time_p10_s, time_p90_s; others are left out.
        cluster: Name of the cluster; rows that name another one are left out.

    Raises:
        UserError: A file cannot be read, a line is wrong, the cluster is not in the files, or has no send.
    """
    named_rows = [named for path in paths for named in _rows(path)]
    clusters = dict.fromkeys(name for name, _ in named_rows if name is not None)
    where = ", ".join(paths)
    if clusters and cluster not in clusters:
        raise UserError(f"--cluster {cluster}", f"not in {where}", nearest(cluster, clusters))
    rows = [row for name, row in named_rows if name in (None, cluster)]
    if not any(row.call.pattern == "send" for row in rows):
        raise UserError(where, "no times of the pattern send", "Give them too: they show the rate of a link")
    return rows


def _rows(path: str) -> list[tuple[str | None, PatternTime]]:
    rows = checked_rows(path, COLUMNS, "Give a CSV file of measured patterns")
    return [((row.get("cluster") or "").strip() or None, _row(f"{path}:{line}", row)) for line, row in rows]


def _row(where: str, row: dict[str, str]) -> PatternTime:
    pattern = (row["pattern"] or "").strip()
    if pattern not in PATTERNS:
        raise UserError(where, f"no pattern {pattern!r}", nearest(pattern, PATTERNS))
    ranks = _whole(where, "active_ranks", row["active_ranks"], _FEWEST[pattern], MOST_RANKS)
    if pattern in ("send", "sendrecv_same") and ranks % 2:
        raise UserError(where, f"{ranks} ranks of {pattern}", "Give an even number: they form pairs")
    size = _whole(where, "size_bytes", row["size_bytes"], 1, MOST_BYTES)
    low_s, high_s = (_seconds(where, name, row[name]) if row.get(name) else None for name in _RANGE)
    return PatternTime(
        Call(pattern, ranks, size), _seconds(where, "time_median_s", row["time_median_s"]), low_s, high_s
    )


def _whole(where: str, name: str, text: str | None, least: int, most: int) -> int:
    try:
        value = int(text or "")
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise UserError(where, f"{name} is {text!r}", f"Give a whole number from {least} to {most}")
    return value


def _seconds(where: str, name: str, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not 1e-12 < value < 1e6:
        raise UserError(where, f"{name} is {text!r}", "Give a positive number of seconds")
    return value


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
