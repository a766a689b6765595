"""Rankings and decisions, with all numbers worked out by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from validation.comparison.compare import COLUMNS
from validation.comparison.metrics import statistics
from validation.ranking.deciding import ALL_HOSTS, CHANCE, DECISION_COLUMNS, DECISIONS, Candidates, decisions
from validation.ranking.output import decisions_text, ranking_text
from validation.ranking.standing import RANKING_COLUMNS, SIMULATE, pareto, ranking, simulated
from validation.report.league import league_pictures, league_tables, league_text


def row(predictor, predicted_s, simulated_s=10.0, *, cost_s=1.0, wall_s=1.0, **where):
    """A row of results on one node for each of four ranks; None: a refusal."""
    case = {"scenario": "grid", "app": "cg", "class": "B", "ranks": 4, "mapping": "block", "clusters": "a b", **where}
    error_pct = None if predicted_s is None else 100 * (predicted_s / simulated_s - 1)
    run_s = simulated_s * case["ranks"]
    known = {"platform_hash": case["scenario"], "network": "gigabit", "efficiency": 0.05, "truth": "simulation"}
    known |= {"predictor": predictor, "predicted_s": predicted_s, "simulated_s": simulated_s, "error_pct": error_pct}
    known |= {"abs_error_pct": None if error_pct is None else abs(error_pct), "flags": "", "extrapolation_bound": 1e-9}
    known |= {"evidence_node_s": cost_s, "evidence_share": cost_s / run_s, "simulated_node_s": run_s}
    known |= {"evidence_wall_s": wall_s, "prediction_wall_s": 0.25, "simulation_wall_s": 0.5}
    return {name: None for name in COLUMNS} | case | known


def results(rows):
    return pd.DataFrame(rows, columns=list(COLUMNS))


def records(table):
    return table.astype(object).where(table.notna(), None).to_dict("records")


TWO = [row("p", 11, 10, cost_s=4, wall_s=1, scenario="x"), row("p", 16, 20, cost_s=20, wall_s=2, scenario="y")]


def test_a_ranking_by_hand():
    # +10 and -20 %; r2 = 1 - (1 + 16) / 50.  Evidence 4 of 40 and 20 of 80 node-seconds.  The simulation: its bound.
    table = ranking(results(TWO))
    assert tuple(table.columns) == RANKING_COLUMNS
    one, two = records(table)
    bound = dict.fromkeys(
        ["mean_error_pct", "mean_abs_error_pct", "mean_abs_error_low_pct", "mean_abs_error_high_pct",
         "median_abs_error_pct", "max_abs_error_pct"], pytest.approx(1e-7)
    )  # fmt: skip
    assert one == bound | {
        "rank": 1, "predictor": SIMULATE, "cases": 2, "answered": 2, "counted": 2, "r2": 1, "evidence_node_s": 60,
        "evidence_share": 1, "wall_s": 0.5, "prediction_wall_s": 0, "cost_rank": 2, "wall_rank": 1,
    }  # fmt: skip
    assert two == {
        "rank": 2, "predictor": "p", "cases": 2, "answered": 2, "counted": 2, "mean_error_pct": pytest.approx(-5),
        "mean_abs_error_pct": pytest.approx(15), "mean_abs_error_low_pct": pytest.approx(10),
        "mean_abs_error_high_pct": pytest.approx(20), "median_abs_error_pct": pytest.approx(15),
        "max_abs_error_pct": pytest.approx(20), "r2": pytest.approx(0.66), "evidence_node_s": 12,
        "evidence_share": pytest.approx(0.175), "wall_s": 1.75, "prediction_wall_s": 0.25, "cost_rank": 1,
        "wall_rank": 2,
    }  # fmt: skip


def test_equals_share_the_better_rank_and_stand_in_the_order_of_the_results():
    rows = [row("z", 12), row("y", 11), row("x", 12), row("w", 13)]
    table = ranking(results(rows).assign(truth="measurement"))
    assert list(zip(table["predictor"], table["rank"], strict=True)) == [("y", 1), ("z", 2), ("x", 2), ("w", 4)]
    assert table["cost_rank"].to_list() == table["wall_rank"].to_list() == [1, 1, 1, 1]
    assert [str(table[name].dtype) for name in ("rank", "cost_rank", "wall_rank")] == ["Int64"] * 3


def test_the_unranked_stand_last_the_least_wrong_of_them_first_and_have_no_rank_at_all():
    rows = [row("p", 11, scenario=x) for x in "wxyz"]
    rows += [row("half", 15 if x in "wx" else None, scenario=x) for x in "wxyz"]
    rows += [row("quarter", 12 if x == "w" else None, scenario=x) for x in "wxyz"]
    rows += [row("mute", None, scenario=x) for x in "wxyz"]
    table = ranking(results(rows).assign(truth="measurement"))
    assert table["predictor"].to_list() == ["p", "quarter", "half", "mute"]
    assert table[["rank", "cost_rank", "wall_rank"]].iloc[1:].isna().all(axis=None)
    assert table["counted"].to_list() == [4, 1, 2, 0] and table["answered"].to_list() == [4, 1, 2, 0]
    assert table["mean_abs_error_pct"].to_list()[:3] == pytest.approx([10, 20, 50])
    assert table.iloc[3][list(RANKING_COLUMNS[5:])].isna().all()


def test_a_ranking_of_nothing_has_its_columns():
    table = ranking(results([]))
    assert table.empty and tuple(table.columns) == RANKING_COLUMNS


def test_the_simulation_is_ranked_where_nobody_else_is():
    table = ranking(results([row("mute", None)])).set_index("predictor")
    assert (table.loc[SIMULATE, "rank"], table.loc[SIMULATE, "counted"], table.loc["mute", "counted"]) == (1, 1, 0)


def test_columns_of_numbers_are_such_where_there_are_none():
    table = ranking(results([row("p", 11)]).assign(truth="measurement"))
    assert table["mean_abs_error_low_pct"].dtype == table["r2"].dtype == float


def test_who_answers_nothing_takes_no_case_from_the_others():
    table = ranking(results([row("p", 11), row("mute", None)]).assign(truth="measurement")).set_index("predictor")
    assert (table.loc["p", "counted"], table.loc["p", "rank"], table.loc["mute", "answered"]) == (1, 1, 0)
    assert pd.isna(table.loc["mute", "rank"])


def test_cases_are_told_apart_by_everything_that_makes_them():
    for name, value in {
        "scenario": "s", "platform_hash": "h", "network": "n", "app": "mg", "class": "C", "ranks": 8,
        "mapping": "cyclic", "clusters": "a", "efficiency": 0.1,
    }.items():  # fmt: skip
        other = row("p", 11) | {name: value}
        assert ranking(results([row("p", 11), other]))["cases"].to_list() == [2, 2], name
    # A case may have no named network.
    bare = row("p", 11) | {"network": None}
    assert (
        ranking(results([row("p", 11), bare, row("q", 11), bare | {"predictor": "q"}]))["counted"].to_list() == [2] * 3
    )


def test_the_seed_is_that_of_the_intervals():
    rows = [row("p", 10 + 2**k / 10, scenario=f"s{k}") for k in range(6)]
    for given in ({}, {"seed": 7}):
        expected = statistics([2.0**k for k in range(6)], [10 + 2**k / 10 for k in range(6)], [10.0] * 6, **given)
        found = ranking(results(rows), **given).set_index("predictor").loc["p"]
        assert found["mean_abs_error_low_pct"] == pytest.approx(expected.low_pct)
        assert found["mean_abs_error_high_pct"] == pytest.approx(expected.high_pct)


def test_the_simulation_is_a_row_for_each_case_whose_truth_it_is():
    rows = [
        row("p", 11, scenario="x") | {"flags": "beware"},
        row("q", 12, scenario="x"),
        row("p", 11, 20.0, scenario="y", wall_s=9.0),
    ]
    rows.append(row("p", 11, scenario="z") | {"truth": "measurement"})
    found = simulated(results(rows))
    assert found["scenario"].to_list() == ["x", "y"]
    expected = {
        "predictor": SIMULATE, "error_pct": 1e-7, "abs_error_pct": 1e-7, "evidence_share": 1.0,
        "evidence_wall_s": 0.5, "prediction_wall_s": 0.0, "flags": "",
    }  # fmt: skip
    for name, value in expected.items():
        assert found[name].to_list() == [value if isinstance(value, str) else pytest.approx(value)] * 2, name
    assert found["predicted_s"].to_list() == [10.0, 20.0] and found["evidence_node_s"].to_list() == [40.0, 80.0]
    assert found["simulated_s"].to_list() == [10.0, 20.0]


# Decisions.


def choice(**predicted_s):
    times_s = np.array([20.0, 10.0, 12.0, 40.0])
    return Candidates("cg", np.array([4, 8, 16, 16]), times_s, {n: np.array(v, float) for n, v in predicted_s.items()})


def test_the_regret_of_a_candidate_is_its_time_over_the_best():
    assert choice().regrets == pytest.approx([1.0, 0.0, 0.2, 3.0])


def test_what_is_taken():
    none = math.nan
    one = choice(p=[3, 2, 2, 9], near=[3, 2, 2 + 1.9e-9, 9], far=[3, 2, 2 + 2.1e-9, 9], some=[none, 5, none, 4],
                 mute=[none] * 4, less=[-1, -3, -3, 0])  # fmt: skip
    taken = {name: one.taken(name).tolist() for name in (*one.predicted_s, CHANCE, ALL_HOSTS)}
    assert taken == {
        "p": [False, True, True, False],
        "near": [False, True, True, False],  # within 1e-9
        "far": [False, True, False, False],
        "some": [False, False, False, True],
        "mute": [False] * 4,
        "less": [False, True, True, False],  # possible for a fitted model
        CHANCE: [True] * 4,
        ALL_HOSTS: [False, False, True, False],  # the first of those with 16 ranks
    }


def scenarios(predictor, predicted, times_s, **where):
    ranks = where.pop("ranks", (4,) * len(times_s))
    return [
        row(predictor, a, b, scenario=f"s{i}", ranks=r, **where)
        for i, (a, b, r) in enumerate(zip(predicted, times_s, ranks, strict=True))
    ]


def test_a_table_of_decisions_by_hand():
    # Two apps.  cg: 10 and 15 s, p takes the second: 50 %.  mg: 20, 10 and 40 s, p orders them correctly except for a
    # tie of the first two, either of which it may take: regrets 1 and 0, on average 50 %.
    rows = scenarios("p", [8, 7], [10.0, 15.0]) + scenarios("p", [3, 3, 5], [20.0, 10.0, 40.0], app="mg")
    table = decisions(results(rows))
    assert tuple(table.columns) == DECISION_COLUMNS
    assert set(table["decision"]) == {"scenario"}
    assert list(dict.fromkeys(table["app"])) == ["cg", "mg", "all"]
    found = {(r["app"], r["predictor"]): r for r in records(table)}
    common = {"decision": "scenario", "predictor": "p"}
    assert found["cg", "p"] == pytest.approx(
        {**common, "app": "cg", "choices": 1, "decided": 1, "candidates": 2, "answered": 2, "spearman": -1,
         "kendall": -1, "mean_regret_pct": 50, "max_regret_pct": 50, "best_taken": 0}
    )  # fmt: skip
    # Ranks 1.5 1.5 3 and 2 1 3: rho = 1.5 / sqrt(1.5 2); two pairs agree, one is tied: tau-b = 2 / sqrt(2 3).
    assert found["mg", "p"] == pytest.approx(
        {**common, "app": "mg", "choices": 1, "decided": 1, "candidates": 3, "answered": 3,
         "spearman": math.sqrt(3) / 2, "kendall": 2 / math.sqrt(6), "mean_regret_pct": 50, "max_regret_pct": 50,
         "best_taken": 0.5}
    )  # fmt: skip
    assert found["all", "p"] == pytest.approx(
        {**common, "app": "all", "choices": 2, "decided": 2, "candidates": 5, "answered": 5,
         "spearman": (math.sqrt(3) / 2 - 1) / 2, "kendall": (2 / math.sqrt(6) - 1) / 2, "mean_regret_pct": 50,
         "max_regret_pct": 50, "best_taken": 0.25}
    )  # fmt: skip
    # Chance: regrets (0 + 0.5) / 2 and (1 + 0 + 3) / 3; the best is drawn with probability 1/2 and 1/3.
    chance = found["all", CHANCE]
    assert (chance["choices"], chance["decided"], chance["candidates"], chance["answered"]) == (2, 2, 5, 5)
    assert chance["mean_regret_pct"] == pytest.approx(100 * (0.25 + 4 / 3) / 2)
    assert chance["max_regret_pct"] == pytest.approx(400 / 3)
    assert chance["best_taken"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert (chance["spearman"], chance["kendall"]) == (None, None)


def test_the_least_regret_stands_first_within_each_kind_and_app():
    rows = scenarios("bad", [2, 1], [10.0, 15.0]) + scenarios("good", [1, 2], [10.0, 15.0])
    table = decisions(results(rows))
    of_cg = table[table["app"] == "cg"]
    assert of_cg["mean_regret_pct"].is_monotonic_increasing
    assert of_cg["predictor"].to_list()[-1] == "bad" and "good" in of_cg["predictor"].to_list()[:3]


def test_scenarios_are_compared_with_all_their_hosts_in_use():
    # s0 on 4 of its 8 hosts would be the best of all.
    rows = scenarios("p", [5, 6], [10.0, 15.0], ranks=(8, 8))
    rows.append(row("p", 1, 2.0, scenario="s0", ranks=4))
    found = {r["predictor"]: r for r in records(decisions(results(rows))) if r["app"] == "cg"}
    assert (found["p"]["candidates"], found["p"]["mean_regret_pct"], found["p"]["best_taken"]) == (2, 0, 1)


def test_candidates_of_another_problem_or_network_are_no_choice():
    for name, value in {"app": "mg", "class": "C", "efficiency": 0.1, "network": "n", "mapping": "cyclic"}.items():
        rows = [row("p", 1, 10.0, scenario="x"), row("p", 2, 15.0, scenario="y") | {name: value}]
        assert decisions(results(rows)).empty, name
    assert tuple(decisions(results([row("p", 1)])).columns) == DECISION_COLUMNS


def test_times_that_differ_by_rounding_alone_are_no_choice():
    assert decisions(results(scenarios("p", [1, 2], [10.0, 10.0 * (1 + 0.9e-9)]))).empty
    assert not decisions(results(scenarios("p", [1, 2], [10.0, 10.0 * (1 + 1.1e-9)]))).empty


def test_correlations_are_over_what_is_answered_and_0_where_all_are_alike():
    rows = scenarios("some", [9, None, 8], [10.0, 12.0, 20.0]) + scenarios("one", [None, 3, None], [10.0, 12.0, 20.0])
    rows += scenarios("alike", [5, 5 * (1 + 1e-10), 5], [10.0, 12.0, 20.0])
    found = {r["predictor"]: r for r in records(decisions(results(rows))) if r["app"] == "cg"}
    assert [found["some"][name] for name in ("spearman", "kendall", "answered")] == pytest.approx([-1, -1, 2])
    assert (found["one"]["spearman"], found["one"]["kendall"], found["one"]["answered"]) == (None, None, 1)
    assert (found["alike"]["spearman"], found["alike"]["kendall"]) == (0, 0)
    assert found["alike"]["mean_regret_pct"] == pytest.approx((0 + 20 + 100) / 3)


def test_a_choice_in_which_nothing_can_be_compared_does_not_hide_the_next():
    rows = scenarios("one", [None, 3, None], [10.0, 12.0, 20.0])
    rows += scenarios("one", [1, 2, 3], [10.0, 12.0, 20.0], app="mg")
    found = {(r["app"], r["predictor"]): r for r in records(decisions(results(rows)))}
    assert found["all", "one"]["spearman"] == pytest.approx(1) and found["all", "one"]["kendall"] == pytest.approx(1)
    # A difference of a second is large enough for a choice.
    second = [r for r in records(decisions(results(scenarios("p", [2, 1], [10.0, 11.0])))) if r["predictor"] == "p"]
    assert [r["kendall"] for r in second] == pytest.approx([-1, -1])


def test_platforms_without_a_named_network_are_candidates_too():
    rows = [one | {"network": None} for one in scenarios("p", [1, 2], [10.0, 15.0])]
    assert set(decisions(results(rows))["choices"]) == {1}


def test_a_problem_without_a_choice_does_not_hide_the_next():
    rows = [row("p", 1, app="ep", scenario="s0"), *scenarios("p", [1, 2], [10.0, 15.0])]
    assert list(dict.fromkeys(decisions(results(rows))["app"])) == ["cg", "all"]


def test_of_predictions_of_nothing_all_are_liked():
    assert choice(p=[0, 0, 1, 2]).taken("p").tolist() == [True, True, False, False]
    for name in ("p", "mute", CHANCE, ALL_HOSTS):
        assert choice(p=[0, 0, 1, 2], mute=[math.nan] * 4).taken(name).dtype == bool


def test_the_kinds_of_decisions_and_what_they_leave_open():
    assert [(one.name, one.chosen) for one in DECISIONS] == [
        ("scenario", ("scenario",)),
        ("mapping", ("mapping",)),
        ("clusters", ("clusters",)),
        ("mapping and clusters", ("mapping", "clusters")),
    ]
    for one in DECISIONS:
        assert {"app", "class", "efficiency"} <= set(one.fixed) and not set(one.chosen) & set(one.fixed)


def test_the_table_of_choices_is_shown_with_a_column_for_each_app_and_drawn():
    # By hand as above: of 10 and 15 s p takes the second, 50 %; of 20, 10 and 40 s one of the first two, 0 or 100 %.
    rows = scenarios("p", [8, 7], [10.0, 15.0]) + scenarios("p", [3, 3, 5], [20.0, 10.0, 40.0], app="mg")
    table = decisions(results(rows))
    lines = [line.split() for line in decisions_text(table, wide=True).splitlines()]
    heading = next(line for line in lines if line[:1] == ["predictor"])
    assert " ".join(heading).endswith("mean cg mean mg")
    assert next(line for line in lines if line[:1] == ["p"])[-2:] == ["50.0", "50.0"]
    (_, _, shown) = league_tables(ranking(results(rows)), pareto(ranking(results(rows))), table)
    cells = [[getattr(cell, "text", cell) for cell in row] for row in shown.rows]
    of_cg = next(row for row in cells if row[1:3] == ["cg", "p"])
    assert of_cg == ["scenario", "cg", "p", "1", "2", "\N{MINUS SIGN}1.00", "\N{MINUS SIGN}1.00", "50", "50", "0"]
    assert [row[1] for row in cells if row[2] == "p"].count("all programs") == 1
    (regret,) = league_pictures(pareto(ranking(results(rows))).iloc[:0], table)
    assert regret.name == "regret" and "choosing scenario" in regret.svg


def test_where_nobody_answers_enough_there_are_no_ranks():
    rows = [
        row("p", 1, scenario="x"),
        row("p", None, scenario="y"),
        row("q", None, scenario="x"),
        row("q", 1, scenario="y"),
    ]
    table = ranking(results(rows).assign(truth="measurement"))
    said = " ".join(ranking_text(table).split())
    assert "without ranks: of 2 cases none is answered by all who answer three quarters" in said
    assert league_text(table) == [
        "No predictor is ranked: none of the 2 cases is answered by all predictors with enough answers."
    ]
