"""Test descriptions of runs, valid and invalid."""

from pathlib import Path

import pytest

from apps.errors import OptionError
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.spec.engine_options import check_host_names
from apps.spec.run_spec import RunSpec
from apps.spec.s4u_limits import check_limits
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform

JACOBI = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


def jacobi():
    return own_problem(read_program(JACOBI, "100 {iterations}", 10))


def own_spec(target, **how):
    return RunSpec(Target(jacobi(), target.platform, target.placement), **how)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda t: Target(t.problem, t.platform, ()), "placement: no ranks. Place at least one rank"),
        (lambda t: RunSpec(t, mode="quick"), "mode 'quick': no such mode. Known: "),
        (lambda t: RunSpec(t, memory_bus="wide"), "--memory-bus wide: neither a number nor a known word"),
        (lambda t: check_host_names(["a", "b:1"]), "host 'b:1': smpirun's host file cannot name it"),
        (
            lambda t: check_limits(own_spec(t, engine="s4u")),
            "--engine s4u: jacobi is not a program in Python",
        ),
    ],
)
def test_a_run_that_cannot_be_is_refused(target, make, said):
    with pytest.raises(UserError) as error:
        make(target)
    assert said in str(error.value)


def timing_computation(path, how):
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        f'<config><prop id="smpi/simulate-computation" value="{how}"/></config>'
        '<zone id="w" routing="None"><host id="h" speed="1Gf"/></zone></platform>'
    )
    return read_platform(path)


def test_a_platform_whose_options_runs_cannot_have_is_refused(tmp_path):
    platform = timing_computation(tmp_path / "own.xml", "yes")
    with pytest.raises(OptionError, match="its <config> sets smpi/simulate-computation to yes, but runs need no"):
        Settings().spec(Target(problem("cg", "S"), platform, ("h",)))


@pytest.mark.parametrize("word", ["no", "off", "false", "0"])  # all that SimGrid takes for no
def test_a_platform_may_say_in_any_word_what_runs_need(tmp_path, word):
    platform = timing_computation(tmp_path / "own.xml", word)
    assert Settings().spec(Target(problem("cg", "S"), platform, ("h",))).options == ()


def test_a_moved_byte_needs_a_bus(target):
    assert RunSpec(target).moved_bytes_per_flop == 0


def test_a_program_of_one_s_own_does_not_say_what_it_moves():
    assert jacobi().bytes_per_flop is None
