"""Axes of plots: their ranges, and ticks at round values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from validation.workbench.project.numbers import number_text

AUTO, LOGARITHMIC, LINEAR = SCALES = ("auto", "log", "linear")
_LARGE_RATIO = 8.0  # largest value over smallest from which an axis is logarithmic by itself
_TICKS = 6  # about this many at an axis
_MOST_NAMES = 12  # at an axis
_MOST_LETTERS = 14  # of a name at an axis


@dataclass(frozen=True)
class Axis:
    """One axis: values from ``low`` to ``high``."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where on the axis a value is, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5


def number_axis(
    label: str, values: Sequence[float], *, scale: str = AUTO, may_log: bool = True, zero: bool = False
) -> Axis:  # fmt: skip
    """Return an axis for numbers.

    Args:
        label: Its label, with the unit.
        values: What has to be on it, at least one number; on a logarithmic axis above 0.
        scale: One of SCALES.
        may_log: By itself, make it logarithmic where the values differ by much.
        zero: Include 0 otherwise.
    """
    low, high = min(values), max(values)
    if scale == LOGARITHMIC or (scale == AUTO and may_log and low > 0 and high >= _LARGE_RATIO * low):
        return Axis(label, low / 1.15, high * 1.15, _decades(low / 1.15, high * 1.15), True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high == low:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (-1.0, 1.0)
    ticks = _round_ticks(low, high)
    return Axis(label, min(low, ticks[0][0]), max(high, ticks[-1][0]), ticks)


def count_axis(label: str, values: Sequence[float], scale: str = AUTO) -> Axis:
    """Return an axis for numbers of ranks, with a tick at each if there are few; ``scale`` is one of SCALES."""
    distinct = sorted(set(values))
    low, high = distinct[0], distinct[-1]
    logarithmic = scale == LOGARITHMIC or (scale == AUTO and low > 0 and high >= 4 * low)
    margin = max((high / low) ** 0.04, 1.02) if logarithmic else max(0.04 * (high - low), 0.5)
    ends = (low / margin, high * margin) if logarithmic else (low - margin, high + margin)
    axis = Axis(label, *ends, (), logarithmic)
    kept: list[float] = []
    for value in distinct:
        if not kept or axis.share(value) - axis.share(kept[-1]) >= 0.055:
            kept.append(value)
    return Axis(label, *ends, [(value, number_text(value, 10)) for value in kept], logarithmic)


def name_axis(label: str, names: Sequence[str]) -> Axis:
    """Return an axis for names, which have the places 0, 1, and so on."""
    step = -(-len(names) // _MOST_NAMES)
    ticks = [(float(at), shortened(name, _MOST_LETTERS)) for at, name in enumerate(names) if at % step == 0]
    return Axis(label, -0.5, len(names) - 0.5, ticks)


def shortened(name: str, most: int) -> str:
    """Return a name cut to a number of letters."""
    return name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _round_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return round values from the last one below ``low`` to the first one above ``high``."""
    step = _step((high - low) / _TICKS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [(number * step, _tick_text(number * step, step)) for number in range(first, last + 1)]


def _tick_text(value: float, step: float) -> str:
    """Return a number with as many digits as ticks at this distance need."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return number_text(value, 6)
    return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    """Return ticks of a logarithmic axis: powers of ten, with 2 and 5 where there are few, or else round values."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades: list[float] = []
    for factors in ((1,), (1, 3), (1, 2, 5)):
        decades = [
            factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high
        ]
        if len(decades) >= 3:
            break
    if len(decades) < 2:
        return [tick for tick in _round_ticks(low, high) if low <= tick[0] <= high]
    step = -(-len(decades) // (_TICKS + 2))
    return [(value, number_text(value, 10)) for value in decades[::step]]
