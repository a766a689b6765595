"""Times of many processes as a few lines are the same as arrays of all times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.blocks.evaluation.profile import Piece, Profile, interleaved, join

pieces = st.builds(
    Piece, st.integers(1, 6), st.integers(0, 40).map(float), st.sampled_from((0.0, 0.0, 1.0, 2.5, -0.5, 7.0))
)
profiles = st.lists(pieces, min_size=1, max_size=4).map(lambda some: Profile(tuple(some)))
quickly = settings(max_examples=80, deadline=None, derandomize=True)


def with_count(profile, count):
    """A profile of ``count`` members: the profile cut off or repeated."""
    return Profile.of(np.resize(profile.values(), count))


@quickly
@given(profiles)
def test_values_and_lines_are_the_same(profile):
    values = profile.values()
    assert (profile.count, profile.first) == (len(values), values[0])
    assert (profile.least(), profile.most()) == (values.min(), values.max())
    found = Profile.of(values)
    assert found.values() == pytest.approx(values)
    assert len(found.pieces) <= -(-len(values) // 2)  # two values always lie on a line


def test_lines_are_as_long_as_they_may_be():
    # By hand: the step from 2 to 10 belongs to neither piece.
    assert Profile.of(np.array([0.0, 1, 2, 10, 20, 30])).pieces == (Piece(3, 0.0, 1.0), Piece(3, 10.0, 10.0))
    assert Profile.of(np.array([0.0, 1, 2, 10])).pieces == (Piece(3, 0.0, 1.0), Piece(1, 10.0, 0.0))


@quickly
@given(profiles, st.data())
def test_a_part_has_every_so_manieth_member(profile, data):
    first = data.draw(st.integers(0, profile.count - 1))
    stride = data.draw(st.sampled_from((1, 2, 3, -1, -2)))
    count = data.draw(st.integers(1, ((profile.count - 1 - first) if stride > 0 else first) // abs(stride) + 1))
    part = profile.part(first, stride, count)
    assert part.values() == pytest.approx(profile.values()[first + stride * np.arange(count)])


@quickly
@given(profiles, profiles)
def test_the_later_one_is_so_for_each(one, other):
    other = with_count(other, one.count)
    expected = np.maximum(one.values(), other.values())
    assert one.later(other).values() == pytest.approx(expected)
    assert other.later(one).values() == pytest.approx(expected)


@quickly
@given(profiles, profiles)
def test_profiles_are_joined_and_moved(one, other):
    assert join([one, other]).values() == pytest.approx([*one.values(), *other.values()])
    assert one.plus(2.0, 0.25).values() == pytest.approx(one.values() + 2 + 0.25 * np.arange(one.count))


def test_two_lines_that_alternate_are_one():
    # 0, 1, 2, ... 6: the even and the odd ones.
    even, odd = Profile((Piece(4, 0.0, 2.0),)), Profile((Piece(3, 1.0, 2.0),))
    assert interleaved(even, odd) == Profile((Piece(7, 0.0, 1.0),))
    assert interleaved(even, odd.plus(0.1)) is None
    assert interleaved(even, Profile((Piece(1, 1.0, 0.0), Piece(2, 7.0, 1.0)))) is None
