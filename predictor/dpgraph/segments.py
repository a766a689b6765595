"""Where a line fails: times over sizes, as pieces of straight lines whose breakpoints come from the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_LEAST_POINTS = 3  # that make a line


@dataclass(frozen=True)
class Piece:
    """time = start_s + s_per_byte * size, for sizes from ``first`` to ``last``, points of the data."""

    first: int
    last: int
    start_s: float
    s_per_byte: float

    def time_s(self, size_bytes: float) -> float:
        """What the line says of a size."""
        return self.start_s + self.s_per_byte * size_bytes


def pieces(size_bytes: np.ndarray, time_s: np.ndarray, *, tolerance: float = 3e-4) -> list[Piece]:
    """The lines through points in order of their sizes, at least three.

    A piece goes on as long as its line meets the next point within ``tolerance``, relative.  Fewer than three points
    that no line joins to their neighbours belong to no piece: they are taken for disturbed.
    """
    pieces_, since = [], 0
    while since < len(size_bytes):
        until = _reach(size_bytes, time_s, since, tolerance)
        if until - since >= _LEAST_POINTS:
            slope, start = np.polyfit(size_bytes[since:until], time_s[since:until], 1, w=1 / time_s[since:until])
            pieces_.append(Piece(since, until - 1, float(start), float(slope)))
        since = until
    return pieces_


def _reach(size_bytes: np.ndarray, time_s: np.ndarray, since: int, tolerance: float) -> int:
    """The first point from which the line that begins at ``since`` no longer holds.

    The line is that through the first and the last point so far: of points close together it would know little.
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
