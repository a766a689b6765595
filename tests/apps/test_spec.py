"""What a run is, and what none can be."""

from pathlib import Path

import pytest

from apps.catalog import own_problem, problem
from apps.errors import KernelError
from apps.s4u.limits import check_limits
from apps.spec import RunSpec, Settings, Target, check_host_names
from apps.user_program import read_program
from platforms.placement import block
from platforms.read import materialise, read_platform
from platforms.scenario import named_grid

JACOBI = Path(__file__).parents[2] / "examples" / "jacobi" / "jacobi.c"


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
    with pytest.raises(KernelError) as error:
        make(target)
    assert said in str(error.value)


def test_a_platform_whose_options_runs_cannot_have_is_refused(tmp_path):
    path = tmp_path / "own.xml"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<config><prop id="smpi/simulate-computation" value="yes"/></config>'
        '<zone id="w" routing="None"><host id="h" speed="1Gf"/></zone></platform>'
    )
    platform = read_platform(path)
    with pytest.raises(KernelError, match="its <config> sets smpi/simulate-computation to yes, but runs need no"):
        Settings().spec(Target(problem("cg", "S"), platform, ("h",)))


def test_a_moved_byte_needs_a_bus(target):
    assert RunSpec(target).moved_bytes_per_flop == 0


def test_a_program_of_one_s_own_does_not_say_what_it_moves():
    assert jacobi().bytes_per_flop is None
