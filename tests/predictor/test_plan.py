"""What --dry-run says: the runs that would be made, those in the store, their time and the cost of the evidence."""

import json

import pytest

from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.evidence.plan import Plan, plan_text, planned, rough_duration
from predictor.optimize.cli import main as choose
from predictor.predict import main as predict
from predictor.registry import predictors
from validation.league.cli import main as league
from validation.optimize.cli import main as choose_and_simulate
from validation.regimes.cli import main as regimes
from validation.run import main as run


@pytest.fixture
def targets():
    platform = materialise(named_grid("grid4x2"))
    return [Target(problem(app, "S"), platform, block(platform, 8)) for app in ("cg", "ep")]


def test_a_probe_that_two_predictors_share_is_one_run(targets):
    plan = planned([(Settings(), targets)], predictors(["hcf", "hcf-constant"]))
    assert [(spec.target.problem.name, spec.target.nranks) for spec in plan.evidence] == [("cg", 4), ("ep", 4)]
    assert [spec.target for spec in plan.truths] == targets and plan.others == ()
    assert planned([(Settings(), targets)], predictors(["hcf"]), truths=False).truths == ()
    assert planned([(Settings(), targets)], predictors(["hcf", "dpgraph"])).others == ("dpgraph",)


def test_a_plan_in_words(targets):
    plan = planned([(Settings(), targets)], predictors(["hcf", "dpgraph"]))
    first, cost, others = plan_text(plan, None, jobs=8).splitlines()
    assert first.startswith(
        "4 runs (2 of targets, 2 for evidence): 0 in the store, 4 to simulate, about 1 s with 4 at "
    )
    assert cost == "cost of the evidence: not known yet for 2 runs"
    assert others == "besides these, recordings and messages for dpgraph"
    assert plan_text(Plan((), (), ()), None, jobs=1) == "0 runs: 0 in the store, 0 to simulate"


def test_durations_are_rounded():
    assert [rough_duration(time_s) for time_s in (0.1, 119, 120, 7300)] == ["1 s", "119 s", "2 minutes", "2 hours"]


def test_what_is_in_the_store_costs_what_it_cost(capsys, tmp_path):
    words = "--scenario grid4x2 --app ep --class S --predictor hcf --store".split()
    assert predict([*words, str(tmp_path), "--json"]) == 0
    paid = capsys.readouterr().out
    assert predict([*words, str(tmp_path), "--dry-run"]) == 0
    first, cost = capsys.readouterr().out.splitlines()
    assert first == "1 run (1 for evidence): 1 in the store, 0 to simulate"
    node_s = float(cost.removeprefix("cost of the evidence: ").partition(" node-seconds")[0])
    assert node_s == pytest.approx(json.loads(paid)["predictions"][0]["prediction"]["cost"]["node_s"], rel=5e-3)


@pytest.mark.parametrize(
    ("main", "words", "said"),
    [
        (run, "--scenario grid4x2 --app cg --class S --predictor hcf", "2 runs (1 of targets, 1 for evidence)"),
        (predict, "--scenario grid4x2 --app cg --class S --predictor hcf", "1 run (1 for evidence)"),
        # 15 subsets of four clusters; two mappings differ if there are several clusters: 15 + 11 targets.
        (league, "--scenario grid4x2 --app cg --class S --predictor hcf", "(26 of targets, "),
        (regimes, "--scenario grid4x2 --app cg --class S --predictor hcf", "24 runs (12 of targets, 12 for evidence)"),
        (choose, "--scenario ichikawa --app hpl --size 960 --construction 480,960,1920,2880", "for evidence)"),
        (choose_and_simulate, "--scenario ichikawa --app hpl --size 960 --predictor hcf", " of targets"),
    ],
)
def test_commands_say_what_they_would_run_and_run_nothing(main, words, said, capsys, tmp_path):
    assert main([*words.split(), "--dry-run", "--store", str(tmp_path / "store")]) == 0
    assert said in capsys.readouterr().out
    assert not (tmp_path / "store").exists()
