"""Energy of hosts and runs: every branch of the equations by hand, without a simulation."""

import math
from dataclasses import replace

import pytest
from energy_of_records import record_energy, record_loads

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform, Power
from predictor.answers.energy import (
    Energy,
    busy_throughout,
    has_default_watts,
    host_energy,
    host_load,
    run_energy,
    with_energy,
)
from predictor.base import HostLoad, Prediction

PAIR = Power(idle_w=10.0, full_w=50.0, epsilon_w=30.0)  # of two cores: 40 W with one busy
SMALL = Power(idle_w=4.0, full_w=24.0, epsilon_w=4.0)


def platform(pair=PAIR, small=SMALL):
    a = Cluster("a", tuple(Host(f"a-{i}", 2e9, 2, pair) for i in range(2)))
    return Platform("made", "/nowhere.xml", "made", (a, Cluster("b", (Host("b-0", 1e9, 1, small),))))


def target(*placement, on=None):
    return Target(problem("cg", "S"), on or platform(), placement)


# Loads of hosts.


@pytest.mark.parametrize(
    ("core_s", "compute_s", "cores", "time_s", "expected"),
    [
        (3.0, [4.0], 2, 10.0, HostLoad(3.0, 4.0, 4.0)),  # one rank: busy while it computes
        (8.0, [3.0, 5.0], 2, 10.0, HostLoad(8.0, 5.0, 8.0)),  # at least the longest, at most one after the other
        (13.0, [6.0, 7.0], 2, 10.0, HostLoad(13.0, 7.0, 10.0)),  # at most the run
        (15.0, [4.0] * 4, 3, 20.0, HostLoad(15.0, 5.0, 16.0)),  # at least 15 core-seconds over 3 cores
        (15.0, [4.0] * 4, 8, 20.0, HostLoad(15.0, 4.0, 16.0)),  # no more cores than ranks: 15 / 4 is below 4
        (6.0, [2.0] * 3, 1, 20.0, HostLoad(6.0, 6.0, 6.0)),
        (30.0, [4.0, 4.0], 1, 10.0, HostLoad(30.0, 8.0, 8.0)),  # the bounds never cross
        (0.0, [], 2, 10.0, HostLoad(0.0, 0.0, 0.0)),
    ],
)
def test_bounds_of_the_busy_time(core_s, compute_s, cores, time_s, expected):
    assert host_load(core_s, compute_s, cores=cores, time_s=time_s) == expected


def test_a_busy_time_that_is_known_is_both_bounds():
    assert host_load(8.0, [3.0, 5.0], cores=2, time_s=10.0, busy_s=6.5) == HostLoad(8.0, 6.5, 6.5)
    assert host_load(3.0, [4.0], cores=2, time_s=10.0, busy_s=0.0) == HostLoad(3.0, 0.0, 0.0)


def test_energy_of_a_host_by_the_equation():
    # E = 10 (T - B) + 30 B + 20 C / 2 with T = 10, C = 8 and B from 4 to 8: 100 + 20 B + 80.
    assert host_energy(PAIR, 2, 10.0, HostLoad(8.0, 4.0, 8.0)) == Energy(260.0, 340.0)
    # Where the first busy core lowers the power the bounds change places: 100 - 5 B + 45 4.
    falling = replace(PAIR, epsilon_w=5.0)
    assert host_energy(falling, 2, 10.0, HostLoad(8.0, 4.0, 8.0)) == Energy(240.0, 260.0)


def test_the_middle_lies_half_way_between_the_bounds():
    assert Energy(260.0, 340.0).middle_j == 300.0


# Runs.


def test_ranks_that_compute_throughout_keep_as_many_cores_busy_as_there_are():
    asked = target("a-0", "a-0", "a-0", "a-1", "b-0")
    assert busy_throughout(asked, 3.0) == {
        "a-0": HostLoad(6.0, 3.0, 3.0),  # three ranks on two cores
        "a-1": HostLoad(3.0, 3.0, 3.0),
        "b-0": HostLoad(3.0, 3.0, 3.0),
    }


def test_the_energy_of_a_run_is_that_of_the_hosts_in_use():
    # a-0: 10 (10 - 4) + 30 4 + 20 4 / 2 = 220; b-0 does nothing: 40; a-1 is not in use.
    asked, loads = target("a-0", "b-0"), {"a-0": HostLoad(4.0, 4.0, 4.0)}
    assert run_energy(asked, 10.0, loads) == Energy(260.0, 260.0)
    # Nodes of b at another frequency take 3 W idle; those of a are as the platform has them.
    assert run_energy(asked, 10.0, loads, {"b": Power(3.0, 9.0, 3.0)}) == Energy(250.0, 250.0)
    # Several ranks on a host count it once; bounds add up: 100 + 20 B + 80 of a-0, B from 4 to 8.
    shared = target("a-0", "a-0", "b-0")
    assert run_energy(shared, 10.0, {"a-0": HostLoad(8.0, 4.0, 8.0)}) == Energy(300.0, 380.0)


def test_a_host_in_use_without_watts_leaves_no_energy():
    dark = platform(small=None)
    assert run_energy(target("a-0", "b-0", on=dark), 1.0, {}) is None
    assert run_energy(target("a-0", on=dark), 1.0, {}) == Energy(10.0, 10.0)
    made = Prediction(1.0, loads={})
    without = with_energy(made, target("b-0", on=dark))
    assert without.energy_j is None
    assert without.energy_basis == "the platform gives no watts for b-0 (property wattage_per_state)"


def test_the_watts_of_generated_nodes_are_default_ones_unless_the_grid_gives_some():
    # By hand: 40 Gflop/s take 4 W when idle and 24 W at full load, and every other speed in proportion.
    grid = replace(platform(), network="gigabit")
    assert not has_default_watts(target("a-0", on=grid))
    usual = Host("a-0", 40e9, 1, Power(4.0, 24.0, 4.0))
    default = replace(grid, clusters=(Cluster("a", (usual,)),))
    assert has_default_watts(target("a-0", on=default))
    assert not has_default_watts(target("a-0", on=replace(default, network=None)))  # a file says its own watts


def test_a_prediction_with_loads_has_the_middle_of_its_bounds():
    asked = target("a-0", "b-0")
    made = with_energy(Prediction(10.0, loads={"a-0": HostLoad(8.0, 4.0, 8.0)}), asked)
    assert (made.energy_low_j, made.energy_j, made.energy_high_j) == (300.0, 340.0, 380.0)
    assert (made.time_s, made.loads) == (10.0, {"a-0": HostLoad(8.0, 4.0, 8.0)})
    # Counted from the first rank's start on: 2 s more of 14 W.
    longer = with_energy(Prediction(10.0, loads={"a-0": HostLoad(8.0, 4.0, 8.0)}, span_s=12.0), asked)
    assert (longer.energy_low_j, longer.energy_j, longer.energy_high_j) == (328.0, 368.0, 408.0)


def test_a_prediction_of_the_time_alone_lies_between_idle_and_busy_hosts():
    # 5 s: a-0 with one busy core 40 W, b-0 24 W; idle 10 and 4 W.
    made = with_energy(Prediction(5.0), target("a-0", "b-0"))
    assert (made.energy_low_j, made.energy_j, made.energy_high_j) == (70.0, 320.0, 320.0)


def test_short_runs_have_energy_too():
    assert with_energy(Prediction(0.25), target("b-0")).energy_j == 6.0


@pytest.mark.parametrize("time_s", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_time_has_no_energy(time_s):
    made = Prediction(time_s)
    assert with_energy(made, target("a-0")) is made


# Records.


def test_a_record_says_what_each_host_did(record_of):
    # Ranks 0 and 2 on a-0, which has a core for each; rank 1 on b-0.
    record = record_of(target("a-0", "b-0", "a-0"), 10.0, 0.0, (3.0, 2.0, 5.0))
    loads = record_loads(record, platform())
    assert loads == {"a-0": HostLoad(8.0, 5.0, 8.0), "b-0": HostLoad(2.0, 2.0, 2.0)}
    # a-0: 100 + 20 B + 80 with B from 5 to 8; b-0: 40 + 20 2.
    assert record_energy(record, platform()) == {"a-0": Energy(280.0, 340.0), "b-0": Energy(80.0, 80.0)}


def shared_core(record_of, compute, efficiency=0.5):
    """Return a record of two ranks on the single core of b-0, with 2e9 and 1e9 flop, which compute for 5 s each."""
    record = record_of(target("b-0", "b-0"), 10.0, 3e9, (5.0, 5.0))
    return replace(record, rank_flops=(2e9, 1e9), identity={"compute": compute, "efficiency": efficiency})


def test_where_ranks_share_cores_the_flops_tell_the_core_seconds(record_of):
    # 3e9 flop at half of 1e9 flop/s: 6 core-seconds, at least so long busy, at most 10 s.
    loads = record_loads(shared_core(record_of, "injected"), platform())
    assert loads == {"b-0": HostLoad(6.0, 6.0, 10.0)}


def test_where_computation_is_switched_off_nothing_is_computed(record_of):
    loads = record_loads(shared_core(record_of, "none"), platform())
    assert loads == {"b-0": HostLoad(0.0, 5.0, 10.0)}


def test_a_record_s_energy_is_counted_over_its_own_span(record_of):
    record = replace(record_of(target("a-0"), 10.0, 0.0, (4.0,)), energy_span_s=12.0)
    # 10 (12 - 4) + 30 4 + 20 4 / 2.
    assert record_energy(record, platform()) == {"a-0": Energy(240.0, 240.0)}
    both = replace(record_of(target("a-0", "a-0"), 10.0, 0.0, (8.0, 9.0)), energy_span_s=12.0)
    assert record_loads(both, platform()) == {"a-0": HostLoad(17.0, 9.0, 12.0)}


def test_a_record_on_hosts_without_watts_has_no_energy(record_of):
    assert record_energy(record_of(target("b-0"), 10.0, 0.0), platform(small=None)) is None
