"""Frequency levels of nodes, and the choice among them."""

import json
from itertools import product
from pathlib import Path

import pytest

import validation.run
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import PlatformError, UserError
from platforms.grids.scenario import named_grid, read_grid
from platforms.model.frequency import Frequencies, known_frequencies, parse_frequency
from platforms.model.placement import block
from platforms.model.platform import Power
from platforms.options import at_frequency
from platforms.read.read import materialise
from predictor.answers.answers import fit
from predictor.clock import search
from predictor.clock.cli import main
from predictor.clock.levels import Levels, at_maximum
from predictor.evidence.broker import Broker
from predictor.registry import predictor

CAMPUS = Path(__file__).parents[3] / "examples" / "platforms" / "campus.xml"
TWO = """
[[clusters]]
nodes = 2
speed_gflops = 40
frequencies = { max_ghz = 2.5, min_ghz = 1.3, step_ghz = 0.4 }
[[clusters]]
nodes = 2
speed_gflops = 70
frequencies = { max_ghz = 3.0, min_ghz = 1.0, step_ghz = 0.5, dynamic_exponent = 2 }
frequency_ghz = 1.5
"""


@pytest.fixture
def two(tmp_path):
    """Two clusters of 4 and 5 levels, the second at 1.5 GHz."""
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    return path


# Charr, Couturier, Fanfakh, Giersch 2015, table of node types: maximum, minimum, step; by hand 1 + range / step levels.
@pytest.mark.parametrize(
    ("gflops", "highest", "second", "lowest", "levels"),
    [(40, 2.5, 2.4, 1.2, 14), (50, 2.66, 2.527, 1.6, 9), (60, 2.9, 2.8, 1.2, 18)],
)
def test_the_node_types_of_the_grid_papers_have_the_published_levels(gflops, highest, second, lowest, levels):
    found = known_frequencies(gflops * 1e9)
    assert len(found.levels_hz) == levels
    assert [hz / 1e9 for hz in (*found.levels_hz[:2], found.levels_hz[-1])] == pytest.approx([highest, second, lowest])


def test_what_is_not_published_is_marked():
    assert known_frequencies(40e9).assumed == known_frequencies(50e9).assumed == ()
    assert known_frequencies(60e9).assumed == ("step_ghz",)
    assert known_frequencies(70e9).assumed == ("max_ghz", "min_ghz", "step_ghz")
    assert known_frequencies(41e9) is None


def test_dynamic_power_goes_as_the_cube_of_the_frequency_and_idle_power_stays():
    # By hand: at half the frequency an eighth of 20 W above 4 W.
    levels = Frequencies(2e9, 1e9, 1e9)
    power = levels.power(Power(4, 24, 4), 1e9)
    assert (power.idle_w, power.full_w, power.epsilon_w) == (4, 6.5, 4)
    assert levels.slowdown(1e9) == 2


def test_simgrid_sees_a_pstate_for_each_level_and_begins_with_the_chosen_one(two):
    # By hand: 70 Gflop/s at 3 GHz are 35 at 1.5; 7 W idle and 35 W dynamic, a quarter of it (exponent 2).
    first, second = materialise(read_grid(two)).clusters
    host = second.hosts[0]
    assert host.speed_flops == pytest.approx(35e9)
    assert [state.speed_flops for state in host.pstates] == pytest.approx([x * 70e9 / 3 for x in (1.5, 3, 2.5, 2, 1)])
    assert (host.power.idle_w, host.power.full_w) == (pytest.approx(7), pytest.approx(7 + 35 / 4))
    assert host.pstates[1].power.full_w == pytest.approx(42)
    assert (first.speed_flops, len(first.hosts[0].pstates)) == (40e9, 4)


def test_a_grid_without_levels_is_the_file_that_it_was():
    assert materialise(named_grid("grid4x2")).hosts[0].pstates == ()


def test_computation_takes_longer_in_proportion_and_its_energy_less(two):
    # By hand: at 1.3 of 2.5 GHz flops take 2.5 / 1.3 as long, and dynamic energy is (1.3 / 2.5)^2 of what it was.
    slowed, records = 2.5 / 1.3, {}
    for text in ("max", "1.3,max"):
        platform = materialise(at_frequency(read_grid(two), text))
        target = Target(problem("ep", "S"), platform, block(platform, 4))
        records[text] = simulate(Settings().spec(target))
    fast, slow = records.values()
    assert slow.compute_s[0] == pytest.approx(slowed * fast.compute_s[0], rel=1e-9)
    assert slow.compute_s[3] == pytest.approx(fast.compute_s[3], rel=1e-9)
    dynamic_j = [record.energy_j["c1-0"] - 4 * record.energy_span_s for record in (fast, slow)]
    assert dynamic_j[1] == pytest.approx(dynamic_j[0] / slowed**2, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2.5,1.6,1.2", "3 frequencies for 2 clusters"),
        ("fast", "'fast' is not a frequency"),
        ("2.0", "--frequency 2.0, cluster a: no level of 2 GHz. Levels: 2.5, 1.5 GHz"),
    ],
)
def test_what_is_no_level_is_refused(text, message):
    clusters = [("a", Frequencies(2.5e9, 1.5e9, 1e9)), ("b", Frequencies(2e9, 1e9, 1e9))]
    with pytest.raises(PlatformError) as error:
        parse_frequency(text, clusters)
    assert message in str(error.value)


def test_frequencies_are_given_for_all_clusters_or_each():
    clusters = [("a", Frequencies(2.5e9, 1.5e9, 1e9)), ("b", Frequencies(2e9, 1e9, 1e9))]
    assert parse_frequency("min", clusters) == (1.5e9, 1e9)
    assert parse_frequency("max, 1", clusters) == (2.5e9, 1e9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("step_ghz = 0.4", "step_ghz = 0"), "the step is not positive"),
        (("min_ghz = 1.3", "min_ghz = 3"), "not a range"),
        (("step_ghz = 0.4", "step = 0.4"), "unknown key 'step'"),
        (("frequency_ghz = 1.5", "frequency_ghz = 1.7"), "no level of 1.7 GHz"),
        (("[[clusters]]\nnodes", "[[clusters]]\nfrequency_ghz = 2\nname = 'x'\nnodes"), "no level of 2 GHz"),
    ],
)
def test_faulty_levels_in_a_scenario_file_are_refused(two, change, message):
    two.write_text(TWO.replace(*change, 1))
    with pytest.raises(PlatformError, match=message):
        read_grid(two)


def test_the_frequency_is_part_of_the_platform_and_not_of_a_file(two, refused):
    grid = read_grid(two)
    assert materialise(at_frequency(grid, "max")).content_hash != materialise(at_frequency(grid, "min")).content_hash
    refused(
        validation.run.main,
        ["--platform", str(CAMPUS), "--frequency", "min"],
        "--frequency: does not go with --platform",
    )


def test_nodes_of_an_unknown_type_have_no_levels():
    with pytest.raises(PlatformError, match="frequencies of its nodes are not known"):
        at_frequency(named_grid("li-1"), "min")


def levels_of(grid, name="dpgraph:known", app="cg"):
    grid = at_maximum(grid)
    platform = materialise(grid)
    target = Target(problem(app, "S"), platform, block(platform, len(platform.hosts)))
    with Runner(jobs=1) as runner:
        model, _ = fit(predictor(name), [target], Broker.of(Settings(), [target], runner))
    return Levels(grid, target, model)


def test_hcf_stretches_the_computation_and_leaves_the_communication(two):
    levels = levels_of(read_grid(two), "hcf:constant")
    base = levels.model.predict(levels.target)
    slow = levels.point((1.3e9, 1e9))
    # By hand: c1 2.5 / 1.3 and c2 3 times as long; the probe's communication is unchanged.
    compute_s = [base.loads[host].core_s * slower for host, slower in (("c1-0", 2.5 / 1.3), ("c2-0", 3.0))]
    assert slow.time_s == pytest.approx(base.parts["comm_s"] + max(compute_s))
    watts = [20 * (1.3 / 2.5) ** 3, 35 / 9]
    dynamic_j = 2 * sum(w * s for w, s in zip(watts, compute_s, strict=True))
    assert slow.energy_j == pytest.approx((2 * 4 + 2 * 7) * slow.time_s + dynamic_j)


@pytest.fixture
def levels(two):
    return levels_of(read_grid(two, "infiniband"), app="mg")


@pytest.mark.parametrize(("limit", "objective"), [(1.02, "energy"), (1.2, "energy"), (float("inf"), "edp")])
def test_the_search_finds_what_going_through_all_finds(monkeypatch, levels, limit, objective):
    points = [levels.point(hz) for hz in product(*(one.levels_hz for one in levels.frequencies))]
    limit_s = limit * levels.point(levels.highest).time_s
    value = search.OBJECTIVES[objective]
    least = min(value(one.time_s, one.energy_j) for one in points if one.time_s <= limit_s)
    exhaustive = search.best(levels, time_limit=limit, objective=objective)
    assert (exhaustive.choices, exhaustive.gap) == (20, 0)
    monkeypatch.setattr(search, "EXHAUSTIVE", 1)
    fresh = Levels(levels.grid, levels.target, levels.model)
    found = search.best(fresh, time_limit=limit, objective=objective, evaluations=15)
    for one in (exhaustive, found):
        assert one.point.time_s <= limit_s
        assert value(one.point.time_s, one.point.energy_j) == pytest.approx(least, rel=1e-12)


def test_the_gap_is_an_upper_bound_of_what_is_lost(monkeypatch, levels):
    points = [levels.point(hz) for hz in product(*(one.levels_hz for one in levels.frequencies))]
    monkeypatch.setattr(search, "EXHAUSTIVE", 1)
    fresh = Levels(levels.grid, levels.target, levels.model)
    found = search.best(fresh, evaluations=1)  # the highest frequencies, and nothing else
    assert found.point.frequencies_hz == levels.highest
    least = min(point.energy_j for point in points)
    assert found.gap >= 1 - least / found.point.energy_j > 0


def test_ranks_that_wait_make_slower_nodes_cost_no_time(levels):
    # The ranks of c2 compute for 40 / 70 of the time of those of c1 and wait for the rest.
    slower = levels.point((2.5e9, 2.5e9))
    highest = levels.point(levels.highest)
    assert slower.time_s < 1.002 * highest.time_s
    assert slower.energy_j < highest.energy_j


@pytest.mark.parametrize(
    ("options", "error"),
    [({"time_limit": 0.9}, "less than the time at the highest"), ({"objective": "joy"}, "Known: energy, edp")],
)
def test_searches_that_mean_nothing_are_refused(levels, options, error):
    with pytest.raises(UserError, match=error):
        search.best(levels, **options)


def test_the_command_gives_times_and_energies_and_the_best(capsys, two):
    arguments = f"--scenario {two} --app ep --class S --predictor hcf:constant --time-limit 1.5 --no-store --json"
    assert main(arguments.split()) == 0
    (study,) = json.loads(capsys.readouterr().out)["studies"]
    assert [len(points) for points in study["clusters"].values()] == [4, 5]
    assert study["best"]["time_s"] <= 1.5 * study["highest"]["time_s"]
    assert study["best"]["energy_j"] < study["highest"]["energy_j"]
    assert set(study["best"]["frequency_ghz"]) == {"c1", "c2"}
    assert study["best"]["option"].count(",") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--scenario grid4x2 --frequency max", "the command chooses the frequencies itself"),
        ("--scenario grid4x2 --predictor npt", "does not take the speed of nodes into account"),
        ("--scenario li-1", "frequencies of its nodes are not known"),
        ("--platform some.xml", "Give --scenario"),
    ],
)
def test_bad_input_gets_one_line(refused, arguments, message):
    refused(main, arguments.split(), message)


def test_a_program_of_ones_own_slows_down_with_its_nodes(computing, capsys):
    # By hand: 40 Gflop/s at 2.5 GHz are 19.2 at 1.2 GHz: 8e11 operations on two nodes take 10 s and 20.8 s.
    command = ["--scenario", "grid1x2", "--speeds", "40", "--predictor", "dpgraph:known", "--no-store", "--json"]
    assert main([*command, "--program", str(computing), "--program-args", "8e11"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["studies"]
    assert found["highest"]["time_s"] == pytest.approx(10, rel=1e-3)
    assert found["lowest"]["time_s"] == pytest.approx(10 * 2.5 / 1.2, rel=1e-3)
