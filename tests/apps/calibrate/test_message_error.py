"""Intervals of messages: how far measured times are from the model, and how often new ones lie inside."""

import numpy as np
import pytest

from apps.calibrate.points import ends, message_error, near_ratios, property_of
from platforms.read.read import read_platform
from predictor.base import Interval
from predictor.followed.scatter import widened


def test_nine_in_ten_new_ratios_lie_between_the_extremes_of_nineteen():
    # By exchangeability: a new value is the smallest or the largest of 20 in 2 of 20 cases.
    random = np.random.default_rng(7)
    sizes, ratios = np.geomspace(1, 1e6, 4000), random.lognormal(0, 0.3, 4000)
    low, high = near_ratios(sizes[::2], ratios[::2], sizes[1::2])
    inside = np.mean((low <= ratios[1::2]) & (ratios[1::2] <= high))
    assert inside == pytest.approx(0.9, abs=0.03)


def test_the_nearest_sizes_are_those_of_the_nearest_logarithms():
    sizes = np.array([1.0, 10.0, *np.geomspace(1e5, 1e6, 18), 1e9])
    low, high = near_ratios(sizes, np.arange(21.0), np.array([2.0]))
    assert (low[0], high[0]) == (0.0, 18.0)


def test_the_ends_of_all_ratios_are_order_statistics():
    # By hand: of 99 values the 5th and the 95th, for 5 and 95 % of 100 gaps.
    assert ends(np.arange(1.0, 100.0)) == (5.0, 95.0)
    assert ends(np.arange(9.0)) is None


def test_the_platform_file_carries_the_ends(tmp_path):
    file = tmp_path / "p.xml"
    (name, value), *_ = property_of((0.7, 1.4)).items()
    file.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        f'<zone id="z" routing="Full"><prop id="{name}" value="{value}"/><host id="a" speed="1Gf"/></zone>'
        "</platform>"
    )
    assert message_error(read_platform(file)) == (0.7, 1.4)
    file.write_text(file.read_text().replace(name, "another"))
    assert message_error(read_platform(file)) is None


def test_sides_of_the_interval_add_as_squares_and_computation_does_not_scatter():
    # By hand: half of the time is messages up to 20 % too long, so the time up to 10 %: ln 1.1; the own side is ln 1.1.
    made = widened(Interval(1 / 1.1, 1.1, 0.9, 40, ()), (1.0, 1.2), 0.5, "messages")
    assert np.log(made.high_s) == pytest.approx(np.sqrt(2) * np.log(1.1))
    assert made.low_s == pytest.approx(1 / 1.1)
    assert made.made_of == ("messages +0% to +20%",)
