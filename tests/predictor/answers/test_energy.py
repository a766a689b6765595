"""Energy of a run in closed form: by hand, by conservation, and against SimGrid's plugin."""

from dataclasses import replace

import pytest
from energy_of_records import record_energy
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.grid import Grid, GridCluster, Wire
from platforms.grids.scenario import named_grid
from platforms.model.placement import block, configured
from platforms.model.platform import Power
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.answers.energy import busy_throughout, host_energy, host_load, run_energy, with_energy
from predictor.base import HostLoad, Prediction
from predictor.evidence.broker import Broker
from predictor.registry import predictors

POWER = Power(idle_w=10, full_w=50, epsilon_w=30)  # with one of two cores busy 30 + 20 / 2 = 40 W, with both 50 W
WIRE = Wire(125e6, 50e-6)


def grid(cores=1, power=POWER, nodes=3):
    return Grid("nodes", "gigabit", (GridCluster("n", nodes, 40e9, WIRE, WIRE, cores, power),), "mesh", ())


def target(on, app="cg", preset="S", ranks_per_host=1):
    platform = materialise(on)
    shares = [(len(cluster.hosts), ranks_per_host) for cluster in platform.clusters]
    return Target(problem(app, preset), platform, configured(platform, shares))


def test_one_rank_computes_at_the_load_of_one_core():
    # By hand, 2 cores: 4 s at 40 W, 6 s at 10 W.
    load = host_load(4.0, [4.0], cores=2, time_s=10.0)
    energy = host_energy(POWER, 2, 10.0, load)
    assert (energy.low_j, energy.high_j) == (220, 220)


def test_ranks_that_finish_early_idle_to_the_end():
    # By hand, 1 core at 50 W: 4 s of 10, then 4 s of 20.
    load = host_load(4.0, [4.0], cores=1, time_s=10.0)
    assert host_energy(POWER, 1, 10.0, load).middle_j == 4 * 50 + 6 * 10
    assert host_energy(POWER, 1, 20.0, load).middle_j == 4 * 50 + 16 * 10


def test_of_two_ranks_only_the_bounds_are_known_from_their_times():
    # By hand: both at once, 4 s at 50 W and 6 s at 10 W; one after the other, 8 s at 40 W and 2 s at 10 W.
    load = host_load(8.0, [4.0, 4.0], cores=2, time_s=10.0)
    energy = host_energy(POWER, 2, 10.0, load)
    assert (energy.low_j, energy.high_j) == (260, 340)
    known = host_load(8.0, [4.0, 4.0], cores=2, time_s=10.0, busy_s=5.0)
    assert host_energy(POWER, 2, 10.0, known).middle_j == 3 * 50 + 2 * 40 + 5 * 10


def test_how_ranks_coincide_does_not_matter_where_power_does_not_jump():
    # By hand: 10 W for 10 s, and 8 core-seconds of 20 W.
    load = host_load(8.0, [4.0, 4.0], cores=2, time_s=10.0)
    energy = host_energy(replace(POWER, epsilon_w=10), 2, 10.0, load)
    assert (energy.low_j, energy.high_j) == (260, 260)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), min_size=1, max_size=4),
)
def test_the_energy_is_the_integral_of_the_power(cores, spans):
    # Ranks that compute from some second on for some seconds, in steps of a second; at most one rank per core.
    spans, time_s = spans[:cores], 40
    busy = [sum(begin <= t < begin + length for begin, length in spans) for t in range(time_s)]
    integral_j = sum(POWER.at_load(count / cores) for count in busy)
    own_s = [float(length) for _, length in spans]
    bounds = host_energy(POWER, cores, time_s, host_load(sum(own_s), own_s, cores=cores, time_s=time_s))
    assert bounds.low_j - 1e-9 <= integral_j <= bounds.high_j + 1e-9
    busy_s = float(sum(count > 0 for count in busy))
    load = host_load(sum(own_s), own_s, cores=cores, time_s=time_s, busy_s=busy_s)
    assert host_energy(POWER, cores, time_s, load).middle_j == pytest.approx(integral_j, rel=1e-12)


FLAT = replace(POWER, epsilon_w=POWER.idle_w)


@pytest.mark.parametrize(
    ("on", "app", "ranks_per_host"),
    [
        (named_grid("grid4x2"), "lu", 1),  # four speeds and powers; ranks that wait for each other
        (grid(cores=2), "cg", 1),
        (grid(cores=2, power=FLAT), "mg", 2),
        (grid(cores=2, power=FLAT), "cg", 4),  # two ranks on each core
    ],
)
def test_given_the_simulated_times_it_is_what_simgrids_plugin_counts(on, app, ranks_per_host):
    asked = target(on, app, ranks_per_host=ranks_per_host)
    record = simulate(Settings().spec(asked))
    energies = record_energy(record, asked.platform)
    assert set(energies) == set(asked.placement)
    for host, energy in energies.items():
        assert energy.low_j == pytest.approx(energy.high_j, rel=1e-15)
        assert energy.middle_j == pytest.approx(record.energy_j[host], rel=1e-6)


def test_the_plugins_energy_lies_within_the_bounds_of_ranks_that_share_a_node():
    asked = target(grid(cores=2), ranks_per_host=2)
    record = simulate(Settings().spec(asked))
    for host, energy in record_energy(record, asked.platform).items():
        assert energy.low_j < record.energy_j[host] < energy.high_j
        assert energy.high_j < 1.02 * energy.low_j


def answers(names, asked, run=True):
    """Return the predictions and the record of the target."""
    with Runner(jobs=1) as runner:
        made = [predict(model, [asked], Broker.of(Settings(), [asked], runner))[0] for model in predictors(names)]
        return [answer.prediction for answer in made], runner.record(Settings().spec(asked)) if run else None


def test_followed_events_tell_how_the_ranks_of_a_node_coincide():
    (predicted,), record = answers(["dpgraph:known"], target(grid(cores=2), ranks_per_host=2))
    assert predicted.energy_low_j == predicted.energy_high_j == predicted.energy_j
    assert predicted.energy_j == pytest.approx(record.used_energy_j, rel=1e-6)


def test_ranks_that_share_cores_are_followed_too():
    (predicted,), record = answers(["dpgraph:known"], target(grid(cores=2, nodes=2), ranks_per_host=4))
    assert predicted.energy_j == pytest.approx(record.used_energy_j, rel=1e-5)


def test_the_error_of_the_energy_is_within_that_of_the_time_and_1_per_cent():
    predicted, record = answers(["hcf", "hcf:constant", "dpgraph:known"], target(named_grid("grid4x2")))
    for one in predicted:
        time_error = abs(one.time_s / record.time_s - 1)
        assert abs(one.energy_j / record.used_energy_j - 1) <= time_error + 0.01


def test_a_model_that_knows_the_time_alone_gives_bounds():
    # By hand, 3 nodes of one core, 2 s: 50 W throughout at most, 10 W at least.
    asked = target(grid())
    made = with_energy(Prediction(2.0), asked)
    assert (made.energy_low_j, made.energy_j, made.energy_high_j) == (60, 300, 300)
    assert busy_throughout(asked, 2.0)["n-0"] == HostLoad(2.0, 2.0, 2.0)


def test_without_watts_there_is_no_energy():
    asked = target(grid())
    bare = tuple(replace(host, power=None) for host in asked.platform.hosts)
    clusters = (replace(asked.platform.clusters[0], hosts=bare),)
    dark = replace(asked, platform=replace(asked.platform, clusters=clusters))
    assert run_energy(dark, 1.0, {}) is None
    assert with_energy(Prediction(1.0), dark).energy_j is None


def test_hosts_without_ranks_do_not_count():
    platform = materialise(named_grid("grid4x2"))
    asked = Target(problem("cg", "S"), platform, block(platform, 1))
    # By hand: one node of 40 Gflop/s, 4 W idle.
    assert run_energy(asked, 10.0, {}).middle_j == pytest.approx(40)
