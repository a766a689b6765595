"""Meeting points of links are inferred from routes alone: known networks are recovered."""

import random
from itertools import pairwise, permutations

import networkx
import pytest

from platforms.model.platform import Link, Route
from platforms.picture.link_graph import link_graph


def routes_of(network, ends):
    """The routes between these vertices of a networkx graph with named edges, on shortest paths."""
    routes = []
    for a, b in permutations(ends, 2):
        way = networkx.shortest_path(network, a, b)
        names = [network.edges[pair]["name"] for pair in pairwise(way)]
        routes.append(Route(a, b, 1e-3 * len(names), tuple(Link(name, 1e9, 1e-3, "shared") for name in names)))
    return routes


def named(network):
    for i, pair in enumerate(network.edges):
        network.edges[pair]["name"] = f"link{i}"
    return network


def recovered(network, ends):
    """The result of link_graph as a networkx graph whose parts have the names of the original."""
    graph = link_graph({name: i for i, name in enumerate(ends)}, routes_of(network, ends))
    assert not graph.buses
    found = networkx.Graph()
    found.add_nodes_from(graph.vertices)
    found.add_edges_from((span.first, span.second, {"links": len(span.links)}) for span in graph.spans)
    return networkx.relabel_nodes(found, dict(enumerate(ends)))


def without_passages(network, ends):
    """The same graph with each chain of links through vertices of degree two as one edge."""
    network = network.copy()
    networkx.set_edge_attributes(network, 1, "links")
    while passages := [v for v in network if v not in ends and network.degree(v) == 2]:
        a, b = network.neighbors(passages[0])
        links = network.edges[a, passages[0]]["links"] + network.edges[passages[0], b]["links"]
        network.remove_node(passages[0])
        network.add_edge(a, b, links=links)
    return network


def same(first, second, ends):
    for graph in (first, second):
        for vertex in graph:
            graph.nodes[vertex]["end"] = vertex if vertex in ends else None
    return networkx.is_isomorphic(
        first, second, node_match=lambda a, b: a["end"] == b["end"], edge_match=lambda a, b: a["links"] == b["links"]
    )


@pytest.mark.parametrize("seed", range(20))
def test_any_tree_is_recovered_from_the_routes_between_its_leaves(seed):
    draw = random.Random(seed)
    tree = networkx.Graph()
    tree.add_node(0)
    for vertex in range(1, draw.randint(3, 24)):
        tree.add_edge(draw.randrange(vertex), vertex)
    leaves = [vertex for vertex in tree if tree.degree(vertex) == 1]
    tree = networkx.relabel_nodes(named(tree), {leaf: f"h{leaf}" for leaf in leaves})
    ends = [f"h{leaf}" for leaf in leaves]
    assert same(recovered(tree, ends), without_passages(tree, ends), ends)


@pytest.mark.parametrize("dims", [(5,), (3, 3), (3, 4), (2, 3, 2)])
def test_a_torus_of_hosts_is_recovered(dims):
    torus = named(networkx.convert_node_labels_to_integers(networkx.grid_graph(dims, periodic=True)))
    torus = networkx.relabel_nodes(torus, {vertex: f"h{vertex}" for vertex in torus})
    assert same(recovered(torus, list(torus)), without_passages(torus, list(torus)), list(torus))


def test_both_directions_of_a_duplex_link_are_one_link():
    up, down = (Link(f"cable_{way}", 1e9, 1e-3, "shared") for way in ("UP", "DOWN"))
    graph = link_graph({"a": 0, "b": 1}, [Route("a", "b", 1e-3, (up,)), Route("b", "a", 1e-3, (down,))])
    assert [(span.first, span.second, len(span.links), span.parallel) for span in graph.spans] == [(0, 1, 1, 1)]


def test_one_link_between_any_two_of_three_parts_is_a_bus():
    bus = Link("bus", 1e9, 1e-3, "shared")
    graph = link_graph({"a": 0, "b": 1, "c": 2}, [Route(x, y, 1e-3, (bus,)) for x, y in permutations("abc", 2)])
    assert list(graph.buses.values()) == [(bus,)]
    (vertex,) = graph.buses
    assert {(span.first, span.second, span.links) for span in graph.spans} == {(i, vertex, ()) for i in range(3)}


def test_links_inside_one_part_only_are_left_out():
    own, wan = Link("own", 1e9, 1e-3, "shared"), Link("wan", 1e8, 5e-3, "shared")
    routes = [Route("a0", "a1", 1e-3, (own,)), Route("a0", "b", 6e-3, (own, wan)), Route("b", "a0", 6e-3, (wan, own))]
    graph = link_graph({"a0": 0, "a1": 0, "b": 1}, routes)
    assert [(span.first, span.second, span.links) for span in graph.spans] == [(0, 1, (wan,))]


def test_a_route_without_links_keeps_its_latency():
    graph = link_graph({"a": 0, "b": 1}, [Route("a", "b", 7e-3, ()), Route("b", "a", 7e-3, ())])
    assert [(span.links, span.latency_s) for span in graph.spans] == [((), 7e-3)]


def test_links_in_a_row_add_their_latencies_and_the_narrowest_counts():
    wide, narrow = Link("wide", 1e9, 1e-3, "shared"), Link("narrow", 1e8, 2e-3, "shared")
    graph = link_graph({"a": 0, "b": 1}, [Route("a", "b", 3e-3, (wide, narrow)), Route("b", "a", 3e-3, (narrow, wide))])
    (span,) = graph.spans
    assert (span.latency_s, span.bandwidth_Bps) == (pytest.approx(3e-3), 1e8)


def between(parts, *routes):
    """Names of the links between two parts; ``bus`` stands for a link at which many meet.

    A route is given by source, destination and names of links; names of hosts begin with the letter of their part.
    """
    part_of = {host: parts.index(host[0]) for source, destination, _ in routes for host in (source, destination)}
    made = [Route(a, b, 1e-3, tuple(Link(name, 1e9, 1e-3, "shared") for name in names)) for a, b, names in routes]
    graph = link_graph(part_of, made)
    called = dict(enumerate(parts)) | dict.fromkeys(graph.buses, "bus")
    return {
        "".join(sorted((called.get(span.first, "?"), called.get(span.second, "?")))): [link.name for link in span.links]
        for span in graph.spans
    }


def test_a_way_through_another_part_is_two_links():
    routes = ("a", "c", ("1", "in", "2")), ("c", "a", ("2", "in", "1")), ("b1", "b2", ("in",))
    assert between("abc", *routes) == {"ab": ["1"], "bc": ["2"]}


def test_parts_whose_own_links_meet_are_joined_without_one():
    routes = ("a1", "a2", ("left",)), ("b1", "b2", ("right",))
    ways = ("a1", "b1", ("left", "right")), ("b1", "a1", ("right", "left"))
    assert between("ab", *routes, *ways) == {"ab": []}


def test_a_part_that_stands_where_two_links_meet_is_that_place():
    assert between("abc", ("c", "b", ("2",)), ("a", "b", ("1", "2"))) == {"ac": ["1"], "bc": ["2"]}


def test_a_link_that_joins_more_than_two_is_a_place_at_which_they_meet():
    joined = {"abus": [], "bbus": [], "busc": []}
    assert between("abc", ("a", "b", ("l",)), ("c", "b", ("l",))) == joined
    # The fourth part reaches it over a link of its own.
    assert between("abcd", ("a", "b", ("l",)), ("c", "d", ("k", "l"))) == {
        "abus": [],
        "bbus": [],
        "busc": ["k"],
        "busd": [],
    }
