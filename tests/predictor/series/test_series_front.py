"""Pareto fronts of two quantities, by hand and as a property of any points."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.series.front import dominates, pareto_front

# Few values, so that ties, equal points and unknown quantities are frequent.
POINTS = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, 3.0, math.inf, math.nan, None])] * 2), max_size=12)


def known(point):
    return all(value is not None and not math.isnan(value) for value in point)


@pytest.mark.parametrize(
    ("points", "front"),
    [
        ([], []),
        ([(5, 5)], [0]),
        ([(1, 2), (2, 1), (2, 2), (1, 2)], [0, 3, 1]),  # (1, 2) and (2, 1) dominate (2, 2); equal points stay
        ([(2, 1), (2, 3), (1, 3)], [2, 0]),  # a tie in one quantity: the other one decides
        ([(0, math.nan), (math.nan, 0), (None, 0), (3, 3)], [3]),
        ([(None, None)], []),
        ([(-4, 1), (-2, 1)], [0]),  # a quantity that should be large, with the opposite sign
    ],
)
def test_fronts_by_hand(points, front):
    assert pareto_front(points) == front


def test_only_the_first_of_equal_points_where_that_is_asked_for():
    assert pareto_front([(2, 1), (1, 2), (2, 1), (1, 2)], equals=False) == [1, 0]


@given(POINTS)
def test_no_point_of_the_front_is_dominated_and_each_other_known_point_is(points):
    front = pareto_front(points)
    for at, point in enumerate(points):
        assert (at in front) == (known(point) and not any(dominates(other, point) for other in points))
    assert [points[at][0] for at in front] == sorted(points[at][0] for at in front)


@given(POINTS)
def test_without_equals_each_place_of_the_front_has_its_first_point(points):
    places = [points[at] for at in pareto_front(points)]
    assert [points[at] for at in pareto_front(points, equals=False)] == list(dict.fromkeys(places))
    assert all(points.index(points[at]) == at for at in pareto_front(points, equals=False))
