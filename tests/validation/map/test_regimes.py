"""The validity map: scaled networks, thresholds by hand, ranges, and the command end to end."""

import errno
import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from apps.errors import SimulationError
from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import PlatformError, UserError
from platforms.grids.grid import Wire
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from validation.comparison.compare import Failure
from validation.map import cli
from validation.map import cli as regimes
from validation.map.cli import coverage_range, error_map, map_text
from validation.map.figure import regimes_figure
from validation.map.output import coverage_text, means_text, sentences, share_text, show
from validation.map.sweep import SWEEP_COLUMNS, Step, Sweep, results_table, scaled
from validation.map.thresholds import (
    cases_hold_from,
    mean_curve,
    mean_holds_from,
    published_shares,
    shares_with_mean,
    thresholds,
)


def test_a_scaled_network_has_so_much_more_bandwidth_and_less_latency():
    # networks.toml, gigabit: 1 Gbit/s and 50 us, 10 Gbit/s and 50 us, 10 Gbit/s and 100 us; powers of two are exact.
    grid = named_grid("grid4x2")
    made = scaled(grid, 8.0)
    assert {cluster.node for cluster in made.clusters} == {Wire(1e9, 50e-6 / 8)}
    assert {cluster.backbone for cluster in made.clusters} == {Wire(1e10, 50e-6 / 8)}
    assert {link.wire for link in made.wan_links} == {Wire(1e10, 100e-6 / 8)}
    assert [c.speed_flops for c in made.clusters] == [c.speed_flops for c in grid.clusters]
    assert (made.name, made.network) == ("grid4x2", "gigabit x 8")


def test_scaling_back_and_by_one_leaves_a_grid_as_it_was():
    grid = random_grid(3, 1)
    assert scaled(grid, 1.0) is grid
    assert replace(scaled(scaled(grid, 1024.0), 1 / 1024), network=grid.network) == grid


def test_only_the_ratio_of_network_and_efficiency_matters():
    # By dimensions: if latencies, 1 / bandwidths and computation times are s times smaller, all times are.
    def run(network, efficiency):
        platform = materialise(scaled(named_grid("grid4x2"), network))
        spec = Settings(efficiency=repr(efficiency)).spec(Target(problem("cg", "S"), platform, block(platform, 8)))
        return simulate(spec)

    near, far = run(1.0, 0.005), run(100.0, 0.5)
    assert far.time_s == pytest.approx(near.time_s / 100, rel=1e-6)
    assert max(far.compute_s) / far.time_s == pytest.approx(max(near.compute_s) / near.time_s, rel=1e-6)
    assert Step(1.0, 0.005).ratio == pytest.approx(Step(100.0, 0.5).ratio)


def test_steps_go_from_the_slowest_network_to_the_fastest():
    steps = Sweep((), network_scales=(10.0, 1.0), efficiency_scales=(1.0, 0.1)).steps
    assert [step.ratio for step in steps] == pytest.approx([1, 10, 10, 100])


def test_every_case_holds_from_the_share_above_the_last_that_does_not():
    shares, errors = [0.1, 0.5, 0.6, 0.9, 0.95], [-4.0, 30.0, 8.0, -6.0, 1.0]
    assert [cases_hold_from(shares, errors, limit) for limit in (5, 10, 20, 40)] == [0.95, 0.6, 0.6, 0.1]
    assert cases_hold_from(shares, errors, 0.5) is None
    assert cases_hold_from([0.9, 0.9], [1.0, 30.0], 10) is None  # equal shares: one of the cases exceeds the limit


def test_the_mean_crosses_a_limit_between_two_steps():
    # By hand: odds 1 and 9, 1/9 and 1: halfway in the logarithms lie odds 3 and 1/3, and the error sqrt(20 x 5) = 10.
    assert mean_holds_from([0.5, 0.9], [20.0, 5.0], 10.0) == pytest.approx(0.75)
    assert mean_holds_from([0.1, 0.5, 0.9], [20.0, 5.0, 1.0], 10.0) == pytest.approx(0.25)
    assert mean_holds_from([0.5, 0.9], [8.0, 5.0], 10.0) == 0.5
    assert mean_holds_from([0.5, 0.9], [5.0, 20.0], 10.0) is None


def test_shares_at_which_the_mean_is_a_given_one():
    assert shares_with_mean([0.1, 0.5, 0.9], [5.0, 20.0, 5.0], 10.0) == pytest.approx([0.25, 0.75])
    assert shares_with_mean([0.5, 0.9], [10.0, 5.0], 10.0) == [0.5]
    assert shares_with_mean([0.5, 0.9], [20.0, 15.0], 10.0) == []


def rows_of(*cases, predictor="hcf", app="cg", **more):
    """Results of a sweep from (scenario, network scale, compute share, error %)."""
    blank = dict.fromkeys(SWEEP_COLUMNS)
    return [
        blank
        | {
            "scenario": scenario, "app": app, "class": "B", "predictor": predictor, "ranks": 8,
            "base_network": "gigabit",
            "network_scale": scale, "efficiency_scale": 1.0, "compute_share": share, "error_pct": error,
            "abs_error_pct": abs(error), "predicted_compute_share": share / 2,
        }
        | more
        for scenario, scale, share, error in cases
    ]  # fmt: skip


HAND_MADE = (("a", 1, 0.4, 30.0), ("b", 1, 0.6, -10.0), ("a", 10, 0.85, 6.0), ("b", 10, 0.95, -4.0))


def test_means_are_over_the_scenarios_of_a_step_and_leave_random_grids_out():
    lone = rows_of(("random-1-0", 1, 0.2, 90.0), base_network="random")
    curve = mean_curve(results_table([*rows_of(*HAND_MADE), *lone]))
    means = curve[["compute_share", "abs_error_pct", "error_pct", "cases"]].to_numpy(float)
    assert means == pytest.approx(np.array([[0.5, 20.0, 10.0, 2], [0.9, 5.0, 1.0, 2]]))


def test_thresholds_of_every_case_and_of_the_mean():
    table = thresholds(results_table(rows_of(*HAND_MADE)))
    assert table["limit_pct"].to_list() == [5, 10, 20]
    assert table["cases_from"].to_list() == [0.95, 0.6, 0.6]
    assert table["mean_from"].to_list() == pytest.approx([0.9, 0.75, 0.4])  # as above; the last: everywhere
    assert set(table["least_share"]) == {0.4}


def test_on_several_networks_the_mean_must_hold_on_each():
    other = rows_of(("a", 1, 0.1, 20.0), ("a", 10, 0.5, 5.0), base_network="metro")
    never = rows_of(("a", 1, 0.1, 20.0), ("a", 10, 0.5, 15.0), base_network="metro")
    table = thresholds(results_table([*rows_of(*HAND_MADE), *other]))
    assert table["mean_from"][1] == pytest.approx(0.75)
    assert pd.isna(thresholds(results_table([*rows_of(*HAND_MADE), *never]))["mean_from"][1])


def test_the_sentences_say_limits_shares_and_the_published_error():
    results = results_table([*rows_of(*HAND_MADE), *rows_of(("a", 1, 0.4, 70.0), predictor="hcf:printed")])
    published = published_shares(results, {"cg": 10.0})
    assert sentences(thresholds(results), published, errors_pct={"cg": 10.0}) == [
        "cg: the compute share of the run from which on |error| stays below 5, 10 and 20 %, in every case and in the "
        "mean over the scenarios:",
        "    hcf: 95.0 % / 60 % / 60 % in every case; 90 % / 75 % / everywhere in the mean",
        "    hcf:printed: never in every case; never in the mean",
        "    the published mean error of 10 % is that of: hcf at 75 %; hcf:printed never",
    ]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50 %"), (0.501, "51 %"), (0.034, "3.4 %"), (0.99874, "99.88 %"), (0.975, "97.5 %"), (1.0, "100 %"),
     (0.999996, "99.99960 %"), (0.00012, "0.012 %"), (None, "never"), (float("nan"), "never")],
)  # fmt: skip
def test_shares_are_rounded_up_to_two_digits_of_what_is_small(share, text):
    assert share_text(share) == text


def test_a_range_of_19_is_from_the_smallest_to_the_largest_and_one_of_39_leaves_one_out_on_each_side():
    # Wilks 1941: the next value lies between the k-th smallest and k-th largest of n with (n + 1 - 2 k) / (n + 1):
    # 18 of 20 and 36 of 40, both 90 %.
    assert coverage_range([float(i) for i in range(19)]) == (0.0, 18.0)
    assert coverage_range([float(i) for i in range(39)]) == (1.0, 37.0)


def test_pieces_of_the_map_are_half_decades_and_small_ones_are_joined():
    # Own shares of 1/2 and 3/4: odds 1 and 3, in the half decades from 1 to sqrt(10) = 3.162; 0.9: odds 9, the next.
    many = [(f"s{i}", 1, 2 * 0.5, float(i)) for i in range(10)] + [(f"s{i}", 1, 2 * 0.75, 50.0) for i in range(9)]
    full = [(f"s{i}", 1, 2 * 0.9, -float(i)) for i in range(19)]
    few = [("x", 1, 2 * 0.99, 5.0)]
    table = error_map(results_table(rows_of(*many, *full, *few)))
    edge = 10**0.5 / (1 + 10**0.5)
    assert table["share_from"].to_list() == pytest.approx([0.5, edge])
    assert table["share_to"].to_list() == pytest.approx([edge, 1.0])
    assert table["samples"].to_list() == [19, 20]
    assert table[["low_pct", "high_pct"]].to_numpy().tolist() == [[0.0, 50.0], [-18.0, 5.0]]
    assert error_map(results_table(rows_of(*few))).empty


def test_a_range_holds_on_every_network():
    # By hand, as above: 1 to 37 % of 39 on one, -30 to -12 % of 19 on the other; of the 58 as one k = 2: -29 to 37 %.
    one = [(f"s{i}", 1, 2 * 0.5, float(i)) for i in range(39)]
    other = [(f"s{i}", 1, 2 * 0.5, float(i) - 30) for i in range(19)]
    table = error_map(results_table([*rows_of(*one), *rows_of(*other, base_network="metro")]))
    assert table[["low_pct", "high_pct"]].to_numpy().tolist() == [[-30.0, 37.0]]


def test_a_map_says_what_it_is_of():
    text = map_text(results_table(rows_of(*HAND_MADE)), "gridval series map --app cg")
    assert "# Made by: gridval series map --app cg\n" in text
    assert "simulated runs of cg B\n# on a, b;\n" in text


def test_the_figure_has_cases_means_limits_and_the_published_error():
    figure = regimes_figure(results_table(rows_of(*HAND_MADE)), "cg", 4.36)
    (axes,) = figure.axes
    cases, means = (line.get_xydata() for line in axes.lines[:2])
    assert cases == pytest.approx(np.array([(share, abs(error)) for _, _, share, error in HAND_MADE]))
    assert means == pytest.approx(np.array([(0.5, 20.0), (0.9, 5.0)]))
    levels = {line.get_ydata()[0] for line in axes.lines[2:]}
    assert levels == {5.0, 10.0, 20.0, 4.36}
    assert (axes.get_xscale(), axes.get_yscale()) == ("logit", "log")


SMALL = ["--scenario", "grid4x2", "--app", "cg", "--class", "S", "--network-scales", "100,1e4", "--jobs", "1",
         "--efficiency-scales", "1,0.316", "--predictor", "hcf:printed,hcf,hcf:constant"]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The output folder of the command on a small sweep, and its store."""
    folder = tmp_path_factory.mktemp("regimes")
    arguments = [*SMALL, "--store", str(folder / "store"), "--out", str(folder), "--write-map", str(folder / "map.csv")]
    assert cli.main(arguments) == 0
    return folder


def test_the_command_sweeps_from_communication_to_computation(made):
    results = pd.read_csv(made / "results.csv")
    assert list(results.columns) == list(SWEEP_COLUMNS)
    hcf = results[results["predictor"] == "hcf"]
    assert hcf["compute_share"].is_monotonic_increasing and len(hcf) == 4
    # HCF's equations with computation alone: the corrected ones are exact, the printed ones give 70 / 40 of the truth.
    last = results.groupby("predictor").last()["error_pct"]
    assert abs(last["hcf"]) < 2 and last["hcf:printed"] == pytest.approx(75, abs=2)
    assert {path.name for path in made.glob("*.csv")} == {
        "results.csv", "thresholds.csv", "means.csv", "published.csv", "map.csv"
    }  # fmt: skip
    assert (made / "regimes-cg.png").stat().st_size > 10_000 and (made / "regimes-cg.svg").exists()


def test_results_say_whether_the_error_lies_in_the_range_of_the_map(made):
    results = pd.read_csv(made / "results.csv")
    parts = results["predicted_compute_share"]
    assert parts.between(0, 1).all() and parts.nunique() == len(results)
    shown = results[results["range_low_pct"].notna()]
    assert len(shown) > 0 and results.loc[results["range_low_pct"].isna(), "in_range"].isna().all()
    inside = shown["error_pct"].between(shown["range_low_pct"], shown["range_high_pct"])
    assert shown["in_range"].map(str).to_list() == inside.map(str).to_list()


def test_a_second_time_nothing_is_simulated_and_json_has_it_all(made, capsys):
    assert cli.main([*SMALL, "--store", str(made / "store"), "--json"]) == 0
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert set(said) == {"thresholds", "published", "means", "results", "cautions"}
    assert len(said["results"]) == 12
    assert captured.err.startswith("4 cases, 3 predictors\n")
    assert " s] " not in captured.err  # no progress line of a run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--network-scales", "0,1"], "--network-scales 0,1: not positive numbers"),
     (["--efficiency-scales", "1000"], "not in (0, 1]"),
     (["--mapping", "spiral"], "no such mapping"),
     (["--scenario", "none"], "no grids are left"),
     (["--random", "-1"], "--random -1: negative"),
     (["--network", "tin-cans"], "no such network"),
     (["--scenario", "grid4x2", "--ranks", "9"], "9 ranks do not fit"),
     (["--predictor", "oracle"], "no such model"),
     (["--app", "himeno"], "himeno has no classes")],
)  # fmt: skip
def test_bad_input_is_said_in_one_line(refused, arguments, message):
    refused(cli.main, [*arguments, "--no-store"], message)


def test_random_grids_alone_have_no_means_and_are_drawn_all_the_same():
    lone = rows_of(("random-1-0", 1, 0.2, 90.0), ("random-1-1", 10, 0.9, 4.0), base_network="random")
    table = thresholds(results_table(lone))
    assert table["mean_from"].isna().all()
    assert table["cases_from"].to_list() == [0.9, 0.9, 0.9]
    (axes,) = regimes_figure(results_table(lone), "cg").axes
    assert "hcf" in {line.get_label() for line in axes.lines}


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


def test_shares_of_nothing_and_of_everything_have_their_own_pieces():
    # By hand: half decades of the odds begin at 10^(k/2); those of the shares begin at 10^-9, 1/2, 10^8.5 and 10^9.
    shares = (0.0, 2e-9, 0.6, 1 - 2e-9, 1.0)
    cases = [(f"s{i}", 1, 2 * share, float(i)) for share in shares for i in range(19)]
    table = error_map(results_table(rows_of(*cases)))
    assert table["samples"].to_list() == [19] * 5
    ends = [0.0, 3.16227765e-09, 10**0.5 / (1 + 10**0.5), 0.999999999, 1.0]
    assert table["share_to"].to_list() == pytest.approx(ends, rel=1e-9)
    assert table["share_from"].to_list() == [0.0, *table["share_to"][:-1]]
    assert table["true_share_low"].to_list() == pytest.approx([2 * share for share in shares], rel=1e-3)


def test_a_map_begins_at_the_smallest_share_rounded_down_to_three_digits():
    table = error_map(results_table(rows_of(*((f"s{i}", 1, 2 * 0.98765, float(i)) for i in range(19)))))
    assert table[["share_from", "share_to"]].to_numpy().tolist() == [[0.987, 1.0]]


def test_a_mean_that_is_reached_at_the_last_step_counts():
    assert shares_with_mean([0.1, 0.5], [20.0, 5.0], 5.0) == [0.5]
    assert shares_with_mean([0.1, 0.5], [5.0, 20.0], 5.0) == [0.1]


def test_a_scale_is_positive():
    with pytest.raises(PlatformError, match="scale of the network: 0 is not positive"):
        Step(0, 1.0)


def test_random_grids_take_the_steps_in_turn():
    sweep = Sweep((), scenarios=(), network_scales=(1.0, 2.0), efficiency_scales=(1.0,), random_grids=3)
    assert [step.network for _, step in sweep.grids()] == [1.0, 2.0, 1.0]


def test_scales_that_are_no_numbers_are_refused(refused):
    refused(regimes.main, ["--network-scales", "1,fast"], "--network-scales 1,fast: not positive numbers")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UserError("cg", "unknown", "Change it"), 2, "error: cg: unknown. Change it."),
        (SimulationError("it hangs"), 1, "it hangs"),
    ],
)
def test_a_case_that_fails_is_said_and_counts(target, capsys, monkeypatch, error, status, said):
    def failing(self, *_, **__):
        yield self.cases[0], Failure(target, error)

    monkeypatch.setattr("validation.series.series.Series.outcomes", failing)
    assert regimes.main([*SMALL, "--no-store"]) == status
    assert said in capsys.readouterr().err


def test_without_scenarios_and_ranges_there_is_little_to_say():
    empty = pd.DataFrame({"app": ["cg"], "base_network": ["random"], "predictor": ["p"], "in_range": [None],
                          "network_scale": [1.0], "efficiency_scale": [1.0], "compute_share": [0.5],
                          "error_pct": [1.0], "abs_error_pct": [1.0], "scenario": ["r"]})  # fmt: skip
    assert means_text(empty, "cg") == "no scenarios, no means"
    assert coverage_text(empty) is None


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_tables_of_a_sweep_are_written_so(tmp_path, monkeypatch):
    monkeypatch.setattr("validation.map.output.write_csv", full)
    with pytest.raises(UserError, match=r"--out .*: cannot be written: No space"):
        show(results_table(rows_of(*HAND_MADE)), tmp_path, as_json=True)


def test_a_program_of_ones_own_and_a_kernel_of_a_size_are_swept_too(computing, capsys):
    grid = computing.parent / "two.toml"
    grid.write_text('[[clusters]]\nname = "a"\nnodes = 2\nspeed_gflops = 40\n')
    swept = (
        f"--scenario {grid} --network-scales 1 --efficiency-scales 1,0.1 --predictor dpgraph:known --no-store".split()
    )
    assert cli.main([*swept, "--program", str(computing), "--program-args", "8e11", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    # By hand: 8e11 operations on two nodes of 40 Gflop/s take 10 s, and on nodes of a tenth of the speed 100 s.
    times = {row["efficiency_scale"]: row["simulated_s"] for row in rows}
    assert times == pytest.approx({1.0: 10, 0.1: 100}, rel=1e-3)
    assert cli.main([*swept, "--app", "himeno", "--size", "16", "--param", "niter=2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert {(row["app"], row["class"]) for row in rows} == {("himeno", "16 niter=2")}
