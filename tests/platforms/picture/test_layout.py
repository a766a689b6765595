"""The layout of boxes: they do not overlap, and the layout is the same each time."""

import itertools
import random

import numpy as np
import pytest

from platforms.picture.layout import place


def drawn(count, seed, joints):
    draw = random.Random(seed)
    sizes = [(draw.uniform(0.2, 2.5), draw.uniform(0.2, 0.8)) for _ in range(count)]
    pairs = list(itertools.combinations(range(count), 2))
    return sizes, [pair for pair in pairs if draw.random() < joints]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, 30])
@pytest.mark.parametrize("joints", [0.0, 0.15, 0.9])
def test_no_box_lies_over_another(count, joints):
    sizes, pairs = drawn(count, count, joints)
    at = place(sizes, pairs)
    assert at.shape == (count, 2)
    boxes = np.array(sizes)
    for i, j in itertools.combinations(range(count), 2):
        assert (np.abs(at[i] - at[j]) >= (boxes[i] + boxes[j]) / 2 - 1e-5).any(), (i, j)


def test_a_star_stands_around_its_hub():
    sizes = [(1.0, 0.4)] * 9
    at = place(sizes, [(4, i) for i in range(9) if i != 4])
    assert tuple(at[4]) == (0, 0)
    assert len({tuple(np.sign(np.round(place_, 6))) for i, place_ in enumerate(at) if i != 4}) == 8  # on all sides


def test_the_same_graph_gives_the_same_picture():
    sizes, pairs = drawn(12, 7, 0.3)
    assert np.array_equal(place(sizes, pairs), place(sizes, pairs))


def test_a_chain_keeps_its_order():
    at = place([(1.0, 0.4)] * 5, [(i, i + 1) for i in range(4)])
    assert np.all(np.diff(at[:, 0]) > 0)  # the first box is on the left
