"""Summaries, means and fronts, with all numbers of the tables worked out by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

from validation.comparison import metrics
from validation.comparison.metrics import ALL_APPS, SEED, SUMMARY_COLUMNS, mean, published_errors, statistics, summarise
from validation.comparison.rows import records
from validation.ranking.standing import PARETO_COLUMNS, pareto


def test_a_mean_is_of_those_that_are_there():
    assert mean([3.0, math.nan, None, 5.0]) == 4.0
    assert mean(iter([2])) == 2.0
    assert math.isnan(mean([])) and math.isnan(mean([None, math.nan]))
    assert mean([1e16, 1.0, -1e16]) == mean([1.0, 1e16, -1e16]) == 1 / 3  # independent of their order


def test_an_error_that_is_none_is_left_out():
    found = statistics([None, 5.0], [None, 1.05], [1.0, 1.0])
    assert (found.n, found.mean_abs_pct) == (1, 5.0)


def results(rows):
    """Rows of (predictor, app, predicted s, simulated s, error of the energy in %)."""
    table = pd.DataFrame(rows, columns=["predictor", "app", "predicted_s", "simulated_s", "energy_error_pct"])
    return table.assign(error_pct=100 * (table["predicted_s"].astype(float) / table["simulated_s"] - 1))


def test_a_row_of_the_summary_by_hand():
    # +10 and -20 %: the interval of two errors lies between them; r2 = 1 - (0.01 + 0.16) / 0.5.
    table = summarise(results([("p", "cg", 1.1, 1.0, 5.0), ("p", "cg", 1.6, 2.0, -15.0)]))
    assert tuple(table.columns) == SUMMARY_COLUMNS
    assert len(table) == 2  # cg, and all apps
    for app, row in zip(("cg", ALL_APPS), table.to_dict("records"), strict=True):
        assert row == pytest.approx(
            {"predictor": "p", "app": app, "cases": 2, "n": 2, "mean_error_pct": -5, "mean_abs_error_pct": 15,
             "mean_abs_error_low_pct": 10, "mean_abs_error_high_pct": 20, "median_abs_error_pct": 15,
             "max_abs_error_pct": 20, "r2": 0.66, "mean_abs_energy_error_pct": 10, "max_abs_energy_error_pct": 15}
        )  # fmt: skip


def test_rows_stand_in_the_order_of_the_results_and_over_all_apps_last():
    rows = [("q", "mg", 1.0, 1.0, None), ("p", "mg", 1.0, 1.0, None), ("q", "cg", 1.2, 1.0, None)]
    table = summarise(results(rows))
    assert list(zip(table["predictor"], table["app"], strict=True)) == [
        ("q", "mg"), ("p", "mg"), ("q", "cg"), ("q", ALL_APPS), ("p", ALL_APPS)
    ]  # fmt: skip
    assert table["mean_abs_energy_error_pct"].isna().all() and table["max_abs_energy_error_pct"].isna().all()
    assert table["mean_abs_error_low_pct"].isna().to_list() == [True, True, True, False, True]  # one error: none


def test_what_has_no_answer_is_a_case_without_numbers():
    row = summarise(results([("p", "cg", None, 1.0, None)])).iloc[0]
    assert (row["cases"], row["n"]) == (1, 0)
    assert row[list(SUMMARY_COLUMNS[4:])].isna().all()


def test_a_summary_of_nothing_has_its_columns():
    table = summarise(results([]))
    assert table.empty and tuple(table.columns) == SUMMARY_COLUMNS


def test_the_seed_of_a_summary_is_that_of_its_intervals():
    rows = [("p", "cg", 1 + 0.01 * 2**k, 1.0, None) for k in range(6)]
    errors = results(rows)["error_pct"]
    for seed in (SEED, 7):
        found = summarise(results(rows)) if seed == SEED else summarise(results(rows), seed=seed)
        expected = statistics(errors, [row[2] for row in rows], [1.0] * 6, seed=seed)
        assert found["mean_abs_error_low_pct"].to_list() == [expected.low_pct] * 2
        assert found["mean_abs_error_high_pct"].to_list() == [expected.high_pct] * 2


@pytest.mark.parametrize(("at_a_time", "batch"), [(50, 8), (1, 1), (6 * metrics.RESAMPLES, metrics.RESAMPLES)])
def test_resamples_are_drawn_in_batches_of_as_many_numbers_as_memory_may_hold(monkeypatch, at_a_time, batch):
    errors = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    monkeypatch.setattr(metrics, "NUMBERS_AT_A_TIME", at_a_time)
    expected = bootstrap(
        (errors,), np.mean, n_resamples=metrics.RESAMPLES, method="BCa", batch=batch, rng=np.random.default_rng(SEED)
    ).confidence_interval
    found = statistics(errors, errors, np.ones(6))
    assert (found.low_pct, found.high_pct) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_errors_that_differ_by_rounding_alone_have_a_point_as_interval():
    found = statistics([7.0, 7.0 * (1 + 1e-13)], [1, 1], [1, 2])
    assert found.low_pct == found.high_pct == pytest.approx(7.0, rel=1e-12)
    wider = statistics([7.0, 7.0 * (1 + 1e-11)], [1, 1], [1, 2])
    assert wider.low_pct < wider.high_pct


PAPER = {"cg": 4.36, "mg": 5.79, "lu": 6.81}  # Fanfakh 2019, section 4-2
SIX = ("grid4x2", "grid4x4", "grid4x8", "grid3x9", "grid3x12", "grid3x16")


def cases(changed=(), **values):
    nodes = [int(a) * int(b) for a, _, b in (name.removeprefix("grid").partition("x") for name in SIX)]
    table = pd.DataFrame({"scenario": SIX, "ranks": nodes, "class": "B"})
    for row in changed:
        for name, value in values.items():
            table.loc[row, name] = value
    return table


def test_published_errors_are_those_of_the_six_scenarios_in_class_b_on_all_nodes():
    assert published_errors(records(cases())) == PAPER
    assert published_errors(records(pd.concat([cases(), cases()]))) == PAPER
    assert published_errors(records(cases([2], **{"class": "A"}))) == {}
    assert published_errors(records(cases([5], ranks=47))) == {}
    assert published_errors(records(cases().iloc[:5])) == {}
    assert published_errors(records(cases([0], scenario="grid4x12"))) == {}


# The front.


def standing(**columns):
    names = list("abcde")[: len(columns["rank"])]
    return pd.DataFrame({"predictor": names, **columns})


def test_the_rows_of_the_front_by_hand():
    # By evidence: c is the cheapest and on the front; b has the same error and costs more; a has the smallest error;
    # all others dominate d.
    table = standing(
        rank=[1, 2, 2, 4],
        mean_abs_error_pct=[1.0, 5.0, 5.0, 9.0],
        evidence_share=[0.5, 0.4, 0.2, 0.6],
        wall_s=[4.0] * 4,
    )
    found = pareto(table)
    assert tuple(found.columns) == PARETO_COLUMNS
    rows = found.astype(object).where(found.notna(), None)
    assert [tuple(row) for row in rows.itertuples(index=False)] == [
        ("evidence_share", "c", 5.0, 0.2, True, None),
        ("evidence_share", "b", 5.0, 0.4, False, "c"),
        ("evidence_share", "a", 1.0, 0.5, True, None),
        ("evidence_share", "d", 9.0, 0.6, False, "a"),
        ("wall_s", "a", 1.0, 4.0, True, None),  # equal costs: only the smallest error, which is first, is on the front
        ("wall_s", "b", 5.0, 4.0, False, "a"),
        ("wall_s", "c", 5.0, 4.0, False, "a"),
        ("wall_s", "d", 9.0, 4.0, False, "a"),
    ]


def test_of_several_that_dominate_the_least_wrong_is_named_and_of_equals_the_first_by_name():
    table = pd.DataFrame(
        {"predictor": ["z", "y", "last"], "rank": [1, 1, 3], "mean_abs_error_pct": [2.0, 2.0, 3.0],
         "evidence_share": [0.1, 0.1, 0.2], "wall_s": [1.0, 1.0, 2.0]}
    )  # fmt: skip
    found = pareto(table).set_index(["cost", "predictor"])["dominated_by"]
    assert (found["evidence_share", "last"], found["wall_s", "last"]) == ("y", "y")
    assert found["wall_s"][["z", "y"]].isna().all()


def test_who_is_not_ranked_is_not_on_the_front_and_beats_nobody():
    table = standing(rank=[1, None], mean_abs_error_pct=[2.0, 1.0], evidence_share=[0.2, 0.1], wall_s=[2.0, 1.0])
    assert pareto(table)["predictor"].to_list() == ["a", "a"]
    assert pareto(table)["on_front"].all()
    assert pareto(table.iloc[1:]).empty and tuple(pareto(table.iloc[1:]).columns) == PARETO_COLUMNS
