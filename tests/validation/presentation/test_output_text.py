"""Tables, notes and closing sentences of a validation, from results made by hand."""

import re

import pytest

from validation.comparison.compare import COLUMNS
from validation.presentation.sentences import closing_sentences
from validation.presentation.tables import Notes, listed, refusal_lines, results_text


def result(predictor, predicted_s, simulated_s=10.0, **changed):
    """One row; by default a run on 16 nodes of two clusters, of which 80 % is communication."""
    error_pct = None if predicted_s is None else 100 * (predicted_s / simulated_s - 1)
    row = dict.fromkeys(COLUMNS) | {
        "scenario": "grid2x8", "network": "gigabit", "platform_hash": "h", "app": "cg", "class": "B", "ranks": 16,
        "mapping": "block", "predictor": predictor, "predicted_s": predicted_s, "simulated_s": simulated_s,
        "error_pct": error_pct, "abs_error_pct": None if error_pct is None else abs(error_pct), "compute_share": 0.2,
        "evidence_share": 0.3, "efficiency": 0.1, "flags": "", "truth": "simulation", "clusters": "a b",
        "iterations": 75, "iterations_simulated": 5, "evidence_node_s": 1.0,
    }  # fmt: skip
    return row | changed


def sentences(*rows):
    return closing_sentences(rows)


def test_the_closest_is_told_with_a_bound_of_its_error():
    # By hand: 0.63 and 100 %; a bound is rounded up.
    assert sentences(result("a", 10.063), result("b", 20.0))[0] == "Closest: a, within 0.63 %."
    assert sentences(result("a", 10.0631), result("b", 20.0))[0] == "Closest: a, within 0.64 %."
    assert sentences(result("a", 10.07), result("b", 20.0))[0] == "Closest: a, within 0.7 %."
    assert sentences(result("a", 1510.0), result("b", 9000.0))[0] == "Closest: a, off by up to 15000 %."


def test_ties_are_told_as_ties():
    first = sentences(result("a", 10.1), result("b", 9.9), result("c", 12.0))[0]
    assert first == "Closest: a and b (a tie of 2), within 1 %."


def test_a_self_check_is_never_closest():
    found = sentences(result("dpgraph:known", 10.0), result("a", 11.0), result("b", 12.0))
    assert found[0] == "Closest: a, within 10 %."
    assert sentences(result("dpgraph:known", 10.0)) == []


def test_a_predictor_that_answers_fewer_targets_is_not_closest():
    found = sentences(result("a", 10.0), result("b", 11.0), result("a", None, app="mg"), result("b", 11.0, app="mg"))
    assert found[0] == "Closest: b, within 10 % on all 2 targets."


def test_nobody_is_closest_where_nobody_answers():
    assert sentences(result("a", None), result("b", None)) == ["a and b have no answer."]
    assert sentences(result("hcf", None), result("dpgraph:known", 0.0)) == ["hcf has no answer."]


def test_targets_with_predictors_of_their_own_have_sentences_of_their_own():
    found = sentences(result("structural", 10.0), result("hcf", 10.5), result("dpgraph", 10.0, app="is"),
                      result("hcf", 10.5, app="is"))  # fmt: skip
    assert found == ["Closest on cg: structural, within 0.01 %.", "Closest on is: dpgraph, within 0.01 %."]


def test_the_farthest_is_told_with_what_grows():
    # By hand: 2 s of computation; 8 s of communication in the run, 76 s predicted: eight times the 9.5 s of a probe on
    # two of the sixteen nodes.
    wrong = result("hcf", 78.0, predicted_compute_share=2 / 78, probe_cm_s=9.5)
    assert sentences(result("a", 10.0), wrong)[1] == (
        "hcf predicts 7.8 times the simulated time: 80 % of the run is communication, and it lets that grow with the "
        "nodes."
    )


def test_predictors_that_are_wrong_alike_are_told_together():
    # By hand: 2 s of computation and nothing else, instead of 10 s.
    alike = [result(name, 2.0, predicted_compute_share=1.0) for name in ("x", "y")]
    assert sentences(result("a", 10.0), *alike)[1] == (
        "x and y predict 0.20 times the simulated time: 80 % of the run is communication, and they expect none."
    )


def test_communication_that_does_not_grow_with_the_nodes_is_told_by_its_size():
    wrong = result("x", 42.0, predicted_compute_share=2 / 42)  # 40 s instead of 8 s
    assert sentences(result("a", 10.0), wrong)[1] == (
        "x predicts 4.2 times the simulated time: 80 % of the run is communication, of which it expects 5 times as "
        "much."
    ).replace("5 times", "5.0 times")


def test_computation_that_is_wrong_is_told():
    wrong = result("x", 17.5, predicted_compute_share=1.0, compute_share=1.0)
    assert sentences(result("a", 10.0), wrong)[1] == (
        "x predicts 1.8 times the simulated time: 100 % of the run is computation, of which it expects 1.8 times as "
        "much."
    )


def test_no_reason_is_told_that_is_not_known():
    assert sentences(result("a", 10.0), result("x", 42.0))[1] == "x predicts 4.2 times the simulated time."


def test_a_tolerable_error_is_not_told_as_far():
    assert len(sentences(result("a", 10.0), result("x", 11.9))) == 1


def test_evidence_above_the_cost_of_the_run_is_told():
    dear = result("dpgraph", 10.0, evidence_share=4.0)
    assert sentences(dear, result("hcf", 10.5))[-1] == (
        "The evidence of dpgraph costs 4.0 times the run: simulating the run itself is cheaper."
    )
    on_a_machine = sentences({**dear, "truth": "measurement"}, result("hcf", 10.5, truth="measurement"))[-1]
    assert on_a_machine.endswith("running the program itself is cheaper.")


def test_cautions_are_numbered_once_and_merged_by_their_numbers():
    notes = Notes(["compute share 1 %: outside", "", "messages left out; compute share 6 %: outside"])
    assert notes.lines() == ["1  compute share 1 to 6 %: outside", "2  messages left out"]
    assert notes.numbers("messages left out; compute share 6 %: outside") == "1,2"
    assert notes.numbers("") == ""


def test_predictors_without_an_answer_have_one_line_with_the_reason():
    refused = [result(name, None, flags=f"{name}, 8 ranks on 4 nodes: one rank per node.") for name in ("x", "y")]
    rows = [*refused, result("x", 10.0, app="mg"), result("z", 10.0)]
    assert refusal_lines(rows) == [
        "x: no answer on 1 of 2 targets: 8 ranks on 4 nodes: one rank per node",
        "y: no answer: 8 ranks on 4 nodes: one rank per node",
    ]
    shown = results_text(rows)
    assert not re.search(r"^\S* *y  ", shown, re.MULTILINE)  # no row in the table


def test_the_table_has_the_columns_that_people_read():
    lines = results_text([result("structural", 9.9312), result("hcf", 78.0, flags="too high")]).splitlines()
    assert lines[0] == "grid2x8, network gigabit, 16 ranks"
    assert lines[2].split()[:4] == ["program", "time", "90", "%"] and lines[3].startswith("cg B")  # the answers
    assert lines[5].split() == "program predictor predicted simulated error % cost % caution".split()
    assert lines[6].split() == "cg B structural 9.93 s 10.0 s -0.69 30.0".split()
    assert lines[7].split() == "hcf 78.0 s 10.0 s +680 30.0 1".split()
    assert lines[-1] == "1  too high"


def test_every_platform_has_a_title_where_there_are_several():
    rows = [result("hcf", 10.0, scenario=name, ranks=ranks) for name, ranks in (("x", 8), ("y", 16))]
    lines = results_text(rows).splitlines()
    assert [line for line in lines if "ranks" in line] == [
        "x, network gigabit, 8 ranks",
        "y, network gigabit, 16 ranks",
    ]


def test_all_columns_are_shown_on_request():
    shown = results_text([result("hcf", 78.0, probe_cp_s=1.0, probe_cm_s=2.0)], wide=True)
    assert "probe T_cp s" in shown and "iterations" in shown and "5/75" in shown


@pytest.mark.parametrize("predictors", [("dpgraph:li-duplex", "blocks:simgrid", "extrap:default")])
def test_the_table_of_the_longest_names_fits_into_80_columns(predictors):
    rows = [result(name, 1.4e6, flags="a; b; c; d") for name in predictors]
    assert max(map(len, results_text(rows).splitlines())) <= 80


def test_names_are_listed_as_in_a_sentence():
    assert [listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))] == ["a", "a and b", "a, b, c, d and 2 more"]
