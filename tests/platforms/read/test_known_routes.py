"""Kept routes are those of SimGrid, and few SimGrid processes serve many parts of one platform."""

from itertools import combinations, product

import pytest

from platforms.errors import PlatformError
from platforms.grids.scenario import named_grid
from platforms.options import check_all_usable
from platforms.read import routes
from platforms.read import routes as part
from platforms.read.read import materialise, read_platform, read_routes
from platforms.read.routes import routes_between


@pytest.fixture
def asked(monkeypatch):
    """The pairs of each request to SimGrid, from now on."""
    requests = []

    def counted(platform, pairs):
        requests.append(list(pairs))
        return read_routes(platform, pairs)

    monkeypatch.setattr(routes, "read_routes", counted)
    return requests


def fresh_platform(gflops):
    """A platform of eight hosts; tests give different speeds, so that no routes of theirs are kept in memory."""
    return materialise(named_grid("grid4x2", speeds_flops=[40e9, 50e9, 60e9, gflops * 1e9]))


def test_routes_are_those_of_simgrid_however_often_they_are_asked_for(asked):
    platform = fresh_platform(71)
    names = [host.name for host in platform.hosts]
    for some in (names[:2], names[2:5], names):
        pairs = list(product(some, repeat=2))
        assert routes_between(platform, pairs) == read_routes(platform, pairs)
    assert [len(pairs) for pairs in asked] == [4, 64]  # first the requested routes, then all


def test_a_platform_that_is_asked_once_is_not_read_beyond_that(asked):
    platform = fresh_platform(72)
    pairs = [("c1-0", "c2-0"), ("c2-0", "c1-0")]
    assert routes_between(platform, pairs) == routes_between(platform, pairs)
    assert asked == [pairs]


def test_all_parts_of_a_platform_are_told_apart_by_two_requests(asked):
    platform = fresh_platform(73)
    names = [host.name for host in platform.hosts]
    for count in (1, 2, 3):
        for some in combinations(names, count):
            part.part_hash(platform, some)
    assert len(asked) == 2


def test_pairs_without_a_route_do_not_keep_others_from_theirs(asked, data):
    platform = read_platform(data / "no_route.xml")
    alone = [[(host.name, host.name)] for host in platform.hosts]
    for pairs in alone:
        assert routes_between(platform, pairs) == read_routes(platform, pairs)
    with pytest.raises(PlatformError, match=r"route alice to bob.*SimGrid says"):
        routes_between(platform, [("alice", "bob")])


def test_large_platforms_are_asked_for_no_more_than_is_needed(asked):
    platform = materialise(named_grid("grid1x65", speeds_flops=[40e9]))
    pairs = [("c1-0", "c1-1"), ("c1-1", "c1-0")]
    for pair in pairs:
        assert routes_between(platform, [pair]) == read_routes(platform, [pair])
    assert asked == [pairs[:1], pairs[1:]]


def test_no_pairs_have_no_routes():
    assert read_routes(materialise(named_grid("grid4x2")), []) == []


def test_routes_and_connections_of_a_platform_do_not_read_it_again(monkeypatch, data):
    platform = read_platform(data / "crossbar.xml")
    names = [host.name for host in platform.hosts][:2]
    monkeypatch.setattr("platforms.read.read.read_platform", None)
    monkeypatch.setattr("platforms.read.read.content_of", None)
    check_all_usable(platform, [tuple(names)])
    (route,) = routes_between(platform, [tuple(names)])
    assert (route.source, route.destination) == tuple(names)
