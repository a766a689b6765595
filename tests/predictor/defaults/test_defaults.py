"""The predictors that are asked where none is named."""

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem, sized_problem
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor import predict
from predictor.answers.answers import Answer
from predictor.answers.text import answer_lines
from predictor.base import Cost, ErrorRange, Prediction
from predictor.defaults.choice import default_predictors

JACOBI = "examples/jacobi/jacobi.c"


@pytest.fixture(scope="module")
def platform():
    return materialise(named_grid("grid4x2"))


def names(asked, platform, ranks=8, per_host=1):
    return [one.name for one in default_predictors(Target(asked, platform, block(platform, ranks, per_host)))]


@pytest.mark.parametrize("app", ["cg", "mg", "lu", "ft", "ep", "is"])
def test_structural_leads_for_the_kernels_that_it_knows(app, platform):
    assert names(problem(app, "S"), platform) == ["structural", "hcf:constant", "hcf"]


def test_dpgraph_leads_elsewhere(platform):
    assert names(sized_problem("fem", 32), platform) == ["dpgraph", "hcf:constant", "hcf"]
    assert names(own_problem(read_program(JACOBI, "100 {iterations}", 10)), platform)[0] == "dpgraph"


def test_dpgraph_leads_where_the_placement_is_outside_of_structural(platform):
    one_node = Target(problem("cg", "S"), platform, (platform.hosts[0].name,) * 2)
    assert default_predictors(one_node)[0].name == "dpgraph"


def test_the_command_says_which_predictor_it_asked_and_why(capsys):
    for app in ("cg --class S", "fem --size 24 --param niter=3"):
        assert predict.main(f"--scenario grid4x2 --app {app} --no-store".split()) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cg S on 8 ranks of grid4x2, structural: 1.24 s structural was asked because" in said
    assert "dpgraph was asked because structural has no answer: the messages of fem are not declared" in said
    assert "simulating the run itself is cheaper" in said  # the evidence of dpgraph costs more than this short run


def answer(platform, prediction):
    target = Target(problem("cg", "B"), platform, block(platform, 8))
    return Answer("hcf", target, prediction, None, (), 0.0)


def test_a_headline_is_the_range_where_the_time_lies_outside_of_it(platform):
    # By hand: errors of +100 to +300 % mean that the truth is 40 / 2 to 40 / 4 s.
    biased = Prediction(40.0, error_range=ErrorRange(100.0, 300.0, 50), cost=Cost(8.0, 1.0))
    head, *others = answer_lines(answer(platform, biased))
    assert head == "cg B on 8 ranks of grid4x2, hcf: 10.0 to 20.0 s"
    assert " ".join(" ".join(others).split()) == (
        "the model's own time is 40.0 s, too high here: in such cases it was 2.00 to 4.00 times the true time evidence "
        "costs 8.00 node-seconds, 2.50 % of the predicted run the evidence was simulated in 1.00 s"
    )


def test_a_headline_is_the_time_where_it_lies_in_its_range(platform):
    usual = Prediction(40.0, error_range=ErrorRange(-20.0, 25.0, 50))
    head, range_, *_ = answer_lines(answer(platform, usual))
    assert head.endswith("hcf: 40.0 s")
    assert range_.strip().startswith("true time 32.0 to 50.0 s: errors of -20 to +25 %")


def test_an_interval_of_the_model_itself_counts_too(platform):
    head, own, *_ = answer_lines(answer(platform, Prediction(40.0, low_s=50.0, high_s=60.0, no_error_range="no map")))
    assert head.endswith("hcf: 50.0 to 60.0 s")
    assert "own time of 40.0 s lies outside" in own
