"""Answers of gridval.ask that show themselves, and the verbs as functions."""

import inspect
import json

import gridval as gv
import pytest

from validation.entrance.choosing import all_commands
from validation.entrance.verbs import VERBS
from validation.interactive.answer import shown

ROWS = {
    "app": "cg",
    "studies": [
        {"ranks": 2, "time_s": 4.0, "of": {"c1": [{"ghz": 2.5, "time_s": 1.0}, {"ghz": 1.2, "time_s": 2.0}]}},
        {"ranks": 4, "time_s": 2.5, "of": {"c1": []}},
        {"ranks": 8, "time_s": 1.5, "of": {"c1": []}},
    ],
    "cautions": ["short <run>"],
}


def test_an_answer_is_its_json_values_and_says_in_a_line_what_it_holds():
    answer = shown("plan clock", ROWS)
    assert answer == ROWS and json.loads(json.dumps(answer)) == ROWS
    assert repr(answer) == "<plan clock: app cg, studies (3), cautions (1)>"
    assert answer.cautions == ["short <run>"] and list(answer.values()) == list(ROWS.values())


def test_every_list_of_objects_is_a_table_of_a_name():
    answer = shown("plan clock", ROWS)
    assert list(answer.tables) == ["studies", "studies[0].of.c1"]
    assert answer.table()["time_s"].tolist() == [4.0, 2.5, 1.5]
    assert answer.table("studies[0].of.c1")["ghz"].tolist() == [2.5, 1.2]
    with pytest.raises(gv.UserError, match="has none"):
        answer.table("study")


def test_an_answer_shows_itself_in_a_notebook():
    html = shown("plan clock", ROWS)._repr_html_()
    assert "<b>plan clock</b>" in html and "<td>2.5</td>" in html and "<li>short &lt;run&gt;</li>" in html
    assert shown("store list", "a < b")._repr_html_() == "<pre>a &lt; b</pre>"


def test_a_picture_has_ranks_across_and_the_first_time_upwards():
    (axes,) = shown("plan clock", ROWS).plot().figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("ranks", "time_s", "plan clock")
    (line,) = axes.get_lines()
    assert line.get_xdata().tolist() == [2, 4, 8] and line.get_ydata().tolist() == [4.0, 2.5, 1.5]
    (axes,) = shown("plan clock", ROWS).plot("ghz", "time_s", table="studies[0].of.c1").figure.axes
    assert axes.get_lines()[0].get_xdata().tolist() == [2.5, 1.2]
    with pytest.raises(gv.UserError, match="no such column"):
        shown("plan clock", ROWS).plot("rank")


def test_every_verb_is_a_function_with_its_options_and_help():
    assert {*VERBS} <= {*dir(gv)}
    for words in all_commands():
        function = gv
        for name in words.partition(" -")[0].partition(" APP")[0].split():
            function = getattr(function, name)
            if inspect.isfunction(function):  # run, predict and blocks have functions of their own
                break
        assert function.__doc__
        if not inspect.isfunction(function):
            assert inspect.signature(function) is not None and repr(function).startswith("<gridval ")
    with pytest.raises(AttributeError, match="has no verb 'node'"):
        _ = gv.plan.node


def test_a_verb_and_ask_give_the_same(tmp_path):
    given = {"apps": "cg", "problem_class": "S", "predictors": "hcf", "store": tmp_path}
    assert (
        gv.plan.clock(platform="grid4x2", **given)["studies"]
        == gv.ask("plan clock", platform="grid4x2", **given)["studies"]
    )
    sized = {"app": "hpl", "n": 4000, "most_nodes": 4}
    cores = gv.plan.cores(platform="bwUniCluster", **sized)
    assert cores["system"] == "bwUniCluster" and cores == gv.ask("plan cores", system="bwUniCluster", **sized)


def test_a_prediction_is_one_line_and_a_table(tmp_path):
    made = gv.predict("grid4x2", "ep", problem_class="S", predictor="dpgraph:known", store=tmp_path)
    assert repr(made).startswith(f"Prediction(time_s={made.time_s:.6g}") and len(repr(made)) < 120
    assert f"<td>time, s</td><td>{made.time_s:.4g}</td>" in made._repr_html_()
