"""Numbers for readers: three significant digits, times and errors in the unit that reads best."""

from __future__ import annotations

import math

NONE = "-"
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
    """Return a number with so many significant digits, without an exponent where it reads well without.

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


def duration(time_s: float | None, *, like_s: float | None = None) -> str:
    """Return a time with three significant digits and its unit.

    Args:
        time_s: The time, s; None or NaN: a dash.
        like_s: The unit is the one that suits this time, so that both can be compared; None: the time itself.

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
    name, unit_s = next((name, unit_s) for least_s, name, unit_s in _UNITS if size_s >= least_s)
    return f"{significant(time_s / unit_s)} {name}"


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
