"""Numbers for readers: significant digits, times and errors in the unit that reads best."""

from __future__ import annotations

import math
from collections.abc import Callable

NONE = "-"
MOST_DIGITS = 6  # of a time, however well it is known
LEAST_PCT = 0.01  # a smaller error is shown as less than this
_MINUTE_S, _HOUR_S, _DAY_S, _YEAR_S = 60.0, 3600.0, 86400.0, 365.25 * 86400
# The least time in s from which on a unit reads best, the unit, and its seconds.
_UNITS = (
    (2 * _YEAR_S, "years", _YEAR_S),
    (3 * _DAY_S, "days", _DAY_S),
    (2 * _HOUR_S, "h", _HOUR_S),
    (5 * _MINUTE_S, "min", _MINUTE_S),
    (0.1, "s", 1.0),
    (1e-4, "ms", 1e-3),
    (0.0, "us", 1e-6),
)


def significant(value: float | None, digits: int = 3) -> str:
    """Return a number with these significant digits, without an exponent unless it is very large or small.

    >>> [significant(value) for value in (27.165, 0.0321, 683.26, 12345.0, 2e-7, None)]
    ['27.2', '0.0321', '683', '12300', '2e-07', '-']
    """
    if value is None or math.isnan(value):
        return NONE
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded)))
    if not -4 <= exponent < 6:
        return f"{value:.{digits - 1}e}" if exponent >= 6 else f"{value:.{digits}g}"
    return f"{rounded:.{max(0, digits - 1 - exponent)}f}"


def duration(time_s: float | None, *, like_s: float | None = None, digits: int = 3) -> str:
    """Return a time with three significant digits and its unit.

    Args:
        time_s: The time, s; None or NaN: a dash.
        like_s: The unit is the one that suits this time, so that both can be compared; None: the time itself.
        digits: The number of digits.

    >>> [duration(time_s) for time_s in (27.165, 0.0019, 1234.0, 86400.0, 1e9)]
    ['27.2 s', '1.90 ms', '20.6 min', '24.0 h', '31.7 years']
    >>> duration(212.77, like_s=2.0), duration(400.0, like_s=400.0)
    ('213 s', '6.67 min')
    """
    if time_s is None or math.isnan(time_s):
        return NONE
    size_s = abs(time_s if like_s is None or math.isnan(like_s) else like_s)
    if size_s == 0 or math.isinf(size_s):
        return f"{significant(time_s)} s"
    name, unit_s = _unit_of(size_s)
    return f"{significant(time_s / unit_s, digits)} {name}"


def _unit_of(size_s: float) -> tuple[str, float]:
    """Return the unit that suits a time, and its seconds."""
    return next((name, unit_s) for least_s, name, unit_s in _UNITS if size_s >= least_s)


def interval_text(low_s: float, high_s: float, *, like_s: float) -> str:
    """Return an interval of times with two digits of its width, rounded outwards; six digits of a time at most.

    Args:
        low_s: Its lower end, s, > 0.
        high_s: Its upper end, s.
        like_s: The unit is the one that suits this time.

    >>> interval_text(27.163, 27.783, like_s=27.2), interval_text(8.0, 12.5, like_s=10.0)
    ('27.16 to 27.79 s', '8.0 to 12.5 s')
    >>> interval_text(1.7494523, 1.7494524, like_s=1.75), interval_text(0.9, 90.0, like_s=9.0)
    ('1.74945 to 1.74946 s', '0.90 to 90 s')
    """
    if not 0 < low_s <= high_s < math.inf:
        return range_text(duration(low_s, like_s=like_s), duration(high_s, like_s=like_s))
    name, unit_s = _unit_of(like_s)
    low, high = low_s / unit_s, high_s / unit_s
    place = _last_place(low, high)
    low_place = min(place, math.floor(math.log10(low)) - 1)  # the lower end may be much smaller
    ends = (math.floor, low, low_place), (math.ceil, high, place)
    texts = (f"{_rounded(how, end, at):.{max(0, -at)}f} {name}" for how, end, at in ends)
    return range_text(*texts)


def duration_beside(time_s: float, low_s: float, high_s: float) -> str:
    """Return a time with the digits that show whether it lies inside an interval: three at least, six at most.

    >>> duration_beside(1.92604, 1.9237, 1.9291), duration_beside(27.165, 27.163, 27.783), duration_beside(5, 4, 9)
    ('1.926 s', '27.2 s', '5.00 s')
    >>> duration_beside(27.162, 27.163, 27.783), duration_beside(1.9296, 1.9237, 1.9291)
    ('27.16 s', '1.93 s')
    """
    _, unit_s = _unit_of(time_s)

    def shows(digits: int) -> bool:
        rounded_s = float(significant(time_s / unit_s, digits)) * unit_s
        return (low_s <= rounded_s <= high_s) == (low_s <= time_s <= high_s)

    digits = next((digits for digits in range(3, MOST_DIGITS) if shows(digits)), MOST_DIGITS)
    return duration(time_s, digits=digits)


def _rounded(how: Callable[[float], int], value: float, place: int) -> float:
    """Round a value up or down at a power of ten, unless it differs from a multiple by its last bits only."""
    return how(round(value * 10.0**-place, 6)) * 10.0**place


def known_duration(time_s: float, low_s: float, high_s: float) -> str:
    """Return a time with the digits to which it is known: one of the width of its interval; two digits at least.

    >>> known_duration(27.17, 27.163, 27.783), known_duration(10.0, 8.0, 12.5), known_duration(137.2, 127.0, 156.0)
    ('27.2 s', '10 s', '140 s')
    """
    if not 0 < low_s <= high_s < math.inf or not time_s > 0:
        return duration(time_s)
    name, unit_s = _unit_of(time_s)
    value = time_s / unit_s
    first = math.floor(math.log10(value))
    most = first - MOST_DIGITS + 1
    width = (high_s - low_s) / unit_s
    place = min(first - 1, most if width <= 0 else max(most, math.floor(math.log10(width))))
    return f"{round(value, -place):.{max(0, -place)}f} {name}"


def _last_place(low: float, high: float) -> int:
    """Return the power of ten of the last digit that an interval needs: its width has two digits then."""
    most = math.floor(math.log10(high)) - MOST_DIGITS + 1
    return most if high <= low else max(most, math.floor(math.log10(high - low)) - 1)


def range_text(low: str, high: str) -> str:
    """Return two numbers as a range; their unit is given once if it is the same, and equal numbers are one.

    >>> range_text("24.9 s", "30.6 s"), range_text("900 ms", "1.20 s"), range_text("3 s", "3 s")
    ('24.9 to 30.6 s', '900 ms to 1.20 s', '3 s')
    """
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def percent(value: float | None, *, signed: bool = False) -> str:
    """Return a number of percent, without its sign %, with three significant digits and at most two decimals.

    >>> [percent(value, signed=True) for value in (-0.6881, 1383.6, 0.004, 100.496, 0.0, None)]
    ['-0.69', '+1380', '<0.01', '+100', '<0.01', '-']
    """
    if value is None or math.isnan(value):
        return NONE
    if abs(value) < LEAST_PCT:
        return f"<{LEAST_PCT}"
    sign = ("+" if value > 0 else "-") if signed or value < 0 else ""
    if abs(value) >= 1e6:
        return f"{sign}{significant(abs(value))}"
    rounded = float(f"{abs(value):.2e}")
    return f"{sign}{rounded:.{min(2, max(0, 2 - math.floor(math.log10(rounded))))}f}"
