"""Options of gridval.run and gridval.predict beside their arguments, and gridval.ask."""

import json
import re

import gridval as gv
import pytest

from platforms.command.request import fields_of
from platforms.command.values import parsed, words_of
from validation.entrance.choosing import all_commands, choose
from validation.entrance.main import main
from validation.interactive import running


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


GRID = {"platform": "grid4x2", "app": "cg", "problem_class": "S"}
LOAD = "examples/shared-grid.toml"
STENCIL = "examples/blocks/stencil.toml"
SYSTEM = "examples/blocks/cluster.toml"
# Calls, and the words that ask for the same: of verbs that return their answer and of those that print it, whose
# command an option or a file chooses, with arguments by place, lists and mappings.
SAME = [
    (
        "predict", {**GRID, "background": LOAD, "draws": 10, "predictor": "hcf"},
        f"predict --background {LOAD} --draws 10 --predictor hcf GRID",
    ),
    (
        "predict", {**GRID, "background": LOAD, "draws": 10, "predictor": "hcf", "simulate": True, "truths": 2},
        f"predict --background {LOAD} --draws 10 --predictor hcf --simulate --truths 2 GRID",
    ),
    ("predict", {**GRID, "what_if": 2}, "predict --what-if 2 GRID"),
    ("graph", {**GRID, "what_if": 2, "iterations": 2}, "graph --what-if 2 --iterations 2 GRID"),
    ("run", {**GRID, "predictors": ["hcf", "hcf:printed"]}, "run --predictor hcf,hcf:printed GRID"),
    ("Plan SHARES", {**GRID, "predictor": "hcf"}, "plan shares --predictor hcf GRID"),
    ("plan clock", {**GRID, "predictor": "hcf"}, "plan clock --predictor hcf GRID"),
    (
        "plan shares", {"platform": "grid2x2", "speeds": "10,20", "app": "lu", "problem_class": "S", "simulate": True},
        "plan shares --simulate --scenario grid2x2 --speeds 10,20 --app lu --class S",
    ),
    ("platform show", {"platform": "grid2x3", "speeds": [10, 20]}, "platform show --scenario grid2x3 --speeds 10,20"),
    ("platform hardware", {"words": ["xeon"], "kind": "cpus"}, "platform hardware xeon --kind cpus"),
    ("platform check", {"file": "examples/platforms/campus.xml"}, "platform check examples/platforms/campus.xml"),
    ("predictor list", {}, "predictor list"),
    (
        "plan failures", {"rate": 1e-5, "checkpoint": 10, "work": 1e5},
        "plan failures --rate 1e-5 --checkpoint 10 --work 1e5",
    ),
    (
        "plan failures", {"simulate": True, "runs": 100, "simulations": 0},
        "plan failures --simulate --runs 100 --simulations 0",
    ),
    (
        "plan failures", {"application": STENCIL, "system": SYSTEM, "checkpoint": 10, "failure_rate": 1e-6},
        f"plan failures {STENCIL} --system {SYSTEM} --checkpoint 10 --failure-rate 1e-6",
    ),
    (
        "blocks run", {"application": STENCIL, "system": SYSTEM, "vary": {"px": [1, 2], "n": 1000}},
        f"blocks run {STENCIL} --system {SYSTEM} --vary px=1,2 --vary n=1000",
    ),
    (
        "blocks run", {"application": STENCIL, "system": SYSTEM, "set": {"px": 2}, "simulate": True},
        f"blocks run --simulate {STENCIL} --system {SYSTEM} --set px=2",
    ),
    ("program run", GRID, "program run GRID"),
    ("doctor", {}, "doctor"),
]  # fmt: skip


def without_times(values):
    """JSON values without times and memory of this machine, and without sizes of its folders: others write there."""
    if isinstance(values, dict):
        return {name: without_times(one) for name, one in values.items() if not re.search("wall|peak_memory", name)}
    if isinstance(values, str):
        return re.sub(r"[\d.]+ (entries|[kMGT]?B)\b", r"... \1", values)
    return [without_times(one) for one in values] if isinstance(values, list) else values


@pytest.mark.parametrize(("verb", "options", "words"), SAME, ids=[words for *_, words in SAME])
def test_ask_gives_the_answer_of_every_kind_of_verb(verb, options, words, store, capsys):
    words = words.replace("GRID", "--scenario grid4x2 --app cg --class S").split()
    if (
        "store" in {field.key for field in fields_of(choose(words).command.request)}
        and words[0] != "program"
        and "--rate" not in words
    ):
        words, options = [*words, "--store", str(store)], {**options, "store": store}
    assert main([*words, "--json"]) == 0
    printed = capsys.readouterr().out
    given = dict(options)
    asked = gv.ask(verb, **options)
    assert capsys.readouterr().out == "" and options == given
    assert without_times(json.loads(json.dumps(asked))) == without_times(json.loads(printed))


def test_options_that_choose_a_command_are_asked_by_name(store):
    given = {**GRID, "predictor": "hcf", "store": store}
    assert "54 of targets" in gv.ask("plan clock", simulate=True, dry_run=True, **given)
    for options in ({}, {"simulate": False}, {"simulate": None}):
        assert "1 for evidence" in gv.ask("plan clock", dry_run=True, **options, **given)
        (study,) = gv.ask("plan clock", **options, **given)["studies"]
        assert "best" in study and "compared" not in study


def test_ask_returns_what_verbs_without_json_print(store, capsys):
    gv.predict("grid4x2", "ep", problem_class="S", predictor="hcf", store=store)
    gv.predict("grid4x2", "mg", problem_class="S", predictor="hcf", store=store)
    for options, words in (
        ({}, []),
        ({"app": "ep", "wide": True}, ["--app", "ep", "--wide"]),
        ({"platform": "c2"}, ["--platform", "c2"]),
    ):
        said = gv.ask("store list", store=store, **options)
        assert main(["store", "list", "--store", str(store), *words]) == 0
        assert said == capsys.readouterr().out
    key = gv.ask("store list", store=store, app="ep").splitlines()[1].split()[0]
    assert json.loads(gv.ask("store show", store=store, key=key))["identity"]["app"] == "ep"
    assert gv.ask("store prune", store=store, all=True) == ""
    assert gv.ask("store list", store=store) == ""
    assert "#compdef gridval" in gv.ask("completion", shell="ZSH")
    assert gv.ask("platform make", scenario="grid4x2").startswith("<?xml")


def test_ask_writes_the_files_that_are_asked_for(tmp_path):
    written = tmp_path / "ep.json"
    gv.ask("program run", platform="grid4x2", app="ep", problem_class="S", timeline=str(written))
    assert json.loads(written.read_text())


@pytest.mark.parametrize(
    ("verb", "options", "said"),
    [
        ("", {}, "gridval: not a command, but a group of verbs"),
        ("plan", {}, "gridval plan: not a command, but a group of verbs"),
        ("plan", {"simulate": True}, "gridval plan --simulate: no such verb. Known: nodes, "),
        ("rnu", {}, "gridval rnu: no such verb. Did you mean run? Known: run, "),
        ("platform draw", {}, "gridval platform draw: no such verb. Known: show, "),
        ("clock", {}, "gridval clock: is called gridval plan clock now. Write that."),
        ("run --app cg", {}, "gridval run --app cg: --app is not part of the verb. Give options "),
        ("blocks run app.toml", {}, "gridval blocks run app.toml: app.toml is not part of the verb"),
        ("plan clock", {"appp": "cg"}, "appp: no such option. Did you mean app? Known: scenario, "),
        ("run", {"simulate": True}, "simulate: no such option. Known: "),
        ("plan clock", {"help": True}, "help: no such option. Known: "),
        ("predict", {**GRID, "simulate": True}, "gridval predict --simulate: no such command. Known: "),
        ("predict", {**GRID, "background": LOAD, "what_if": 2}, "--background --what-if: no such command. Known: "),
        ("predict", {**GRID, "background": "nowhere.toml"}, "nowhere.toml"),
        ("predict", {**GRID, "what_if": 0}, "--what-if 0: not a positive number"),
        ("series campaign", {}, "file: is missing. Give a value."),
        ("run", {**GRID, "ranks": "8"}, "ranks: '8' is not a whole number. Give one."),
        ("store list", {"wide": 1}, "wide: 1 is neither true nor false. Give one of them."),
        ("completion", {"shell": "bsah"}, "is not one of bash, zsh, fish. Did you mean bash? Give one of them."),
        ("run", {**GRID, "predictor": "hcf", "predictors": "npt"}, "predictor: is given twice, by two names"),
        ("run", {**GRID, "scenario": "grid4x4"}, "scenario: is given twice, by two names"),
    ],
)
def test_wrong_questions_are_user_errors(verb, options, said):
    with pytest.raises(gv.UserError) as raised:
        gv.ask(verb, **options)
    assert said in str(raised.value) and str(raised.value).count("?.") == 0


@pytest.mark.parametrize(("verb", "module"), [("run", running), ("predict", running)])
def test_every_option_of_the_verb_is_taken_by_its_name_or_refused(verb, module, monkeypatch):
    made = []
    monkeypatch.setattr(module, "settings_from_request", lambda request: None)
    monkeypatch.setattr(
        module, "_results" if verb == "run" else "_prediction", lambda request, *_: made.append(request)
    )
    function = getattr(gv, verb)
    refused = []
    fields = {field.key: field for field in fields_of(choose([verb]).command.request)}
    own = {"app", "platform", "scenario", "truth"}  # arguments by place, and one that the function reads itself
    for key in fields.keys() - own:
        field = fields[key]
        values = {"bool": True, "int": 2, "float": 2.0, "RanksPerHost": 2}
        value = values.get(field.kind) or next(iter(field.choices or ["platform"]))
        try:
            function("grid4x2", "cg", **{key: value})
        except gv.UserError as error:
            assert f"{key}: gridval.{verb} has no such option. Call gridval.ask" in str(error)
            refused.append(key)
        else:
            assert getattr(made[-1], key) == ((value,) if field.repeated else value)
    costs = {"price", "carbon", "pue", "embodied", "start", "start_within"}
    output = {"dry_run", "json", "machine", "repeats", *costs}
    if verb == "run":
        assert {*refused} == {*output, "energy", "fail_above", "no_target", "out", "report", "timeline", "wide"}
    else:
        assert {*refused} == {*output, "recording", "recorded_gflops", "write_hostfile"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"efficiency": 0.5}, "--efficiency 0.5"),
        ({"frequency": "min"}, "--frequency min"),
        ({"speeds": [10, 20, 30, 40], "factors": "simgrid"}, "--speeds 10,20,30,40 --factors simgrid"),
        ({"iterations": 3, "memory_bus": 10}, "--iterations 3 --memory-bus 10"),
        ({"cfg": ["network/TCP-gamma:10000"], "no_store": True}, "--cfg network/TCP-gamma:10000 --no-store"),
        (
            {"mapping": "cyclic", "ranks": 8, "class": "W", "problem_class": None},
            "--mapping cyclic --ranks 8 --class W",
        ),
    ],
)
def test_other_options_give_what_the_commands_give(options, words, store, capsys):
    kept = {} if "no_store" in options else {"store": store}
    given = {"platform": "grid4x2", "app": "cg", "problem_class": "S", **kept, **options}
    asked = ["--scenario", "grid4x2", "--app", "cg", "--class", "S", "--predictor", "hcf", "--json", *words.split()]
    if kept:
        asked += ["--store", str(store)]
    (row,) = gv.run(predictors="hcf", **given).to_dict("records")
    assert main(["run", *asked]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["results"]
    times = ("predicted_s", "simulated_s")
    assert [row[name] for name in times] == [printed[name] for name in times]
    assert gv.predict(predictor="hcf", **given).time_s == row["predicted_s"]


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


PLAIN = {"bool": True, "int": -3, "float": 1e-05, "str": "-a b,c"}


@pytest.mark.parametrize("name", all_commands())
def test_the_words_of_every_request_ask_for_the_same(name):
    command = all_commands()[name].command
    parser = command.parser()
    required = {field.key: value_of(field) for field in fields_of(command.request) if field.required}
    behind = any(field.declared.behind for field in fields_of(command.request))
    for field in fields_of(command.request):
        if behind and field.declared.positional:  # a file, which gets a folder before its dash
            required[field.key] = "a b"
        elif field.kind in PLAIN and field.declared.parse is None:
            request = command.request(**{**required, field.key: value_of(field)})
            assert parsed(command.request, parser, words_of(request)) == request, field.key


def value_of(field):
    """A value of a field, one that is easily taken for an option where nothing forbids it."""
    value = field.choices[-1] if field.choices else PLAIN.get(field.kind, "1")
    if field.required and field.declared.parse is not None and not field.declared.positional:
        value = tuple(field.declared.parse("1"))
    if field.declared.several:
        value = "a b"
    return (value,) if field.repeated else value
