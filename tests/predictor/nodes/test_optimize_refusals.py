"""``gridval plan nodes``: what it refuses, before anything runs."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.platform import Cluster, Host, Platform
from platforms.read.read import materialise
from predictor.allocation.configuration import Limits
from predictor.nodes import command
from predictor.nodes.arguments import search_from_request
from predictor.nodes.cli import main
from predictor.nodes.study import Study

HIMENO = "--scenario ichikawa --app himeno --construction 8,10,12,14,16 --param niter=5 --param grid=slabs".split()
_MODELS = "is about measured models"


@pytest.fixture
def done(pretend):
    """The runs that were made, each of one second: none, since what is refused is refused before."""
    return pretend(lambda target: 1.0, command)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits((4, 4), (1, 1)), "3 clusters"),
        (Limits((9, 4, 4), (1, 1, 1)), "pentium4, which has 8"),
        (Limits((4, 4, 4), (257, 1, 1)), "257 processes on a node"),
    ],
)
def test_limits_that_do_not_fit_are_refused(limits, message):
    with pytest.raises(UserError, match=message):
        Study("himeno", materialise(named_grid("ichikawa")), limits)


def test_iterations_that_are_not_known_are_said_before_anything_runs(done, refused):
    refused(
        main,
        "--scenario ichikawa --app fem --size 96 --construction 7776,7800,7824,7848".split(),
        "number of iterations",
    )
    assert not done.targets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--nodes 4,4", "2 numbers of PEs and 3 of processes"),
        ("--nodes 4,4 --processes 1,1", "3 clusters"),
        ("--nodes=-1,4,4", "below zero"),
        ("--nodes 9,4,4", "pentium4, which has 8"),
        ("--nodes a,b,c", "not numbers"),
        ("--nodes 4,,4", "not numbers"),
        ("--nodes 0,0,0", "no configuration"),
        ("--processes 0,0,0", "no configuration"),
        ("--processes 0", "1 of processes"),
        ("--processes 1000000,1,1", "at most 256"),
        ("--objective cost", "--objective cost: needs --price"),
        ("--objective cheapest", "needs --price"),
        ("--objective carbon", "needs --carbon"),
        ("--objective carbon --carbon pentium4=100", "not for each cluster"),
        ("--price pentium5=100", "no cluster or host pentium5"),
        ("--objective cost --price pentium4=1", "no price for cluster"),
        ("--objective xx", "Known: time, energy, edp, cost, cheapest, carbon"),
        ("--objective cost --price 1,2", "2 values for 3"),
        ("--objective cost --price=-1,2,3", "below zero"),
        ("--objective cost --price 1,2,nan", "not a number"),
        ("--objective cost --price 1,2,x", "'x' is no price"),
        ("--objective cheapest --price 1,2,3 --slack=-1", "slack -1"),
        ("--objective cheapest --price 1,2,3 --slack nan", "slack nan"),
        ("--slack 0.5", "goes with --objective cheapest"),
        ("--drop xx", "It has N^3/P"),
        ("--drop log\u00a0P", "It has N^3/P"),
        ("--noise=-1", "noise -1"),
        ("--noise nan", "noise nan"),
        ("--noise 0.1 --seed=-1", "seed -1"),
        ("--construction 8,10", "2 measurements for the 4 terms"),
        ("--construction 8,8,10,12,14", "8 is given more than once"),
        ("--seed 1", "has no effect without noise"),
        ("--noise 0 --seed 1", "has no effect without noise"),
        ("--predictor npt:nt --search branch-and-bound", "which only npt and npt:pt models have, not npt:nt"),
        ("--construction 8,10,12 --predictor npt:pt", "3 measurements for the 4 terms"),
        ("--construction x", "not numbers"),
        ("--construction 0,8,10,12", "size 0"),
        ("--size=-5", "not a size"),
        ("--size 0", "not a size"),
        ("--fit xx", "Known: ls, nnls"),
        ("--weights xx", "Known: absolute, relative"),
        ("--glitches 2", "between 0 and 1"),
        ("--glitches nan", "between 0 and 1"),
        ("--param niter", "KEY=VALUE"),
        ("--param niter=x", "not an integer"),
        ("--param nothing=1", "no such parameter"),
        ("--predictor oracle", "Known: structural"),
        ("--predictor hcf,npt", "Known: structural"),
        ("--predictor hcf", f"--construction: {_MODELS}"),
        ("--search branch", "Known: exhaustive, branch-and-bound"),
        ("--network avian", "gigabit"),
        ("--platform FILE.xml", "does not go with --platform"),
        ("--then=-1", "below zero"),
        ("--efficiency 2", "(0, 1]"),
        ("--iterations few", "neither steady nor full"),
        ("--cfg smpi/os", "KEY:VALUE"),
        ("--write-hostfile /nowhere/hosts", "cannot be written"),
    ],
)
def test_bad_input_gets_one_line_and_status_2(done, refused, arguments, message):
    refused(main, [*HIMENO, "--probe", "0", "--size", "20", *arguments.split(" ")], message)
    assert not done.targets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--scenario ichikawa --app himeno", "--size: not given"),
        ("--scenario ichikawa --size 20", "--app: not given"),
        ("--app himeno --size 20", "--scenario NAME"),
        ("--scenario nope --app himeno --size 20", "no such scenario"),
        ("--scenario ichikawa --app nope --size 20", "no such program"),
        ("--scenario ichikawa --app cg --size 20", "no free size"),
        ("--scenario ichikawa --app fem --size 7 --nodes 0,4,4 --processes 0,2,1 --predictor hcf --noise 1", _MODELS),
        *(
            (f"--scenario ichikawa --app himeno --size 20 --predictor hcf {option}", _MODELS)
            for option in ("--fit ls", "--weights relative", "--glitches 0.9", "--noise 0.1", "--seed 1", "--drop N")
        ),
        ("--scenario ichikawa --app himeno --size 20 --predictor hcf --search branch-and-bound", "only npt and npt:pt"),
        ("--platform /nowhere.xml --app himeno --size 20", "no such file"),
    ],
)
def test_what_is_missing_or_does_not_go_together_gets_one_line(done, refused, arguments, message):
    refused(main, arguments.split(), message)
    assert not done.targets


def test_energy_needs_watts():
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", (Host("a", 1e9, 2),)),))
    asked = SimpleNamespace(
        objective="energy", search="exhaustive", predictor="npt", price=None, carbon=None, slack=None
    )
    with pytest.raises(UserError, match="--objective energy, cluster c: the platform gives no watts"):
        search_from_request(asked, platform)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--probe -1", "--probe -1: not a number of configurations to probe"),
        ("--probe 3 --objective energy", "--probe 3: probes are simulated times"),
        ("--probe 3 --search branch-and-bound", "--probe 3: probes are simulated times"),
        ("--bootstrap -1", "--bootstrap -1: not a number of resamplings"),
        ("--outliers drop", "outliers 'drop': no such word. Known: keep, reject, cross-validate"),
        ("--unpredictable caution", "--unpredictable: goes with --measurements"),
    ],
)
def test_probes_and_bootstraps_that_cannot_be_are_refused(done, capsys, arguments, said):
    assert main([*HIMENO, "--size", "20", *arguments.split()]) == 2
    assert said in capsys.readouterr().err
    assert not done.targets
