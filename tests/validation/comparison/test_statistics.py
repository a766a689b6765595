"""Statistics of errors by hand, and the exit status based on them."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

from validation.campaign import main as campaign
from validation.comparison.metrics import RESAMPLES, SEED, SUMMARY_COLUMNS, statistics, summarise, summary_rows
from validation.comparison.rows import records
from validation.output import too_wrong
from validation.presentation.tables import summary_text
from validation.run import main

RUN = "--scenario grid4x2 --app mg --class S --predictor hcf".split()


def results(rows):
    """Result rows of (predictor, app, predicted s, simulated s); None: no answer."""
    table = pd.DataFrame(rows, columns=["predictor", "app", "predicted_s", "simulated_s"])
    table["error_pct"] = 100 * (table["predicted_s"].astype(float) / table["simulated_s"] - 1)
    return table.assign(energy_error_pct=math.nan)


def test_errors_have_mean_median_largest_and_determination():
    # By hand: |errors| 50, 0, 50, 10 %; SS_res = 0.25 + 0 + 4 + 1 = 5.25; mean truth 4.25; SS_tot = 10.5625 + 5.0625
    # + 0.0625 + 33.0625 = 48.75.
    found = statistics([50, 0, -50, 10], [1.5, 2, 2, 11], [1, 2, 4, 10])
    assert (found.n, found.mean_pct, found.mean_abs_pct, found.median_abs_pct, found.max_abs_pct) == (
        *(4, 2.5, 27.5, 30, 50),
    )
    assert found.r2 == pytest.approx(1 - 5.25 / 48.75, rel=1e-12)


def test_exact_predictions_have_determination_1_and_the_mean_of_the_truths_0():
    assert statistics([0, 0], [1, 3], [1, 3]).r2 == 1
    assert statistics([100, -33.3], [2, 2], [1, 3]).r2 == 0
    assert statistics([0, 10], [1, 1.1], [1, 1]).r2 is None  # the truths do not differ


def test_equal_errors_have_a_point_as_interval():
    found = statistics([-7, 7, -7, 7, 7], [1] * 5, range(1, 6))
    assert (found.low_pct, found.high_pct) == (7, 7)


def test_two_errors_have_the_interval_between_them():
    # By hand: the mean of two draws from 1 and 3 is 1 or 3 with probability 1/4 each, both more than 2.5 %.
    found = statistics([1, 3], [1, 1], [1, 2])
    assert (found.low_pct, found.high_pct) == (1, 3)


def test_a_single_error_has_no_interval_and_none_has_nothing():
    found = statistics([5], [1.05], [1])
    assert (found.n, found.mean_abs_pct, found.low_pct, found.high_pct, found.r2) == (1, 5, None, None, None)
    nothing = statistics([math.nan, math.nan], [math.nan] * 2, [1, 2])
    assert (nothing.n, nothing.mean_abs_pct, nothing.max_abs_pct) == (0, None, None)


def test_of_many_errors_the_interval_is_that_of_the_normal_distribution():
    # Mean +- 1.96 s / sqrt(n), by the central limit theorem; to a few % of its width.
    errors = 20 + 3 * np.random.default_rng(1).standard_normal(400)
    found = statistics(errors, 1 + errors / 100, np.ones(400))
    half = 1.96 * errors.std(ddof=1) / 20
    assert found.low_pct == pytest.approx(errors.mean() - half, abs=0.1 * half)
    assert found.high_pct == pytest.approx(errors.mean() + half, abs=0.1 * half)


def test_the_interval_is_the_same_each_time_and_another_with_another_seed():
    errors, ones = [1, 2, 4, 8, 16, 32], [1] * 6
    assert statistics(errors, ones, ones) == statistics(errors, ones, ones)
    assert statistics(errors, ones, ones).high_pct != statistics(errors, ones, ones, seed=1).high_pct


def test_a_summary_has_rows_by_app_and_over_all_in_which_every_target_counts_the_same():
    # By hand: p has errors of 10 and 20 % in cg and of 60 % in mg: 30 % over all; q answers one of three.
    rows = [("p", "cg", 1.1, 1), ("p", "cg", 2.4, 2), ("p", "mg", 1.6, 1)]
    rows += [("q", "cg", 1, 1), ("q", "cg", None, 2), ("q", "mg", None, 1)]
    summary = summarise(results(rows)).set_index(["predictor", "app"])
    assert summary["mean_abs_error_pct"]["p"].to_dict() == pytest.approx({"cg": 15, "mg": 60, "all": 30})
    for predictor in "pq":
        assert summary["cases"][predictor].to_dict() == {"cg": 2, "mg": 1, "all": 3}
    assert summary["n"]["q"].to_dict() == {"cg": 1, "mg": 0, "all": 1}
    assert math.isnan(summary["mean_abs_error_pct"]["q", "mg"])


def test_the_table_shows_what_has_no_answer_and_hides_what_is_said_twice():
    rows = [("q", "cg", 1.1, 1), ("q", "cg", None, 2)]
    *_, head, line = summary_text(summary_rows(records(results(rows))), {}).splitlines()
    assert "largest" in head and "1 of 2" in line and line.split()[1] == "cg"


def test_there_is_no_summary_where_every_line_would_repeat_one_result():
    rows = [("q", "cg", 1.1, 1), ("p", "cg", 1.2, 1), ("q", "mg", 1.2, 1)]
    assert summary_text(summary_rows(records(results(rows))), {}) == ""
    # By hand: the two errors of q on cg are 10 and 30 %; mg alone is left out, all three together are not.
    shown = summary_text(summary_rows(records(results([*rows, ("q", "cg", 1.3, 1)]))), {})
    assert [line.split()[:4] for line in shown.splitlines()[3:]] == [
        ["q", "cg", "2", "20.0"],
        ["q", "all", "3", "20.0"],
    ]


def test_predictors_above_the_limit_are_named_with_their_errors_by_app():
    rows = [("good", "cg", 1.05, 1), ("bad", "cg", 1.04, 1), ("bad", "mg", 1.1, 1), ("mute", "cg", None, 1)]
    summary = summary_rows(records(results(rows)))
    # By hand: bad has errors of 4 and 10 %, mean 7 %; good has 5 %, which does not exceed 5.
    said = too_wrong(summary, 5 + 1e-9)
    assert said == "--fail-above 5: mean absolute error too large: bad 7 % (cg 4 %, mg 10 %); mute has no answer"
    assert too_wrong(summary_rows(records(results(rows[:3]))), 7.01) is None


def test_a_command_fails_where_a_predictor_is_worse_than_allowed(capsys, tmp_path):
    assert main([*RUN, "--fail-above", "0.001", "--json"]) == 3
    captured = capsys.readouterr()
    (row,) = [row for row in json.loads(captured.out)["summary"] if row["app"] == "all"]
    assert set(row) == set(SUMMARY_COLUMNS)
    last = captured.err.splitlines()[-1]
    assert last.startswith("--fail-above 0.001: ") and f"hcf {row['mean_abs_error_pct']:.4g} %" in last
    assert main([*RUN, "--fail-above", "1e6"]) == 0
    (tmp_path / "own.toml").write_text(
        'scenarios = ["grid4x2"]\napps = ["mg"]\nclasses = ["S"]\npredictors = ["hcf"]\n'
    )
    assert campaign([str(tmp_path / "own.toml"), "--fail-above", "0.001"]) == 3
    assert campaign([str(tmp_path / "own.toml"), "--fail-above", "1e6"]) == 0


def test_bad_input_and_failed_runs_come_before_the_limit():
    # LU S has 12 points per direction: 8x6 ranks would leave some of the 48 with one.
    assert main("--scenario grid3x16 --app lu,mg --class S --predictor hcf --fail-above 0".split()) == 2
    failing = "--scenario grid4x2 --app mg,ep --class S --no-store --cfg smpi/bw-factor:none --fail-above 0"
    assert main(failing.split()) == 1


@pytest.mark.parametrize("text", ["five", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(text, refused):
    refused(main, [*RUN, f"--fail-above={text}"], f"--fail-above {text}: not a number from 0 on")


def test_a_mean_that_rounds_to_nothing_has_no_minus():
    shown = summary_text(summary_rows(records(results([("hcf", "cg", 0.99999, 1.0)] * 2))), {}, wide=True)
    assert shown.splitlines()[-1].split()[:4] == ["hcf", "cg", "2", "<0.01"]


def test_the_order_of_the_errors_does_not_matter_to_the_last_bit():
    rng = np.random.default_rng(3)
    errors, truths = rng.lognormal(1.0, 1.5, 50), rng.lognormal(0, 3, 50)
    first = statistics(errors, truths * (1 + errors / 100), truths)
    for _ in range(5):
        order = rng.permutation(50)
        assert statistics(errors[order], (truths * (1 + errors / 100))[order], truths[order]) == first


@pytest.mark.parametrize("count", [2, 3, 18, 700])
def test_the_interval_is_that_of_scipy(count):
    errors = np.random.default_rng(count).lognormal(1.0, 1.5, count) * np.where(np.arange(count) % 3, 1, -1)
    expected = bootstrap(
        (np.sort(np.abs(errors)),), np.mean, n_resamples=RESAMPLES, method="BCa", batch=4_000_000 // count,
        rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    found = statistics(errors, 1 + errors / 100, np.ones(count))
    assert (found.low_pct, found.high_pct) == pytest.approx((expected.low, expected.high), rel=1e-12)
