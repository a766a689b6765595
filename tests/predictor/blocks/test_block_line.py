"""Times on lines, and service in a row, are the same as arrays and one process after the other."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.blocks.evaluation.line import Client, Line, followed, interleaved, joined, later, serve, serve_row
from predictor.blocks.progression import Part

starts = st.integers(0, 40).map(float)
steps = st.sampled_from((0.0, 0.0, 1.0, 2.5, -0.5, 7.0))
lines = st.builds(Line, st.integers(1, 12), starts, steps)
quickly = settings(max_examples=80, deadline=None, derandomize=True)


def values(some):
    return np.concatenate([one.values() for one in some])


@quickly
@given(lines)
def test_a_line_is_as_its_values(line):
    expected = line.values()
    assert (line.count, line.first, line.last) == (len(expected), expected[0], expected[-1])
    assert (line.least, line.most) == (expected.min(), expected.max())
    assert line.total == pytest.approx(expected.sum())
    assert line.plus(2.0, 0.25).values() == pytest.approx(expected + 2 + 0.25 * np.arange(line.count))


@quickly
@given(lines, st.data())
def test_a_part_has_every_so_manieth_member(line, data):
    first = data.draw(st.integers(0, line.count - 1))
    stride = data.draw(st.sampled_from((1, 2, 3, -1, -2)))
    count = data.draw(st.integers(1, ((line.count - 1 - first) if stride > 0 else first) // abs(stride) + 1))
    part = line.part(Part(first, stride, count))
    assert part.values() == pytest.approx(line.values()[first + stride * np.arange(count)])


@quickly
@given(lines, starts, steps)
def test_the_later_one_is_so_for_each(one, first, step):
    other = Line(one.count, first, step)
    expected = np.maximum(one.values(), other.values())
    for found in (later(one, other), later(other, one)):
        assert values(line for _, line in found) == pytest.approx(expected)
        assert [place for part, _ in found for place in range(part.first, part.first + part.count)] == [
            *range(one.count)
        ]


@quickly
@given(st.lists(lines, min_size=1, max_size=5))
def test_joined_lines_have_the_same_values(some):
    found = joined(some)
    assert values(found) == pytest.approx(values(some))
    assert all(followed(*pair) is None for pair in pairwise(found))


def test_two_lines_that_alternate_are_one():
    # 0, 1, 2, ... 6: the even and the odd ones.
    even, odd = Line(4, 0.0, 2.0), Line(3, 1.0, 2.0)
    assert interleaved(even, odd) == Line(7, 0.0, 1.0)
    assert interleaved(even, odd.plus(0.1)) is None
    assert interleaved(even, Line(3, 1.0, 3.0)) is None


@quickly
@given(starts, lines, st.integers(0, 8).map(float))
def test_a_server_serves_one_after_the_other(ready_s, arrivals, service_s):
    ends = []
    for arrival_s in arrivals.values():
        ready_s_now = max(ends[-1] if ends else ready_s, arrival_s)
        ends.append(ready_s_now + service_s)
    assert values(serve(ready_s, arrivals, service_s)) == pytest.approx(ends)


@st.composite
def rows(draw):
    """Clients with any places of a row; some places have several clients, and others none."""
    clients = []
    for order in draw(st.permutations(range(draw(st.integers(1, 4))))):
        row = Part(draw(st.integers(0, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 8)))
        times = Line(row.count, draw(starts), draw(steps))
        near = range(draw(st.integers(-2, 8)), draw(st.integers(0, 14)), draw(st.integers(1, 2)))
        clients.append(Client(f"c{order}", row, Part(0, 1, row.count), times, order, 2.0, 0.5, near))
    return clients


@st.composite
def turns(draw):
    """Clients that have every so-manieth place of a row, all of them or not, ready in time or not."""
    stride, clients = draw(st.integers(2, 4)), []
    for at in range(stride - draw(st.integers(0, 1))):
        row = Part(at, stride, draw(st.integers(1, 8)))
        times = Line(row.count, draw(starts) / 10, draw(steps))
        clients.append(Client(f"c{at}", row, Part(0, 1, row.count), times, at, 2.0, 0.5, range(0)))
    return clients


def places(row):
    return range(row.first, row.first + row.stride * row.count, row.stride)


@quickly
@given(st.integers(0, 20).map(float), st.one_of(rows(), turns()))
def test_a_row_is_served_place_by_place(ready_s, clients):
    count, end_s, served = serve_row(ready_s, clients)
    found = {}
    for one in served:
        row, ends = one.client.in_row, values(one.ends)
        assert one.count == len(ends)
        assert (one.in_owner.first, one.in_owner.count) == (one.first, one.count)
        found |= {row.first + row.stride * (one.first + i): (one.client, end) for i, end in enumerate(ends)}
    assert sorted(found) == [*range(count)]
    now_s, sent_s = ready_s, 0.0
    for place in range(count):
        client, end = found[place]
        assert client.order == min(one.order for one in clients if place in places(one.in_row))
        service_s = 0.5 if place in client.near else 2.0
        now_s = max(now_s, client.times.values()[places(client.in_row).index(place)]) + service_s
        assert end == pytest.approx(now_s)
        sent_s += service_s
    assert end_s == pytest.approx(now_s)
    assert sum(one.sent_s for one in served) == pytest.approx(sent_s)
    assert bool(count) == any(place == 0 for one in clients for place in places(one.in_row))
