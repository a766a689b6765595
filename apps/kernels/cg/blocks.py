"""CG in blocks: its groups of ranks (blocks.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any

from apps.traffic.layout import Layout, NoLayout


def layout(params: Mapping[str, Any], nranks: int) -> Layout:
    """Return the layout of k R^2 ranks.

    Raises:
        NoLayout: The number of ranks is another one, or its sums have steps of several odd primes.
    """
    groups, pieces = next(((r, k) for k in (1, 2, 3) if k * (r := isqrt(nranks // k)) ** 2 == nranks), (0, 0))
    if not groups:
        raise NoLayout("it is not k R^2 with k = 1, 2 or 3, so its groups of ranks differ")
    odd = next((f for f in range(3, pieces * groups + 1, 2) if pieces * groups % f == 0), 3)
    twos, odds, rest = _powers(groups, odd)
    width_twos, width_odds, width_rest = _powers(pieces * groups, odd)
    if rest * width_rest != 1:
        raise NoLayout("a sum over its groups has steps of more than one odd prime")
    variables = {
        **{"steps": params["cgitmax"], "groups": groups, "pieces": pieces, "odd": odd, "twos": twos, "odds": odds},
        **{"width_twos": width_twos, "width_odds": width_odds},
    }
    return Layout(variables, posts_ahead=True)


def _powers(number: int, odd: int) -> tuple[int, int, int]:
    """Return the exponents of 2 and of ``odd`` in a number, and the remaining factor."""
    twos, rest = _power(number, 2)
    odds, rest = _power(rest, odd)
    return twos, odds, rest


def _power(number: int, factor: int) -> tuple[int, int]:
    exponent = 0
    while number % factor == 0:
        number //= factor
        exponent += 1
    return exponent, number
