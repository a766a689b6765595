"""Roots by Brent's method."""

import math

import pytest
from scipy.optimize import brentq

from predictor.network.roots import root

KNOWN = {
    "the cube root of 2": (lambda x: x**3 - 2, 0.0, 2.0, 2 ** (1 / 3)),
    "the number that is its own cosine": (lambda x: math.cos(x) - x, 0.0, 1.0, 0.7390851332151607),
    "falling": (lambda x: 3 - math.exp(x), 0.0, 5.0, math.log(3)),
    "flat to the left": (lambda x: max(x - 1, -0.1), -12.0, 3.0, 1.0),
    "a jump": (lambda x: -1.0 if x < 1 / 3 else 1.0, 0.0, 1.0, 1 / 3),
    "at the lower end": (lambda x: x - 1, 1.0, 2.0, 1.0),
    "at the upper end": (lambda x: x - 2, 1.0, 2.0, 2.0),
}


def counted(function):
    """Return a function and the list of its arguments so far."""
    asked = []

    def ask(x):
        asked.append(x)
        return function(x)

    return ask, asked


@pytest.mark.parametrize("name", KNOWN)
def test_known_roots_are_found_in_the_steps_that_scipy_takes(name):
    function, low, high, known = KNOWN[name]
    ask, asked = counted(function)
    found = root(ask, low, high, (function(low), function(high)), 1e-9)
    assert found == pytest.approx(known, abs=1e-9)
    ask_scipy, of_scipy = counted(function)
    assert found == brentq(ask_scipy, low, high, xtol=1e-9)
    assert asked == of_scipy[2:]  # SciPy asks for both ends first
