"""Levels of a problem on some of which ranks drop out, as in a multigrid."""

import numpy as np

from apps.recording.events import Kind
from predictor.learned import points
from predictor.learned.noisy import ratios_to
from predictor.learned.rows import Rows
from tests.predictor.learned.test_learned_calls import check_exact


def test_the_next_place_with_points_may_be_far_along_the_axis():
    place, sides = np.arange(8), np.full(8, 8)
    assert points.points(place, sides, np.full(8, 2)).tolist() == [0, 0, 0, 1, 0, 0, 0, 1]
    assert points.following(place, sides, np.full(8, 2), 1).tolist() == [3, 3, 3, 7, 7, 7, 7, 3]
    assert points.following(place, sides, np.full(8, 4), -1).tolist() == [7, 7, 1, 1, 3, 3, 5, 5]


def test_places_with_points_on_a_level_and_none_on_the_coarser_one_are_told_from_those_beside_them():
    none = np.zeros((4, 0), np.int64)
    rows = Rows(np.full(4, 4), np.arange(4), none, none, none)
    place, sides, finest = np.arange(4)[None, :], np.full((1, 4), 4), np.full(4, 64)
    told = {kind: points.value(f"{kind}>c+2:64", rows, place, sides, finest).tolist() for kind in ("n0", "u0", "V")}
    assert told == {"n0": [True, False, True, False], "u0": [False, True, False, True], "V": [1, 1, 1, 1]}


def test_a_rank_without_points_fits_where_the_fit_is_0_too():
    assert ratios_to(np.array([2.0, 0.0, 0.0]), np.array([3.0, 0.0, 1.0])).tolist() == [1.5, 1.0, np.inf]


def cycles(rank):
    """Go twice from 64 points on a line down to 2 and up again; who has points sends to the next that has some."""
    place, sides = np.arange(rank.nranks), np.full(rank.nranks, rank.nranks)
    levels = [64, 32, 16, 8, 4, 2]
    for site, finest in 2 * [*((10, m) for m in levels), *((20, m) for m in levels[::-1])]:
        m = np.full(rank.nranks, finest)
        if points.points(place, sides, m)[rank.rank]:
            there, source = (int(points.following(place, sides, m, step)[rank.rank]) for step in (1, -1))
            begun = [rank.start(Kind.RECV, site, source, site, 8), rank.start(Kind.SEND, site + 1, there, site, 8)]
            for at, number in enumerate(begun):
                rank.add(Kind.WAIT, site + 2 + at, request=number)


def test_messages_between_the_ranks_that_have_points_on_a_level_are_continued():
    check_exact(cycles, (4, 8, 16), 64, numbers=(64,))
