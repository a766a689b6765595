"""The league: rankings, fronts and decisions of hand-made results, and the commands that show them."""

import csv
import json
import math

import pandas as pd
import pytest
from matplotlib.figure import Figure

from apps.programs.problem import problem
from apps.spec.settings import Settings
from platforms.grids.scenario import named_grid
from platforms.model.placement import MAPPINGS
from platforms.plotting.front import place_labels
from platforms.read.read import materialise
from validation.comparison.compare import COLUMNS
from validation.league import candidates, main
from validation.ranking.deciding import decisions
from validation.ranking.standing import SIMULATE, pareto, ranking
from validation.run import main as run

DECIDE = "--scenario grid3x2 --speeds 40,55,70 --app mg --class S --predictor hcf,dpgraph:known".split()


def row(predictor, predicted_s, simulated_s=10.0, *, cost_s=1.0, wall_s=1.0, **where):
    """A row of results: an answer of ``predictor`` (None: a refusal) on one node for each rank."""
    case = {"scenario": "grid", "app": "cg", "class": "B", "ranks": 4, "mapping": "block", "clusters": "a b", **where}
    error_pct = None if predicted_s is None else 100 * (predicted_s / simulated_s - 1)
    run_s = simulated_s * case["ranks"]
    return {name: None for name in COLUMNS} | {
        **case,
        "platform_hash": case["scenario"],
        "network": "gigabit",
        "predictor": predictor,
        "predicted_s": predicted_s,
        "simulated_s": simulated_s,
        "error_pct": error_pct,
        "abs_error_pct": None if error_pct is None else abs(error_pct),
        "evidence_node_s": cost_s,
        "evidence_share": cost_s / run_s,
        "simulated_node_s": run_s,
        "simulation_wall_s": 0.5,
        "prediction_wall_s": 0.25,
        "evidence_wall_s": wall_s,
        "extrapolation_bound": 1e-9,
        "efficiency": 0.05,
        "flags": "",
        "truth": "simulation",
    }  # fmt: skip


def results(rows):
    return pd.DataFrame(rows, columns=list(COLUMNS))


def by(table, *keys):
    return table.set_index(list(keys))


def test_all_are_ranked_on_the_cases_that_all_who_are_ranked_answer():
    # Four cases.  Predictor modest refuses the hard case, in which bold has an error of 90 %.
    answers = {"bold": (10.5, 10.5, 10.5, 19), "modest": (11, 11, 11, None), "mute": (None, None, 10, 10)}
    rows = [
        row(name, time_s, scenario=x)
        for name, given in answers.items()
        for time_s, x in zip(given, "wxyz", strict=True)
    ]
    table = by(ranking(results(rows)), "predictor")
    assert table["cases"].to_list() == [4] * 4
    assert table["answered"].to_dict() == {SIMULATE: 4, "bold": 4, "modest": 3, "mute": 2}
    # By hand: on w, x and y bold has errors of 5 %, modest of 10 %; mute answers half of the cases, less than three
    # quarters, and therefore has no rank although its answers are exact.
    assert table["rank"].dropna().to_dict() == {SIMULATE: 1, "bold": 2, "modest": 3}
    assert table["counted"].to_dict() == {SIMULATE: 3, "bold": 3, "modest": 3, "mute": 2}
    assert table["mean_abs_error_pct"].to_dict() == pytest.approx(
        {SIMULATE: 1e-7, "bold": 5, "modest": 10, "mute": 0}, abs=1e-12
    )
    assert list(table.index)[-1] == "mute"


def test_costs_are_means_per_case_and_simulation_costs_the_full_run():
    rows = [row("p", 11, 10, cost_s=4, wall_s=1, scenario="x"), row("p", 22, 20, cost_s=20, wall_s=2, scenario="y")]
    table = by(ranking(results(rows)), "predictor")
    # By hand, 4 ranks: 4 of 40 and 20 of 80 node-seconds; (1 + 2) / 2 s to gather and 0.25 s to answer.
    found = table.loc["p", ["evidence_node_s", "evidence_share", "wall_s", "prediction_wall_s"]].to_list()
    assert found == pytest.approx([12, (0.1 + 0.25) / 2, 1.75, 0.25])
    found = table.loc[SIMULATE, ["evidence_node_s", "evidence_share", "wall_s", "cost_rank", "wall_rank"]].to_list()
    assert found == pytest.approx([60, 1, 0.5, 2, 1])


def test_measured_truths_have_no_row_of_simulation():
    measured = results([row("p", 11)]).assign(truth="measurement", extrapolation_bound=None)
    assert ranking(measured)["predictor"].to_list() == ["p"]


def test_a_bound_that_is_not_known_takes_no_case_from_the_predictors():
    rows = [row("p", 11, scenario="x"), row("p", 12, scenario="y") | {"extrapolation_bound": None}]
    table = by(ranking(results(rows)), "predictor")
    assert table["counted"].to_dict() == {"p": 2, SIMULATE: 1}


def test_no_predictor_is_ranked_where_there_is_no_case_that_all_answer():
    rows = [row(name, None if name == x else 11, scenario=x) for name in "pqrs" for x in "pqrs"]
    table = by(ranking(results(rows)), "predictor")
    assert table["rank"].dropna().to_dict() == {SIMULATE: 1}
    assert table["counted"].to_dict() == {"p": 0, "q": 0, "r": 0, "s": 0, SIMULATE: 4}
    assert set(pareto(table.reset_index())["predictor"]) == {SIMULATE}


def test_the_front_holds_whom_no_other_beats_in_error_and_cost():
    standing = pd.DataFrame(
        {
            "predictor": ["cheap", "good", "between", "worse", "equal", "unranked"],
            "mean_abs_error_pct": [50, 1, 10, 60, 10, 0],
            "evidence_share": [0.1, 1, 0.5, 0.2, 0.5, 0],
            "wall_s": [3, 2, 1, 4, 1, 0],
            "rank": [4, 1, 2, 5, 2, None],
        }
    )
    front = by(pareto(standing), "cost", "predictor")
    # By hand: worse has a larger error and cost than cheap; between and equal are equal and do not dominate each other.
    share = front.loc["evidence_share"]
    assert share.index.to_list() == ["cheap", "worse", "between", "equal", "good"]
    assert share["on_front"].to_dict() == dict.fromkeys(["cheap", "between", "equal", "good"], True) | {"worse": False}
    assert share.loc["worse", "dominated_by"] == "cheap"
    # In wall time, good and between dominate cheap; good has the smaller error of the two.
    wall = front.loc["wall_s"]
    assert wall["on_front"].to_dict() == {
        "between": True, "equal": True, "good": True, "cheap": False, "worse": False
    }  # fmt: skip
    assert wall.loc["cheap", "dominated_by"] == "good"


def choice(predictor, predicted, times_s=(10.0, 12.0, 20.0, 40.0), **where):
    """Rows of a choice among four scenarios."""
    return [
        row(predictor, predicted_s, time_s, scenario=name, ranks=ranks, **where)
        for predicted_s, time_s, name, ranks in zip(predicted, times_s, "wxyz", (4, 8, 16, 16), strict=True)
    ]


def test_rank_correlations_by_hand():
    # Order 2 1 3 4 instead of 1 2 3 4.  Spearman: 1 - 6 (1 + 1) / (4 (16 - 1)) = 0.8; Kendall: 5 pairs agree and one
    # does not: (5 - 1) / 6.
    table = by(decisions(results(choice("p", [2, 1, 3, 4]))), "decision", "app", "predictor")
    found = table.loc["scenario", "cg", "p"]
    assert (found["choices"], found["decided"], found["candidates"], found["answered"]) == (1, 1, 4, 4)
    assert (found["spearman"], found["kendall"]) == pytest.approx((0.8, 4 / 6))
    # The predictor takes x with 12 s instead of w with 10 s.
    assert (found["mean_regret_pct"], found["max_regret_pct"], found["best_taken"]) == pytest.approx((20, 20, 0))
    assert table.loc["scenario", "all", "p"].to_list() == found.to_list()


def test_regret_without_a_preference_is_that_of_a_draw():
    rows = choice("same", [7, 7, 7, 7]) + choice("two", [7, 8, 7, None])
    table = by(decisions(results(rows)), "app", "predictor").loc["cg"]
    # By hand: regrets 0, 20, 100, 300 %.
    assert table.loc["same", ["spearman", "kendall", "mean_regret_pct", "best_taken"]].to_list() == [0, 0, 105, 0.25]
    assert table.loc["two", ["answered", "mean_regret_pct", "best_taken"]].to_list() == [3, 50, 0.5]
    # Tau-b of 7 8 7 with 10 12 20: one pair agrees, one does not, one is tied.
    assert table.loc["two", "kendall"] == 0


def test_simulation_never_regrets_chance_takes_any_and_all_hosts_the_first_of_the_largest():
    table = by(decisions(results(choice("p", [4, 3, 2, 1]))), "app", "predictor").loc["cg"]
    assert table["mean_regret_pct"].to_dict() == pytest.approx(
        {SIMULATE: 0, "(all hosts)": 100, "(chance)": 105, "p": 300}
    )
    assert (table.loc[SIMULATE, "kendall"], table.loc["p", "kendall"]) == (1, -1)
    assert math.isnan(table.loc["(chance)", "kendall"])
    assert table.index.to_list() == [SIMULATE, "(all hosts)", "(chance)", "p"]  # ascending regret


def test_a_predictor_without_answers_decides_nothing():
    found = by(decisions(results(choice("mute", [None] * 4))), "app", "predictor").loc[("cg", "mute")]
    assert (found["decided"], found["answered"]) == (0, 0)
    assert math.isnan(found["mean_regret_pct"]) and math.isnan(found["spearman"])


def test_mappings_and_clusters_are_chosen_each_alone_and_both_together():
    # Each cluster and both together: on one cluster the mappings are the same.
    times_s = {("a", "block"): 4, ("a", "cyclic"): 4, ("b", "block"): 6, ("b", "cyclic"): 6}
    times_s |= {("a b", "block"): 5, ("a b", "cyclic"): 3}
    rows = [
        row("p", predicted_s, times_s[where], clusters=where[0], mapping=where[1], ranks=2 * len(where[0].split()))
        for where, predicted_s in zip(times_s, (2, 2, 3, 3, 4, 9), strict=True)
    ]
    table = (
        by(decisions(results(rows)), "decision", "app", "predictor").loc[(slice(None), "cg", "p"), :].droplevel([1, 2])
    )
    # By hand.  mapping: one choice, where block on a b is taken, 5 instead of 3 s.  clusters: with block, a is taken,
    # the best; with cyclic, a, 4 instead of 3 s.  Both: a, 4 instead of 3 s, of four different candidates.
    assert table["choices"].to_dict() == {"mapping": 1, "clusters": 2, "mapping and clusters": 1}
    assert table["candidates"].to_dict() == {"mapping": 2, "clusters": 6, "mapping and clusters": 4}
    assert table["mean_regret_pct"].to_dict() == pytest.approx(
        {"mapping": 200 / 3, "clusters": 50 / 3, "mapping and clusters": 100 / 3}
    )
    assert table["best_taken"].to_dict() == {"mapping": 0, "clusters": 0.5, "mapping and clusters": 0}


def test_there_are_no_choices_where_all_candidates_take_the_same():
    assert decisions(results(choice("p", [1, 2, 3, 4], (5.0,) * 4))).empty
    assert decisions(results([row("p", 11)])).empty


def test_candidates_are_all_subsets_of_clusters_with_all_mappings():
    platform = materialise(named_grid("grid3x9", None))
    found = list(candidates(platform, [problem("mg", "S")], list(MAPPINGS), Settings(), own_grids=True))
    # By hand: 2^3 - 1 subsets, of 9, 18 and 27 hosts, 3, 3 and 1 of them; two mappings each.
    assert sorted(one.target.nranks for one in found) == sorted(2 * [9, 9, 9, 18, 18, 18, 27])
    assert len({(one.target.placement, one.mapping) for one in found}) == 14
    assert all(len(one.target.platform.clusters) == one.target.nranks // 9 for one in found)


def test_choices_are_simulated_judged_and_written(capsys, tmp_path):
    assert main([*DECIDE, "--out", str(tmp_path), "--store", str(tmp_path / "store")]) == 0
    shown = capsys.readouterr().out
    assert "Choosing mapping and clusters: 1 choice among 11 candidates" in shown
    assert "Pareto front, error against wall s" in shown
    with open(tmp_path / "decisions.csv", newline="") as file:
        rows = {(r["decision"], r["app"], r["predictor"]): r for r in csv.DictReader(file)}
    both = {name: r for (kind, app, name), r in rows.items() if (kind, app) == ("mapping and clusters", "all")}
    assert set(both) == {"hcf", "dpgraph:known", SIMULATE, "(chance)", "(all hosts)"}
    # A graph with the simulator's constants orders the candidates as the simulator does.
    assert float(both["dpgraph:known"]["spearman"]) == pytest.approx(1)
    assert float(both["dpgraph:known"]["mean_regret_pct"]) == pytest.approx(0, abs=1e-6)
    # HCF does not see mappings; it probes each of 7 subsets once.
    assert float(rows["mapping", "all", "hcf"]["spearman"]) == 0
    with open(tmp_path / "results.csv", newline="") as file:
        hcf = [r for r in csv.DictReader(file) if r["predictor"] == "hcf" and r["mapping"] == "block"]
    assert len(hcf) == 7
    paid = sum(float(r["evidence_node_s"]) for r in hcf)
    assert float(both["hcf"]["evidence_node_s"]) == pytest.approx(paid)
    ran = float(both[SIMULATE]["evidence_node_s"])
    assert float(both["hcf"]["evidence_share"]) == pytest.approx(paid / ran)
    for name in ("pareto", "regret"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in (tmp_path / f"{name}.svg").read_text()
    # The whole grid is probed once; no other run is repeated.
    assert main([*DECIDE, "--probed", "grid", "--json", "--store", str(tmp_path / "store")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {"results", "summary", "league", "intervals", "pareto", "decisions", "cautions"}
    probe = {r["evidence_node_s"] for r in data["results"] if r["predictor"] == "hcf"}
    (charged,) = {r["evidence_node_s"] for r in data["decisions"] if (r["predictor"], r["app"]) == ("hcf", "all")}
    assert probe == {charged}


def test_the_league_follows_where_more_than_the_three_of_hcf_are_asked(capsys):
    asked = "--scenario grid4x2 --app mg --class S --predictor"
    assert run([*asked.split(), "hcf,hcf:constant,hcf:printed"]) == 0
    assert "League" not in capsys.readouterr().out
    assert run([*asked.split(), "hcf,hcf:constant,hcf:printed,dpgraph:known"]) == 0
    shown = capsys.readouterr().out
    assert "on the 1 of 1 cases that all ranked predictors answer" in " ".join(shown.split()) and SIMULATE in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--scenario grid4x2 --mappings diagonal", "Known: block, cyclic"),
        ("--scenario grid4x2 --probed half", "Known: subset, grid"),
        ("--scenario grid9x1 --speeds 1,2,3,4,5,6,7,8,9", "511 subsets"),
        ("", "Give --scenario NAME or --platform FILE"),
    ],
)
def test_bad_input_gets_one_line(arguments, message, refused):
    refused(main, arguments.split(), message)


def test_an_axis_without_labels_stays_as_it_is():
    axes = Figure().add_subplot()
    place_labels(axes)
    assert not axes.texts
