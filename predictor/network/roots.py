"""Roots by the method of R. P. Brent, "Algorithms for Minimization without Derivatives" (1973), chapter 4.

The steps are those of SciPy's ``brentq``, whose import takes longer than all roots of a network.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable


def root(function: Callable[[float], float], low: float, high: float, at: tuple[float, float], exact: float) -> float:
    """Return where a function is zero, give or take ``exact``; its values at both ends, ``at``, have unlike signs."""
    (before, now), (at_before, at_now) = (low, high), at
    other, at_other, last, step = low, at[0], high - low, high - low  # the root is between ``now`` and ``other``
    while True:
        if at_before != 0 and at_now != 0 and (at_before > 0) != (at_now > 0):
            other, at_other, last, step = before, at_before, now - before, now - before
        if abs(at_other) < abs(at_now):
            before, now, other = now, other, now
            at_before, at_now, at_other = at_now, at_other, at_now
        least, half = (exact + 4 * sys.float_info.epsilon * abs(now)) / 2, (other - now) / 2
        if at_now == 0 or abs(half) < least:
            return now
        guess = half
        if abs(last) > least and abs(at_now) < abs(at_before):
            if before == other:  # a line through two points
                guess = -at_now * (now - before) / (at_now - at_before)
            else:  # a parabola through three
                slope, other_slope = (at_before - at_now) / (before - now), (at_other - at_now) / (other - now)
                guess = -at_now * (at_other * other_slope - at_before * slope)
                guess /= other_slope * slope * (at_other - at_before)
        fits = guess is not half and 2 * abs(guess) < min(abs(last), 3 * abs(half) - least)
        last, step = (step, guess) if fits else (half, half)
        before, at_before = now, at_now
        now += step if abs(step) > least else math.copysign(least, half)
        at_now = function(now)
