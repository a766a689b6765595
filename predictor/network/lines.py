"""The times of messages over their sizes as lines, one set of lines for each kind of path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from predictor.base import OutOfRange
from predictor.network.loads import LARGE_BYTES
from predictor.network.segments import Piece, measured_pieces

LINE_BYTES = (LARGE_BYTES, 2 * LARGE_BYTES)  # sizes whose times give the rate of a path
_RATIO = 1.05  # ratio of consecutive sizes
_DENSE_UP_TO_BYTES = 150_000
ON_LINE = 3e-4  # relative: times that are farther from a line do not lie on it


@cache
def sizes_bytes() -> tuple[int, ...]:
    """Return the sizes of the ping-pongs: dense where protocols change, then doubling."""
    dense = np.unique(np.round(np.geomspace(1, _DENSE_UP_TO_BYTES, int(np.log(_DENSE_UP_TO_BYTES) / np.log(_RATIO)))))
    return tuple(int(size) for size in dense) + tuple(2**power for power in range(18, 24))


def alone_s(line: Sequence[Piece], size: int) -> float:
    """Return the time of a message alone on the network, s."""
    fitting = [piece for piece in line if sizes_bytes()[piece.first] <= size] or line[:1]
    return max(1e-12, fitting[-1].time_s(size))


@lru_cache(maxsize=64)  # every further plan of a network begins with the same lines
def line_between(a: str, b: str, times_s: tuple[float, ...]) -> tuple[Piece, ...]:
    """Return the pieces of the times from host a to host b; raise OutOfRange if there are none or one does not rise."""
    line = measured_pieces(np.array(sizes_bytes(), float), np.array(times_s)) if min(times_s) > 0 else []
    if not line:
        raise no_lines(a, b, "no three of their times lie on a line, so that latency and rate are unknown")
    if not all(piece.s_per_byte > 0 for piece in line):
        raise no_lines(a, b, "larger messages do not take longer, so that the rate is unknown")
    return tuple(line)


def no_lines(a: str, b: str, problem: str) -> OutOfRange:
    """Return the error of a path whose times show no latency or no rate."""
    remedy = "Use links that the clock can resolve, a calibrated platform, or dpgraph:known, which measures nothing"
    return OutOfRange(f"messages from {a} to {b}", problem, remedy)


def scatter(line: Piece, time_s: Sequence[float]) -> float:
    """Return the median relative error of the smallest messages' times around their line."""
    points = slice(line.first, line.last + 1)
    modelled_s = line.start_s + line.s_per_byte * np.array(sizes_bytes()[points])
    return float(np.median(np.abs(modelled_s / np.array(time_s[points]) - 1)))


def has_rate(line: Sequence[Piece]) -> bool:
    """Return whether messages of the sizes that give the rate of a path lie on the last line."""
    return sizes_bytes()[line[-1].first] <= LINE_BYTES[0]


def sizes_on_lines(line: Sequence[Piece]) -> set[int]:
    """Return three sizes on each line, without those from which on the rate is known."""
    at = {place for piece in line for place in (piece.first, (piece.first + piece.last) // 2, piece.last)}
    sizes = {sizes_bytes()[place] for place in at}
    return {size for size in sizes if size <= LINE_BYTES[0]} if has_rate(line) else sizes


def in_proportion(
    line: Sequence[Piece], known: Mapping[int, float], points: Mapping[int, float], envelope_bytes: float
) -> list[Piece]:
    """Return the lines of a path, by its latency and rate over those of another one.

    Args:
        line: The lines of the other path.
        known: Its times by size, among them one byte.
        points: The path's time of one byte and of LINE_BYTES, which rises.
        envelope_bytes: What each message carries beside its own bytes.
    """
    large_s, larger_s = (points[size] for size in LINE_BYTES)
    per_byte_s = (larger_s - large_s) / (LINE_BYTES[1] - LINE_BYTES[0])
    rate = (larger_s - large_s) / (alone_s(line, LINE_BYTES[1]) - alone_s(line, LINE_BYTES[0]))
    first_s = (1 + envelope_bytes) * line[0].s_per_byte if envelope_bytes else 0.0  # not latency, of one byte
    latency = max(0.0, points[1] - rate * first_s) / max(known[1] - first_s, 1e-12)
    pieces = []
    for piece in line:
        envelope_s = envelope_bytes * piece.s_per_byte
        start_s = (piece.start_s - envelope_s) * latency + envelope_s * rate
        pieces.append(replace(piece, start_s=start_s, s_per_byte=piece.s_per_byte * rate))
    if has_rate(line):
        pieces[-1] = replace(pieces[-1], start_s=large_s - per_byte_s * LINE_BYTES[0], s_per_byte=per_byte_s)
    return pieces


def through_points(line: Sequence[Piece], points: Mapping[int, float]) -> list[Piece]:
    """Return the lines of a path with the breaks of another one; none if a point does not lie on its line."""
    pieces = []
    for piece in line:
        last = np.inf if piece is line[-1] else sizes_bytes()[piece.last]
        size = np.array([s for s in sorted(points) if sizes_bytes()[piece.first] <= s <= last], float)
        time_s = np.array([points[int(s)] for s in size])
        slope = (time_s[-1] - time_s[0]) / (size[-1] - size[0])
        made = Piece(piece.first, piece.last, float(time_s[0] - slope * size[0]), float(slope))
        if not slope > 0 or (np.abs(made.start_s + slope * size - time_s) > ON_LINE * time_s).any():
            return []
        pieces.append(made)
    return pieces
