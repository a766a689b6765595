"""The predictor ``structural``: its measurements against the simulated platforms, its predictions against runs."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from three_clusters import three_clusters

from apps.probes.network.measure import measure
from apps.programs.problem import problem, sized_problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block, cyclic
from platforms.read.read import materialise, read_platform
from predictor.answers.answers import fit
from predictor.base import OutOfRange
from predictor.dpgraph.measured import fitted as fitted_network
from predictor.evidence.broker import Broker
from predictor.network.layout import layout
from predictor.network.loads import tournament
from predictor.network.survey import Survey, next_plan
from predictor.registry import predictor
from predictor.structural.measured import BUFFERED, EAGER, SYNCHRONOUS, MeasuredPaths
from predictor.structural.paths import PlaceOfLinks
from predictor.structural.predictor import STRUCTURAL

# SimGrid's defaults: factors of the bandwidth of large messages and of the latency of small ones, from 9376 and from
# 65472 bytes on; share of its rate that a flow takes of the other direction.
LARGE_FACTOR = 0.940694
SMALL_LATENCY, LATENCY_9376, LATENCY_65472 = 2.01467, 2.59299, 11.6436
FACTOR_9376 = 0.58729
BACK = 0.05


def measured_on(platform, options=(), sizes=()):
    """The thrifty survey of all hosts of a platform, for these sizes."""
    hosts, results = block(platform, len(platform.hosts)), []
    while plan := next_plan(platform, hosts, results, deep=False, sizes=sizes):
        results.append(measure(replace(plan, options=options)))
    where = layout(platform, hosts)
    return MeasuredPaths(fitted_network(where, Survey(where, results, deep=False, sizes=sizes)), where.hosts)


@cache
def ground(options=(), sizes=()):
    return measured_on(materialise(three_clusters()), options, sizes)


def capacity_Bps(place, *of):
    return ground().paths.capacity_Bps[getattr(PlaceOfLinks(8, 3), place)(*of)]


def test_rates_of_paths_are_those_of_their_narrowest_links():
    paths = ground().paths
    rates = paths.bound_Bps[paths.row]
    assert rates[0, 0] == pytest.approx(125e6 * LARGE_FACTOR, rel=1e-3)
    assert rates[1, 1] == pytest.approx(50e6 * LARGE_FACTOR, rel=1e-3)
    # Both directions of the WAN link are one: a message shares it with its own acknowledgements.
    assert rates[0, 1] == rates[1, 0] == pytest.approx(40e6 * LARGE_FACTOR / (1 + BACK), rel=1e-3)


def test_what_is_shared_shows_under_load():
    shared = LARGE_FACTOR / (1 + BACK)
    assert capacity_Bps("inside", 0) == pytest.approx(200e6 * shared, rel=0.01)
    assert capacity_Bps("inside", 1) == np.inf  # three nodes of 50 MB/s leave a backbone of 200 alone
    assert capacity_Bps("one_way", 0, 1) == pytest.approx(40e6 * shared, rel=0.01)
    assert capacity_Bps("both_ways", 0, 1) == pytest.approx(40e6 * shared, rel=0.01)
    assert capacity_Bps("both_ways", 0, 2) == np.inf
    assert ground().paths.capacity_Bps[0] == pytest.approx(125e6 * LARGE_FACTOR, rel=1e-3)
    # Where two opposite messages fill the backbone, their acknowledgements do not show.
    assert ground().paths.back == pytest.approx([0, BACK, 0], rel=0.01)


def test_a_link_that_messages_inside_fill_only_together_with_those_to_outside_is_seen():
    # Nine nodes of 1 Gbit/s on a backbone of 10: their messages to one another leave some of it, although they use it.
    platform = materialise(named_grid("grid3x9"))
    found, at = measured_on(platform).paths.capacity_Bps, PlaceOfLinks(27, 3)
    shared = 1.25e9 * LARGE_FACTOR / (1 + BACK)
    assert [found[at.inside(c)] for c in range(3)] == pytest.approx([shared] * 3, rel=0.001)


def test_the_only_node_of_its_cluster_reaches_itself_by_the_way_that_the_rate_shows(tmp_path):
    # Hosts of a zone have a loopback of 10 GB/s; in a <cluster> a message to oneself goes over the node's link.
    path = tmp_path / "two.xml"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="2Gf"/>'
        '<link id="l" bandwidth="125MBps" latency="50us"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>'
    )
    grid = named_grid("grid2x1", "gigabit", [1e9, 2e9])
    for platform, shares in ((read_platform(path), False), (materialise(grid), True)):
        found = measured_on(platform)
        assert [len(hosts) for hosts in found.by_cluster.values()] == [1, 1]
        assert found.paths.self_shares.tolist() == [shares, shares]


def measured_sizes(sizes, options=()):
    """Latency, s, seconds per byte and protocol of some sizes on each kind of path, whose numbers are in the paths."""
    paths, protocol = ground(options, sizes).at(np.array(sizes, float))
    per_byte_s = paths.amount_bytes / (np.array(sizes) + 16) / paths.bound_Bps[:, None]
    return paths, paths.latency_s, per_byte_s, protocol.tolist()


def test_what_sizes_do_is_measured_between_one_pair_and_is_so_on_all_paths():
    paths, latency_s, per_byte_s, protocol = measured_sizes((8, 12_000, 100_000))
    factors = np.array([SMALL_LATENCY, LATENCY_9376, LATENCY_65472])
    near, far = paths.row[0, 0], paths.row[0, 2]
    assert latency_s[near] == pytest.approx(150e-6 * factors, rel=1e-4)
    assert latency_s[far] == pytest.approx(300e-6 * factors, rel=1e-4)
    assert per_byte_s[near, 1:] == pytest.approx(1 / (125e6 * np.array([FACTOR_9376, LARGE_FACTOR])), rel=1e-4)
    assert protocol == [BUFFERED, BUFFERED, SYNCHRONOUS]


def test_messages_that_travel_before_they_are_received_for_are_recognised():
    *_, protocol = measured_sizes((8, 2000, 100_000), options=(("smpi/async-small-thresh", "1000"),))
    assert protocol == [EAGER, BUFFERED, SYNCHRONOUS]


@pytest.mark.parametrize("clusters", range(1, 8))
def test_in_a_tournament_everyone_meets_everyone_else_once(clusters):
    players = [f"c{i}" for i in range(clusters)]
    rounds = tournament(players)
    assert sorted(tuple(sorted(pair)) for one in rounds for pair in one) == list(combinations(players, 2))
    for one in rounds:
        met = [player for pair in one for player in pair]
        assert len(met) == len(set(met))


@cache
def fitted():
    """The model for three programs on a grid of 16, in block and cyclic mapping, with the runs' times."""
    platform = materialise(named_grid("grid4x4"))
    targets = [
        Target(problem(app, "W"), platform, mapping(platform, 16))
        for mapping in (block, cyclic)
        for app in ("cg", "mg", "lu")
    ]
    settings = Settings()
    with Runner(jobs=2) as runner:
        runner.start(settings.spec(target) for target in targets)
        model, evidence = fit(STRUCTURAL, targets, Broker.of(settings, targets, runner))
        times_s = [runner.record(settings.spec(target)).time_s for target in targets]
    return model, evidence, targets, times_s


def test_times_of_three_programs_are_predicted_to_a_few_percent():
    model, _, targets, times_s = fitted()
    errors = [model.predict(target).time_s / time_s - 1 for target, time_s in zip(targets, times_s, strict=True)]
    assert np.abs(errors).max() < 0.06
    assert np.abs(errors).mean() < 0.02


@pytest.mark.parametrize(("app", "preset", "ranks"), [("is", "W", 16), ("ft", "S", 16), ("ft", "S", 9), ("sp", "S", 9)])
def test_messages_at_once_are_predicted_to_a_few_percent(app, preset, ranks):
    platform = materialise(named_grid("grid4x4"))
    target, settings = Target(problem(app, preset), platform, block(platform, ranks)), Settings()
    with Runner(jobs=2) as runner:
        model, _ = fit(STRUCTURAL, [target], Broker.of(settings, [target], runner))
        assert model.predict(target).time_s == pytest.approx(runner.record(settings.spec(target)).time_s, rel=0.03)


def test_evidence_is_a_probe_on_one_node_per_cluster_and_messages_and_all_of_it_is_charged():
    model, evidence, targets, _ = fitted()
    runs = [e.request.target for e in evidence if e.request.kind == "run"]
    assert {target.nranks for target in runs} == {4}
    assert {e.request.kind for e in evidence} == {"run", "exchange"}
    made = model.predict(targets[0])
    used = [e for e in evidence if e.id in made.evidence]
    assert len(used) == 2  # its probe and the network, whose lines tell what its sizes do
    assert made.cost.node_s == pytest.approx(sum(e.cost.node_s for e in used))


def test_many_at_once_are_what_each_is():
    model, _, targets, _ = fitted()
    outside = Target(sized_problem("fem", 32), targets[0].platform, targets[0].placement)
    *many, refused = model.predict_many([*targets, outside])
    assert [one.time_s for one in many] == [model.predict(target).time_s for target in targets]
    assert isinstance(refused, OutOfRange)


def test_computation_is_that_of_the_busiest_rank_at_the_speed_of_its_cluster():
    # LU's cube of 33 on 4 x 4 ranks: 9 + 8 + 8 + 8 points, less the boundary.  Ranks 0 to 3 are on the slowest cluster,
    # of 40 Gflop/s, and the first three have 8 x 8 of the 31 x 31 unknowns of a plane.
    model, _, targets, _ = fitted()
    lu = targets[2]
    made = model.predict(lu)
    official = (1984.77 * 33**3 - 10923.3 * 33**2 + 27770.9 * 33 - 144010) * 300
    assert made.parts["compute_s"] == pytest.approx(official * 64 / 31**2 / (40e9 * 0.064), rel=1e-6)
    assert made.loads["c1-0"].core_s == pytest.approx(made.parts["compute_s"])
    assert sum(made.parts.values()) == pytest.approx(made.time_s)
    slower = model.predict(lu, {"c1": 2.0})
    assert slower.parts["compute_s"] == pytest.approx(2 * made.parts["compute_s"])
    assert slower.time_s > made.time_s


def test_targets_beyond_the_model_are_refused_with_the_reason():
    platform = materialise(named_grid("grid4x4"))
    cg, unknown = problem("cg", "S"), sized_problem("fem", 32)
    hosts = block(platform, 4)
    for target, reason in (
        (Target(unknown, platform, hosts), "the messages of fem are not declared"),
        (Target(problem("dt", "BH_S"), platform, block(platform, 8)), "dt has a rank for every node of its graph"),
        (Target(problem("is", "E"), platform, block(platform, 4)), "the keys need at least 64 ranks"),
        (Target(problem("bt", "S"), platform, hosts[:1] * 7), "7 ranks would cut the cube into 7 x 7 x 1 tiles"),
        (Target(cg, platform, hosts[:1] * 2 + hosts[1:]), "2 ranks share the 1 cores of c1-0"),
    ):
        with pytest.raises(OutOfRange, match=reason):
            STRUCTURAL.fit([]).predict(target)
        assert STRUCTURAL.requests([target]) == []


def test_a_network_without_a_rate_is_the_reason_of_a_refusal():
    # As a disturbed machine may measure: all messages of all experiments take the same time.
    _, evidence, targets, _ = fitted()
    probe = next(e for e in evidence if e.request.kind == "run")
    network = next(e for e in evidence if e.request.kind == "exchange")
    flat = replace(network.measurement, times_s=tuple((1.0,) * len(times) for times in network.measurement.times_s))
    disturbed = [probe, replace(network, answer=flat)]
    assert STRUCTURAL.further(targets, disturbed) == []
    model = STRUCTURAL.fit(disturbed)
    asked = next(t for t in targets if t.problem == probe.request.target.problem)
    with pytest.raises(OutOfRange, match="the rate is unknown"):
        model.predict(asked)


def test_it_is_known_by_its_name():
    assert predictor("structural") is STRUCTURAL
