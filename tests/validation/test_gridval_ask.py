"""Options of gridval.run and gridval.predict beside their arguments, and gridval.ask."""

import json

import gridval as gv
import pytest

from validation.entrance.main import main


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


def test_ask_returns_what_the_command_prints_with_json(store, capsys):
    asked = gv.ask("predict", platform="grid4x2", app="ep", problem_class="S", predictor=["hcf"], store=store)
    words = "predict --scenario grid4x2 --app ep --class S --predictor hcf --json --store".split()
    assert main([*words, str(store)]) == 0
    printed = json.loads(capsys.readouterr().out)
    for one in (asked, printed):
        one["predictions"][0].pop("wall_s")
    assert json.loads(json.dumps(asked)) == printed


def test_options_that_choose_a_command_are_asked_by_name(store):
    given = {"platform": "grid4x2", "app": "cg", "problem_class": "S", "store": store}
    assert "54 to simulate" in gv.ask("plan clock", simulate=True, dry_run=True, **given)
    assert "best" in gv.ask("plan clock", **given)["studies"][0]


def test_ask_writes_the_files_that_are_asked_for(tmp_path):
    written = tmp_path / "ep.json"
    gv.ask("program run", platform="grid4x2", app="ep", problem_class="S", timeline=str(written))
    assert json.loads(written.read_text())


@pytest.mark.parametrize(
    ("verb", "options", "said"),
    [
        ("plan", {}, "gridval plan: not a command, but a group of verbs"),
        ("clock", {}, "is called gridval plan clock now"),
        ("plan clock", {"apps": "cg"}, "apps: no such option. Did you mean app"),
        ("store list", {"wide": 1}, "neither true nor false"),
    ],
)
def test_wrong_questions_are_user_errors(verb, options, said):
    with pytest.raises(gv.UserError, match=said):
        gv.ask(verb, **options)


def test_other_options_of_the_verb_have_their_effect(store):
    given = {"problem_class": "S", "predictors": "hcf", "store": store}
    plain, divided, slow = (
        gv.run("grid4x2", "cg", **given, **more) for more in ({}, {"shares": "speed"}, {"efficiency": 0.001})
    )
    assert divided["simulated_s"][0] != plain["simulated_s"][0]
    assert slow["simulated_s"][0] > plain["simulated_s"][0]
    predicted = gv.predict("grid4x2", "cg", problem_class="S", predictor="hcf", store=store, shares="speed")
    assert predicted.time_s == divided["predicted_s"][0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gv.run("grid4x2", "cg", machine="machine.toml"), "machine: gridval.run has no such option"),
        (lambda: gv.run("grid4x2", "cg", out="results"), "out: gridval.run has no such option"),
        (lambda: gv.predict("grid4x2", "cg", recording="trace.otf2"), "recording: gridval.predict has no such option"),
        (lambda: gv.predict("grid4x2", "cg", dry_run=True), 'Call gridval.ask."predict", ...., which has'),
        (lambda: gv.run("grid4x2", "cg", settings=gv.Settings(), efficiency=0.1), "does not go with settings"),
        (lambda: gv.run("grid4x2", "cg", nothing=1), "nothing: no such option"),
    ],
)
def test_options_without_an_effect_are_refused(call, said):
    with pytest.raises(gv.UserError, match=said):
        call()
