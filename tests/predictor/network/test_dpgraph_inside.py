"""Links shared inside a cluster, found by messages, against the routes of SimGrid."""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest

from apps.probes.network.measure import measure
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.placement import block
from platforms.read.read import read_platform
from platforms.read.routes import routes_between
from predictor.answers.answers import predict
from predictor.dpgraph.measured import measured_network
from predictor.dpgraph.predictors import DPGRAPH
from predictor.evidence.broker import Broker
from predictor.network.crossing import structure_of
from predictor.network.distances import Distances, distances
from predictor.network.mesh import Mesh
from predictor.network.shared_links import SharingExperiment, SharingTimes, packed
from predictor.network.survey import next_plan
from predictor.network.tree import Tree

LARGE_FACTOR = 0.940694  # smpi/bw-factor of large messages, SimGrid's default
TREE = 'topology="FAT_TREE" topo_parameters="2;4,3;1,2;1,1"'  # three switches of four hosts, two links up from each
TORUS = 'topology="TORUS" topo_parameters="3,2" loopback_bw="1GBps" loopback_lat="1us"'


def cluster(folder, hosts, topology):
    text = f"""<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{hosts - 1}" speed="1Gf" bw="1Gbps" lat="20us" {topology}/>
</platform>
"""
    path = folder / "cluster.xml"
    path.write_text(text)
    return read_platform(path)


def network_of(platform):
    placement, results = block(platform, len(platform.hosts)), []
    while plan := next_plan(platform, placement, results):
        results.append(measure(plan))
    return measured_network(platform, placement, results)


def inner(network, pair):
    """The links between switches that a message of a pair of hosts crosses."""
    return {name for name, weight in network.ways[pair].links.items() if name.startswith("c: ") and weight >= 1}


@pytest.mark.parametrize(("hosts", "topology"), [(12, TREE), (6, TORUS)])
def test_messages_share_a_link_where_their_routes_do(tmp_path, hosts, topology):
    platform = cluster(tmp_path, hosts, topology)
    network = network_of(platform)
    names = [host.name for host in platform.hosts]
    pairs = list(permutations(names, 2))
    routes = dict(zip(pairs, routes_between(platform, pairs), strict=True))
    link_of = {pair: {link.name for link in route.links} for pair, route in routes.items()}
    for (a, b), (c, d) in combinations(pairs, 2):
        if len({a, b, c, d}) == 4:
            assert bool(inner(network, (a, b)) & inner(network, (c, d))) == bool(link_of[a, b] & link_of[c, d])
    shared = [capacity for name, capacity in network.capacity_Bps.items() if name.startswith("c: ")]
    assert shared == pytest.approx([125e6 * LARGE_FACTOR] * len(shared), rel=0.06)  # acknowledgements take up to 5 %
    if topology == TREE:
        assert network.cautions == ()


LIMITED = f'{TREE} limiter_link="150MBps"'  # the two directions of a node together get little more than one alone


def ring(folder, hosts):
    """Hosts in a ring, whose links are shared by both directions."""
    made = "".join(f'<host id="n{i}" speed="1Gf"/>' for i in range(hosts))
    links = "".join(f'<link id="l{i}" bandwidth="1Gbps" latency="50us"/>' for i in range(hosts))
    ends = [(i, (i + 1) % hosts) for i in range(hosts)]
    routes = "".join(f'<route src="n{a}" dst="n{b}"><link_ctn id="l{a}"/></route>' for a, b in ends)
    path = folder / "ring.xml"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        f'<zone id="c" routing="Floyd">{made}{links}{routes}</zone></platform>'
    )
    return read_platform(path)


@pytest.mark.parametrize(
    "made", [lambda folder: cluster(folder, 12, LIMITED), lambda folder: ring(folder, 7)], ids=["limiters", "ring"]
)
def test_directions_that_share_links_have_a_caution_and_a_wide_interval(tmp_path, made):
    platform = made(tmp_path)
    target = Target(problem("is", "S"), platform, block(platform, len(platform.hosts)))
    with Runner(jobs=1) as runner:
        (answer,) = predict(DPGRAPH, [target], Broker.of(Settings(), [target], runner))
    assert any("messages in opposite directions share links" in flag for flag in answer.prediction.flags)
    assert answer.prediction.unlike and answer.prediction.interval.width > 1.1


def test_latency_follows_the_number_of_links(tmp_path):
    network = network_of(cluster(tmp_path, 12, TREE))
    near, far = (network.timing.latency_s[network.ways["n0", other].timing_class, -1] for other in ("n1", "n4"))
    assert far / near == pytest.approx(2, rel=1e-3)  # four links of 20 us instead of two
    assert network.ways["n0", "n4"].penalty / network.ways["n0", "n1"].penalty == pytest.approx(2, rel=1e-3)


def test_a_cluster_whose_hosts_are_alike_has_no_further_experiments(tmp_path):
    platform = cluster(tmp_path, 6, "")
    network = network_of(platform)
    assert network.measured_as == {}
    assert not [name for name in network.capacity_Bps if name.startswith("c: ")]


def of_steps(steps):
    """Distances of hosts this many steps of 1 us apart, and one more."""
    hosts = tuple(f"n{i}" for i in range(len(steps)))
    latency_s = {
        frozenset((hosts[i], hosts[j])): 1e-6 * (1 + steps[i][j]) for i, j in combinations(range(len(hosts)), 2)
    }
    return distances({"c": hosts}, latency_s, 0.0)["c"]


class Imagined:
    """A network on which messages take twice as long if they share a link with another one."""

    def __init__(self, links):
        self._links = links

    def ask(self, structure):
        rounds = 0
        while questions := structure.questions():
            rounds += 1
            structure.take([self._answer(question) for question in questions])
        return rounds

    def _answer(self, question):
        crossed = [self._links(*flow) for flow in question.flows]
        slower = [
            2.0 if any(one & other for j, other in enumerate(crossed) if j != i) else 1.0
            for i, one in enumerate(crossed)
        ]
        return SharingTimes(question, tuple(slower), tuple(slower))


@cache
def number(host):
    return int(host[1:])


def test_links_that_depend_on_the_destination_and_the_source():
    # Four groups of four hosts: four links up, chosen by the destination; four down, by its parity and the source's.
    def links(a, b):
        i, j = number(a), number(b)
        if i // 4 == j // 4:
            return set()
        return {("up", i // 4, j % 4), ("down", j // 4, j % 2, i % 2)}

    found = of_steps([[1 if i // 4 == j // 4 else 2 for j in range(16)] for i in range(16)])
    tree = structure_of(found)
    assert isinstance(tree, Tree)
    Imagined(links).ask(tree)
    for (a, b), (c, d) in product(permutations(found.hosts, 2), repeat=2):
        if len({a, b, c, d}) == 4:
            assert bool(set(tree.links(a, b)) & set(tree.links(c, d))) == bool(links(a, b) & links(c, d))


def test_ways_on_a_grid_of_switches():
    # A torus of 4 x 4 hosts whose messages go along the first axis, then along the second one, upwards if equally far.
    def moves(i, j):
        return [1] * ((j - i) % 4) if (j - i) % 4 <= 2 else [-1]

    def links(a, b):
        (x, y), (u, v) = divmod(number(a), 4), divmod(number(b), 4)
        crossed = set()
        for move in moves(x, u):
            crossed.add((x, y, (x + move) % 4, y))
            x = (x + move) % 4
        for move in moves(y, v):
            crossed.add((x, y, x, (y + move) % 4))
            y = (y + move) % 4
        return crossed

    found = of_steps([[len(moves(i // 4, j // 4)) + len(moves(i % 4, j % 4)) for j in range(16)] for i in range(16)])
    mesh = structure_of(found)
    assert isinstance(mesh, Mesh)
    Imagined(links).ask(mesh)
    assert mesh.unresolved() == 0
    for a, b in permutations(found.hosts, 2):
        assert len(mesh.links(a, b)) == len(links(a, b))
    for (a, b), (c, d) in combinations(list(permutations(found.hosts, 2)), 2):
        if (number(a) + 3 * number(b) + 5 * number(c)) % 7 == 0:  # some of them
            assert bool(set(mesh.links(a, b)) & set(mesh.links(c, d))) == bool(links(a, b) & links(c, d))


def test_distances_without_a_known_structure_have_none():
    latency_s = {frozenset(pair): 1e-6 * (3 + i**1.7) for i, pair in enumerate(combinations("abcd", 2))}
    assert structure_of(distances({"c": tuple("abcd")}, latency_s, 0.0)["c"]) is None


def test_latencies_within_their_scatter_are_alike():
    rng = np.random.default_rng(1)
    latency_s = {frozenset(pair): 1e-5 * (1 + 0.05 * rng.standard_normal()) for pair in combinations("abcdef", 2)}
    found = distances({"c": tuple("abcdef")}, latency_s, 0.03)["c"]
    assert isinstance(found, Distances)
    assert not found.few


def test_questions_at_the_same_moment_have_no_part_in_common():
    first = SharingExperiment((("a", "b"),), frozenset([1]))
    same_part = SharingExperiment((("c", "d"),), frozenset([1, 2]))
    answer = SharingExperiment((("b", "a"),), frozenset([3]))  # the answer to the first would wait for its message
    apart = SharingExperiment((("e", "f"),), frozenset([4]))
    assert packed([first, same_part, answer, apart]) == [[first, apart], [same_part, answer]]
