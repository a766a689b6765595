"""Format speeds, bandwidths and times for readers: 40 Gflop/s, 1 Gbit/s, 150 µs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

Number = TypeVar("Number", int, float)
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def bandwidth_text(bandwidth_Bps: float) -> str:
    """Return a bandwidth in bit/s with a prefix, or "unlimited" if it is infinite."""
    if math.isinf(bandwidth_Bps):
        return "unlimited"
    return _prefixed(bandwidth_Bps * 8, "bit/s")


def speed_text(speed_flops: float) -> str:
    """Return a speed in flop/s with a prefix."""
    return _prefixed(speed_flops, "flop/s")


def latency_text(latency_s: float) -> str:
    """Return a latency in s, ms, µs or ns."""
    for unit_s, unit in _TIMES:
        if latency_s >= unit_s * 0.9995:
            return f"{_digits(latency_s / unit_s)} {unit}"
    return "0 s" if latency_s == 0 else f"{latency_s:.3g} s"


def range_text(low: Number, high: Number, text: Callable[[Number], str]) -> str:
    """Return "low to high", each formatted by ``text``, or one text if both are the same."""
    first, last = text(low), text(high)
    return first if first == last else f"{first} to {last}"


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 host" or "12 hosts"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _prefixed(value: float, unit: str) -> str:
    for size, prefix in _PREFIXES:
        if value >= size * 0.9995:
            return f"{_digits(value / size)} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def _digits(value: float) -> str:
    """Return a number with three significant digits and without a power of ten."""
    text = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return text
