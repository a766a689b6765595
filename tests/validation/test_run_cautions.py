"""Every command that uses runs prints their cautions, and its JSON and its report carry them."""

import json
import shlex
from pathlib import Path

import pytest
from lxml import html

from apps.run import main as run
from platforms.read.read import read_platform
from predictor.clock.cli import main as frequency
from predictor.failures.cli import main as reliability
from predictor.graph.cli import main as dpgraph
from predictor.grid.cli import main as design
from predictor.nodes.cli import main as optimize
from predictor.predict import main as predict
from tests.verbs import blocks
from validation.campaign import main as campaign
from validation.clock.cli import main as validate_frequency
from validation.league import main as league
from validation.map.cli import main as regimes
from validation.nodes.cli import main as validate_optimize
from validation.run import main as validate

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "platforms" / "data"
GRID = "--scenario grid4x2"
PROGRAM = f"--program {ROOT}/examples/jacobi/jacobi.c --program-args '40 {{iterations}}' --program-iterations 40"
SILENT = f"{GRID} {PROGRAM}"
NO_COMPUTATION = (
    "the program injects no computation: all times are those of communication alone; --compute measured times it"
)
EXTRAPOLATED = "iterations were simulated: they repeat; the others are extrapolated from them, with "
IN_FULL = "all iterations were simulated: a full run has few messages"
TIMES = ("predicted_s", "simulated_s", "time_s")
RECORDED = "iterations were recorded: the others are assumed to be like them"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def said(capsys, store):
    """``said(main, arguments)``: the cautions on standard error, which are also those of the JSON."""

    def ask(main, arguments):
        words = shlex.split(arguments)
        if main is not run:
            words += ["--store", str(store)]
        assert main([*words, "--json"]) == 0
        out, err = capsys.readouterr()
        printed = [line.removeprefix("caution: ") for line in err.splitlines() if line.startswith("caution: ")]
        assert len(printed) == len(set(printed))  # each once
        assert set(json.loads(out)["cautions"]) >= set(printed)
        return printed

    return ask


def has(cautions, *sentences):
    return all(any(sentence in caution for caution in cautions) for sentence in sentences)


def test_the_record_of_a_run_carries_its_cautions(said, capsys):
    found = said(run, SILENT)
    assert found == [NO_COMPUTATION, IN_FULL]
    # The text has the extrapolation already.
    assert run([*GRID.split(), "--app", "cg"]) == 0
    out, err = capsys.readouterr()
    assert "extrapolated  from 5 of 15 iterations" in out and EXTRAPOLATED not in err
    assert has(said(run, f"{GRID} --app cg"), EXTRAPOLATED)


@pytest.mark.parametrize(
    ("main", "grid"),
    [(predict, GRID), (validate, GRID), (league, "--scenario grid2x4 --speeds 50,60")],  # the league runs all choices
)
def test_a_program_that_takes_no_time_is_said_to_take_none(said, main, grid):
    found = said(main, f"{grid} {PROGRAM} --predictor hcf,dpgraph:known")
    assert has(found, NO_COMPUTATION, IN_FULL, RECORDED)
    assert any(one.startswith("recording of jacobi on ") for one in found)


def test_all_targets_of_a_caution_are_counted(said):
    # By hand: the probe on 4 hosts, the target on 8.
    found = said(validate, f"{SILENT} --predictor hcf")
    assert f"jacobi on 4 ranks of grid4x2, and 1 more: {NO_COMPUTATION}" in found


def test_a_campaign_says_how_far_it_extrapolated(said, tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_text('scenarios = ["grid4x2"]\napps = ["cg"]\nclasses = ["S"]\npredictors = ["hcf", "dpgraph:known"]\n')
    found = said(campaign, str(path))
    assert has(found, f"cg S on 4 ranks of grid4x2, and 1 more: 5 of 15 {EXTRAPOLATED}", RECORDED)


def test_a_report_has_the_cautions_about_the_runs(said, tmp_path):
    page = tmp_path / "report.html"
    found = said(validate, f"{SILENT} --predictor hcf --report {page}")
    (listed,) = html.parse(page).xpath("//h3[@id='run-cautions']/following-sibling::ul[1]")
    assert [item.text_content() for item in listed] == found


@pytest.mark.parametrize("main", [predict, validate])
def test_computation_that_no_store_keeps_is_said_once_to_vary(capsys, main):
    words = shlex.split(SILENT)
    words += ["--compute", "measured", "--host-speed", "10", "--predictor", "hcf", "--no-store", "--json"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert err.count("computation is timed on this machine: results vary from run to run") == 1
    assert any("computation is timed on this machine" in one for one in json.loads(out)["cautions"])


@pytest.mark.parametrize("main", [predict, validate])
def test_replayed_computation_gives_the_same_answer_again(capsys, store, main):
    words = [*shlex.split(SILENT), "--compute", "measured", "--host-speed", "10", "--predictor", "dpgraph:known"]
    answers = []
    for _ in range(2):
        assert main([*words, "--store", str(store), "--json"]) == 0
        out, err = capsys.readouterr()
        assert "results vary" not in err
        answers.append(out)
    assert _times(json.loads(answers[0])) == _times(json.loads(answers[1])) != []


def _times(value):
    """Every predicted and simulated time in an answer."""
    if isinstance(value, dict):
        return [time for key, inner in value.items() for time in ([inner] if key in TIMES else _times(inner))]
    return [time for inner in value for time in _times(inner)] if isinstance(value, list) else []


@pytest.mark.parametrize("main", [predict, validate])
def test_a_platform_that_changes_is_said_to_change(said, main):
    found = said(main, f"--platform {DATA / 'halved.xml'} --app mg --class S --ranks 2 --predictor dpgraph")
    first = read_platform(DATA / "halved.xml").changes[0]
    assert has(found, f"the platform changes while the program runs: {first}")


@pytest.mark.parametrize("main", [frequency, validate_frequency])
def test_frequencies_rest_on_runs_too(said, main):
    found = said(main, "--scenario grid2x2 --speeds 50,60 --app cg --class S --predictor hcf")
    assert has(found, EXTRAPOLATED, "frequencies of c2 are assumed")  # the published ones end at 50 Gflop/s


@pytest.mark.parametrize("main", [optimize, validate_optimize])
def test_choices_of_nodes_rest_on_runs_too(said, main):
    shape = "--app himeno --size 16 --param niter=40 --nodes 1,1,1,1 --processes 1,1,1,1"
    found = said(main, f"{GRID} {shape} --predictor dpgraph:known")
    assert has(found, RECORDED)
    # By hand: each of 4 clusters may be used or not, but not none of them: 15 runs.
    assert has(found, f"and 14 more: 5 of 40 {EXTRAPOLATED}") is (main is validate_optimize)


def test_a_graph_says_what_was_recorded(said):
    (found,) = (one for one in said(dpgraph, "--app is --ranks 4") if not one.startswith("SimGrid"))
    assert found == f"recording of is S on 4 ranks: 1 of 10 {RECORDED}"


def test_a_calibration_on_a_platform_that_changes_says_so(said):
    found = said(blocks, f"calibrate --platform {DATA / 'halved.xml'} --processes 2")
    assert has(found, "blocks on halved: the platform changes while the program runs")


def test_reliability_and_regimes_say_what_their_runs_rest_on(said):
    failing = "--rate 1e-6 --checkpoint 1 --restart 1"
    assert has(said(reliability, f"{GRID} --app cg --class S --nodes 4 {failing}"), RECORDED)
    once = "--network gigabit --network-scales 1 --efficiency-scales 1"
    assert has(said(regimes, f"{GRID} {once} --app cg --class S --predictor hcf"), EXTRAPOLATED)


@pytest.mark.slow
def test_a_design_says_what_its_runs_rest_on(said):
    assert has(said(design, str(ROOT / "examples" / "grid-design.toml")), RECORDED)
