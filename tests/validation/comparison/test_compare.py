"""Comparison of predictions with truths."""

from dataclasses import fields, replace

import pytest

from apps.programs.problem import problem
from apps.results.record import Extrapolation
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import probe_placement
from platforms.read.read import materialise
from predictor.answers.answers import Answer
from predictor.base import Cost, ErrorRange, Evidence, EvidenceRequest, Interval, OutOfRange, Prediction
from validation.comparison.compare import COLUMNS, Failure, Result, compare
from validation.comparison.truth import read_measured
from validation.series.case import Case
from validation.series.series import Series


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, ("c1-0", "c1-1", "c2-0", "c2-1"))


@pytest.fixture
def answer(record_of, target):
    """5 s of which 1.25 s are computation; the evidence is a probe and a run on two nodes."""
    probe = Target(target.problem, target.platform, probe_placement(target.platform))
    pair = Target(target.problem, target.platform, ("c1-0", "c2-0"))
    evidence = (
        Evidence(EvidenceRequest("run", pair), record_of(pair, 0.5, 1.0), "pair", Cost(node_s=1.0, wall_s=0.125)),
        Evidence(
            EvidenceRequest("run", probe),
            record_of(probe, 2.0, 1.0, compute_s=(0.5, 1.5, 0.75, 1.0)),
            "probe",
            Cost(node_s=8.0, wall_s=0.25),
        ),
    )
    prediction = Prediction(
        time_s=5.0,
        parts={"compute_s": 1.25, "comm_s": 3.75},
        flags=("a first caution", "a second caution"),
        error_range=ErrorRange(low_pct=-10.0, high_pct=30.0, samples=20),
        energy_j=600.0,
        interval=Interval(low_s=3.5, high_s=4.5, level=0.9, cases=20, made_of=("cg",)),
        fit_residual=0.125,
    )
    return Answer("model", target, prediction, None, evidence, wall_s=0.0625)


@pytest.fixture
def truth(record_of, target):
    """4 s, extrapolated from 6 of 15 iterations; its hosts are two nodes of each of two clusters."""
    return replace(
        record_of(target, 4.0, 1.0, compute_s=(1.0, 3.0, 2.0, 2.5)),
        identity={"efficiency": 0.75},
        extrapolation=Extrapolation(iterations=15, simulated=6, period=2, period_s=0.5, bound_rel=1e-3),
        energy_j={host.name: 125.0 for host in target.platform.hosts},  # 4 of the 8 hosts are in use
        wall_s=0.5,
    )


def test_a_row_by_hand(answer, truth, target):
    row = {
        "scenario": "grid4x2",
        "network": "gigabit",
        "platform_hash": target.platform.content_hash,
        "app": "cg",
        "class": "S",
        "ranks": 4,
        "mapping": "block",
        "predictor": "model",
        "probe_cp_s": 1.5,  # rank 1 of the probe computes longest
        "probe_cm_s": 0.5,  # 2 - 1.5
        "compute_share": 0.75,  # 3 / 4
        "predicted_s": 5.0,
        "simulated_s": 4.0,
        "error_pct": 25.0,  # 100 (5 - 4) / 4
        "abs_error_pct": 25.0,
        "evidence_node_s": 9.0,  # 8 + 1
        "evidence_share": 0.5625,  # of 4 nodes times 4 s
        "simulation_wall_s": 0.5,
        "prediction_wall_s": 0.0625,
        "evidence_wall_s": 0.375,  # 0.25 + 0.125
        "iterations": 15,  # of CG, class S
        "iterations_simulated": 6,
        "period": 2,
        "extrapolation_bound": 1e-3,
        "efficiency": 0.75,
        "flags": "a first caution; a second caution",
        "truth": "simulation",
        "true_low_s": None,
        "true_high_s": None,
        "in_repeats": None,
        "energy_predicted_j": 600.0,
        "energy_simulated_j": 500.0,  # 4 x 125
        "energy_error_pct": 20.0,  # 100 (600 - 500) / 500
        "edp_predicted_js": 3000.0,  # 600 x 5
        "edp_simulated_js": 2000.0,  # 500 x 4
        "energy_basis": None,
        "predicted_compute_share": 0.25,  # 1.25 / 5
        "range_low_pct": -10.0,
        "range_high_pct": 30.0,
        "in_range": True,  # -10 <= 25 <= 30
        "interval_low_s": 3.5,
        "interval_high_s": 4.5,
        "in_interval": True,
        "feature_compute_share": 0.25,
        "feature_ratio": 1.0,  # the probe has 4 ranks, as the target
        "feature_fit_residual": 0.125,
        "feature_surroundings": "grid",
        "simulated_node_s": 16.0,
        "clusters": "c1 c2",
        # On a host of 40 Gflop/s alone: 1 + 3 s of c1, and 2 + 2.5 s of 50 Gflop/s, together 9.625 s.
        "speedup_predicted": 1.925,
        "speedup_simulated": 2.40625,
    }
    assert compare(answer, truth, mapping="block").to_json() == row
    assert tuple(row) == COLUMNS


def test_a_row_without_an_answer_has_the_values_of_the_truth_alone(answer, truth):
    refused = replace(answer, prediction=None, error=OutOfRange("model", "out of range", "Take another"), evidence=())
    row, full = compare(refused, truth, mapping="block"), compare(answer, truth, mapping="block")
    missing = {
        *("probe_cp_s", "probe_cm_s", "predicted_s", "error_pct", "abs_error_pct", "energy_predicted_j"),
        *("energy_error_pct", "edp_predicted_js", "predicted_compute_share", "range_low_pct", "range_high_pct"),
        "in_range",
        *("interval_low_s", "interval_high_s", "in_interval"),
        *("feature_compute_share", "feature_ratio", "feature_fit_residual", "feature_surroundings"),
        "energy_basis",
        "true_low_s",
        "true_high_s",
        "in_repeats",
        "speedup_predicted",
    }
    assert {field.name for field in fields(Result) if getattr(row, field.name) is None} == missing
    flags = "model: out of range. Take another."
    others = {"evidence_node_s": 0, "evidence_share": 0, "evidence_wall_s": 0, "flags": flags}
    assert row == replace(full, **dict.fromkeys(missing), **others)


def test_a_measured_truth_has_no_iterations_bound_or_energy(answer, truth):
    measured = replace(truth, source="measurement", extrapolation=None, energy_j=None, compute_s=())
    row = compare(answer, measured, mapping="block")
    assert (row.truth, row.iterations, row.iterations_simulated, row.period) == ("measurement", 15, 0, None)
    assert row.extrapolation_bound is None and row.compute_share is None
    assert (row.energy_simulated_j, row.energy_error_pct, row.edp_simulated_js) == (None, None, None)
    assert (row.energy_predicted_j, row.edp_predicted_js) == (600.0, 3000.0)


def test_a_truth_that_is_simulated_in_full_has_a_bound_of_0(answer, truth):
    row = compare(answer, replace(truth, extrapolation=None), mapping="block")
    assert (row.iterations_simulated, row.period, row.extrapolation_bound) == (15, None, 0)


def test_an_error_beyond_the_range_is_not_in_range(answer, truth):
    assert compare(answer, replace(truth, time_s=3.75), mapping="block").in_range is False  # 33 %


def test_a_run_that_takes_no_time_has_no_errors(record_of, target):
    def simulate(spec, *, stop=None):
        return record_of(spec.target, 0.0, 0.0)

    with Runner(jobs=1, simulate=simulate, identify=lambda spec: spec.identity()) as runner:
        ((_, outcome),) = Series((Case(target, "block", Settings()),), ()).outcomes(runner)
    assert isinstance(outcome, Failure) and isinstance(outcome.error, UserError)
    assert str(outcome.error).startswith("cg S on 4 ranks of grid4x2: takes no time, so that relative errors")


def test_measured_times_that_are_not_there_are_said(tmp_path):
    with pytest.raises(UserError, match=r"--truth .*none\.csv: cannot be read: No such file"):
        read_measured(tmp_path / "none.csv")
