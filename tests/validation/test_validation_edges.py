"""Ends of scales, and what cannot be validated."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import validation.campaign
from apps.catalog import problem
from apps.errors import SimulationError
from apps.spec import Target
from platforms.errors import PlatformError, UserError
from platforms.placement import block
from platforms.read import materialise
from platforms.scenario import named_grid
from validation.campaign import read_campaign
from validation.compare import Failure, _check_time
from validation.frequency import compare as frequencies
from validation.hierarchical.communication import kernel_flops
from validation.league.labels import place_labels
from validation.optimize.plots.axes import signed_time_axis
from validation.optimize.plots.models import _margins
from validation.regimes import cli as regimes
from validation.regimes import error_map
from validation.regimes.scaling import Step
from validation.regimes.sweep import Sweep
from validation.regimes.text import coverage_text, means_text
from validation.regimes.thresholds import shares_with_mean
from validation.sendmodes import fit
from validation.truth import read_measured


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


# --- what cannot be compared ---


def test_a_run_that_takes_no_time_has_no_errors(record_of, target):
    with pytest.raises(UserError, match="cg S on 4 ranks of grid4x2: takes no time at all"):
        _check_time(record_of(target, 0.0, 0.0), target)


def test_measured_times_that_are_not_there_are_said(tmp_path):
    with pytest.raises(UserError, match=r"--truth .*none\.csv: cannot be read: No such file"):
        read_measured(tmp_path / "none.csv")


def test_a_campaign_of_too_many_runs_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(validation.campaign, "MOST_CASES", 3)
    path = tmp_path / "campaign.toml"
    path.write_text('scenarios = ["grid4x2", "grid4x4"]\napps = ["cg", "mg"]\nclasses = ["S"]\n')
    with pytest.raises(UserError, match=r"a product of 4 runs\. Ask for at most 3"):
        read_campaign(path)


@pytest.mark.parametrize(("time_s", "text"), [(119, "119 s"), (600, "10 minutes"), (7200, "2 hours")])
def test_durations_are_in_the_unit_that_reads_best(time_s, text):
    assert validation.campaign._duration(time_s) == text


# --- frequencies ---


def test_all_choices_of_frequencies_may_be_too_many_to_simulate():
    levels = SimpleNamespace(frequencies=[SimpleNamespace(levels_hz=range(60))] * 3)
    with pytest.raises(UserError, match="--optimum: 216000 choices would have to be simulated, at most 50000 are"):
        frequencies.optimum(SimpleNamespace(levels=levels), None, None, limit=2.0, objective="energy")


def test_frequencies_need_watts(record_of, target):
    runner = SimpleNamespace(record=lambda spec: record_of(target, 1.0, 1.0))
    with pytest.raises(UserError, match="platform grid4x2: it gives no watts of the hosts in use"):
        frequencies._simulated((1e9,), SimpleNamespace(target=target), runner)


# --- the validity map ---


def test_shares_of_nothing_and_of_everything_have_their_own_pieces():
    # By hand: odds of 1 begin piece 0, and half a decade of odds is a piece.
    assert error_map._bin(0.5) == 0 and error_map._bin(10**0.5 / (1 + 10**0.5) + 1e-9) == 1
    assert error_map._bin(0.0) < error_map._bin(1e-9) < error_map._bin(1 - 1e-9) < error_map._bin(1.0)
    assert error_map._edge(error_map._bin(1.0)) == 1.0 and error_map._edge(0) == 0.5
    assert error_map._floor(0.0) == 0.0 and error_map._floor(0.98765) == 0.987


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
        (UserError("cg", "unknown", "Mend it"), 2, "error: cg: unknown. Mend it."),
        (SimulationError("it hangs"), 1, "it hangs"),
    ],
)
def test_a_case_that_fails_is_said_and_counts(target, capsys, error, status, said):
    assert regimes._say(Failure(target, error)) == status
    assert said in capsys.readouterr().err


def test_without_scenarios_and_ranges_there_is_little_to_say():
    empty = pd.DataFrame({"app": ["cg"], "base_network": ["random"], "predictor": ["p"], "in_range": [None],
                          "network_scale": [1.0], "efficiency_scale": [1.0], "compute_share": [0.5],
                          "error_pct": [1.0], "abs_error_pct": [1.0], "scenario": ["r"]})  # fmt: skip
    assert means_text(empty, "cg") == "no scenarios, no means"
    assert coverage_text(empty) is None


# --- what hierarchical models are compared with ---


def test_what_the_fft_counts_is_five_n_log_n():
    # N = n^2 = 16 points: 5 * 16 * 4.
    assert kernel_flops("fft", 4) == kernel_flops("fftw", 4) == 320


# --- figures ---


def test_an_axis_is_linear_only_where_times_are_below_zero():
    axes = Figure().add_subplot()
    signed_time_axis(axes, np.array([1.0, 2.0]), np.array([0.5, 3.0]))
    assert (axes.get_yscale(), axes.get_ylabel()) == ("log", "time, s")
    signed_time_axis(axes, np.array([2.0, 3.0]), np.array([-0.5, 3.0]))
    assert axes.get_yscale() == "symlog" and "linear to ±1 s" in axes.get_ylabel()


def test_margins_are_equal_on_both_sides_of_either_axis():
    low, high = _margins(np.geomspace(10.0, 1000.0, 5))
    assert 10 / low == pytest.approx(high / 1000) == pytest.approx(100**0.03)
    low, high = _margins(np.linspace(10.0, 20.0, 5))
    assert 10 - low == pytest.approx(high - 20) == pytest.approx(0.3)


def test_an_axis_without_labels_stays_as_it_is():
    axes = Figure().add_subplot()
    place_labels(axes)
    assert not axes.texts


# --- the Li paper's costs ---


@pytest.fixture
def costs(monkeypatch):
    """One machine, its costs in the file's own form."""
    monkeypatch.setattr(fit, "CLUSTERS", {"li-1": None})
    monkeypatch.setattr(fit, "fit_costs", lambda name, platform, runner: name)
    monkeypatch.setattr(fit, "costs_csv", lambda found: f"{found}\n")


def test_fitted_costs_are_printed_or_written(costs, capsys, tmp_path):
    assert fit.main(["--no-store"]) == 0
    assert capsys.readouterr().out == "{'li-1': 'li-1'}\n"
    assert fit.main(["--no-store", "--output", str(tmp_path / "costs.csv")]) == 0
    assert (tmp_path / "costs.csv").read_text() == "{'li-1': 'li-1'}\n"


def test_a_place_where_no_costs_can_be_written_is_said(costs, refused, tmp_path):
    refused(fit.main, ["--no-store", "--output", str(tmp_path)], f"--output {tmp_path}: cannot be written")
