"""The predictors that are asked where none is named."""

from dataclasses import replace

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
from predictor.defaults.choice import best_names, default_predictors

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
    assert said.count("dpgraph:known was asked because a platform file is all there is") == 2
    assert said.startswith("cg S on 8 ranks of grid4x2, dpgraph:known: 1.24")
    assert "simulating the run itself is cheaper" in said  # all three iterations of fem are recorded
    assert said.endswith(
        "8 ranks on 8 hosts: 2 of c1, 2 of c2, 2 of c3, 2 of c4; --write-hostfile FILE lists them in rank order"
    )


def test_a_prediction_alone_reads_the_platform_file_and_a_machine_is_measured(platform):
    asked = Target(problem("cg", "S"), platform, block(platform, 8))
    assert best_names(asked, on_machine=False) == (
        ["dpgraph:known", "structural", "dpgraph", "hcf:constant", "hcf"],
        [],
    )
    assert best_names(asked, on_machine=True)[0][0] == "structural"
    names, outside = best_names(replace(asked, problem=sized_problem("fem", 32)), on_machine=True)
    assert names[0] == "dpgraph" and outside[0][0] == "structural" and "not declared" in outside[0][1]


def test_measured_messages_take_the_place_of_a_network_that_the_file_does_not_describe_to_the_model(capsys):
    options = "--app cg --class S --cfg smpi/coll-selector:ompi --no-store"
    assert predict.main(["--scenario", "grid4x2", *options.split()]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "was asked because dpgraph:known has no answer: smpi/coll-selector:ompi" in said


def test_of_many_clusters_the_first_are_named(capsys):
    speeds = ",".join(["40"] * 9)
    options = f"--scenario grid9x1 --speeds {speeds} --app ep --class S --no-store"
    assert predict.main(options.split()) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "9 ranks on 9 hosts: 1 of c1," in said and "1 of c8, and others of 1 more cluster; --write-hostfile" in said


def test_a_program_that_does_not_run_on_so_many_ranks_has_no_answer(refused):
    # LU, class S, has 12 points along an axis, and 48 ranks would form a grid of 8 x 6, which needs two for each rank.
    options = "--scenario grid3x16 --app lu --class S --no-store"
    refused(predict.main, options.split(), "lu S on 48 ranks: 48 ranks would form a grid of")


def test_where_the_time_goes_stands_before_what_the_answer_rests_on(capsys):
    assert predict.main("--scenario grid4x2 --app ep --class S --no-store".split()) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    said = [line.strip() for line in lines]
    bar, most = (
        next(i for i, line in enumerate(said) if line.startswith(start)) for start in ("[####", "bottleneck: comp")
    )
    asked = next(i for i, line in enumerate(said) if line.startswith("dpgraph:known was asked"))
    assert bar < most < asked
    # EP computes all the time but for a reduction at its end, and the nodes of c1 are the slowest.
    assert "computation on the nodes of c1" in said[most]


def answer(platform, prediction):
    target = Target(problem("cg", "B"), platform, block(platform, 8))
    return Answer("hcf", target, prediction, None, (), 0.0)


def test_a_headline_is_the_range_where_the_time_lies_outside_of_it(platform):
    # By hand: errors of +100 to +300 % mean that the truth is 40 / 2 to 40 / 4 s.
    biased = Prediction(40.0, error_range=ErrorRange(100.0, 300.0, 50), cost=Cost(8.0, 1.0))
    head, *others = answer_lines(answer(platform, biased))
    assert head == "cg B on 8 ranks of grid4x2, hcf: 10 to 20 s"
    assert " ".join(" ".join(others).split()) == (
        "the model's own time is 40 s, too high here: in such cases it was 2.00 to 4.00 times the true time evidence "
        "costs 8.00 node-seconds, 2.50 % of the predicted run the evidence was simulated in 1.00 s"
    )


def test_a_headline_is_the_time_where_it_lies_in_its_range(platform):
    usual = Prediction(40.0, error_range=ErrorRange(-20.0, 25.0, 50))
    head, range_, *_ = answer_lines(answer(platform, usual))
    assert head.endswith("hcf: 40 s")
    assert range_.strip().startswith("true time 32 to 50 s: errors of -20 to +25 %")


def test_an_interval_of_the_model_itself_counts_too(platform):
    head, own, *_ = answer_lines(answer(platform, Prediction(40.0, low_s=50.0, high_s=60.0, no_error_range="no map")))
    assert head.endswith("hcf: 50 to 60 s")
    assert "own time of 40 s lies outside" in own
