"""Times over sizes as pieces of straight lines, whose breakpoints come from the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_LEAST_POINTS = 3  # least number of points of a line
_ON_LINES = 0.5  # share of points on exact lines below which the times are taken to be noisy
_MOST_SCATTER = 0.25  # median relative error of lines through noisy points, above which there are none


@dataclass(frozen=True)
class Piece:
    """A line time = start_s + s_per_byte * size from the data's point ``first`` to its point ``last``."""

    first: int
    last: int
    start_s: float
    s_per_byte: float

    def time_s(self, size_bytes: float) -> float:
        """Return the line's time for a size, s."""
        return self.start_s + self.s_per_byte * size_bytes


def pieces(size_bytes: np.ndarray, time_s: np.ndarray, *, tolerance: float = 3e-4) -> list[Piece]:
    """Return the lines through points in order of their sizes, each through at least three points.

    Fewer than three points that no line joins to their neighbours count as disturbed and belong to no piece.

    Args:
        size_bytes: The sizes, ascending.
        time_s: The time of each size, > 0.
        tolerance: A piece extends as long as its line meets the next point within this relative distance.
    """
    pieces_, since = [], 0
    while since < len(size_bytes):
        until = _reach(size_bytes, time_s, since, tolerance)
        if until - since >= _LEAST_POINTS:
            slope, start = np.polyfit(size_bytes[since:until], time_s[since:until], 1, w=1 / time_s[since:until])
            pieces_.append(Piece(since, until - 1, float(start), float(slope)))
        since = until
    return pieces_


def measured_pieces(size_bytes: np.ndarray, time_s: np.ndarray) -> list[Piece]:
    """Return the lines through points of a simulation or of a real machine; none if they lie on no lines.

    Times of a simulation are exact: see ``pieces``.  Those of a machine scatter: they get the lines of a calibration
    (apps/probes/segments.py), on which no byte takes less time than at the highest rate seen.

    Args:
        size_bytes: The sizes, ascending.
        time_s: The time of each size, > 0.
    """
    exact = pieces(size_bytes, time_s)
    if sum(1 + piece.last - piece.first for piece in exact) >= _ON_LINES * len(size_bytes):
        return exact
    # Imported here because it is slow to import.
    from apps.probes.segments import fitted

    curve = fitted(size_bytes, time_s, least_per_byte_s=float(np.min(time_s / size_bytes)))
    if np.median(np.abs(curve.at(size_bytes) / time_s - 1)) > _MOST_SCATTER:
        return exact
    starts = [int(np.searchsorted(size_bytes, segment.from_bytes)) for segment in curve.segments]
    ends = [*starts[1:], len(size_bytes)]
    return [
        Piece(start, end - 1, segment.base_s, segment.per_byte_s)
        for segment, start, end in zip(curve.segments, starts, ends, strict=True)
    ]


def _reach(size_bytes: np.ndarray, time_s: np.ndarray, since: int, tolerance: float) -> int:
    """Return the first point at which the line that begins at ``since`` no longer holds.

    The line goes through the first and the last point so far, because points close together determine a slope badly.
    """
    until = since + 2
    while until < len(size_bytes):
        last = until - 1
        slope = (time_s[last] - time_s[since]) / (size_bytes[last] - size_bytes[since])
        expected_s = time_s[last] + slope * (size_bytes[until] - size_bytes[last])
        if abs(expected_s - time_s[until]) > tolerance * time_s[until]:
            break
        until += 1
    return min(until, len(size_bytes))
