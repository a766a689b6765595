"""All kernels under Open MPI and MPICH, with verified arithmetic."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from apps.machines.machine_file import read_machine
from apps.machines.machine_platform import machine_platform
from apps.measuring.examine import faults
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import problem, sized_problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target

pytestmark = pytest.mark.machine
EXAMPLES = Path(__file__).parents[3] / "examples" / "machines"


@pytest.fixture(params=["local", "mpich"])
def machine(request):
    found = read_machine(EXAMPLES / f"{request.param}.toml")
    if shutil.which(found.launcher.command[0]) is None or shutil.which(found.compilers.c) is None:
        pytest.skip(f"there is no {found.launcher.command[0]} here: sh setup.sh machine")
    return found


@pytest.mark.parametrize("name", kernel_names())
def test_every_kernel_is_verified(machine, name):
    kernel = named_kernel(name)
    preset = "S" if "S" in kernel.classes else next(iter(kernel.classes), "")
    asked = problem(name, preset) if kernel.size_parameter is None else sized_problem(name, 64)
    ranks = 5 if name == "dt" else 2  # the nodes of its smallest graph
    machine = replace(machine, limits=replace(machine.limits, ranks=ranks))
    target = Target(asked, machine_platform(machine), ("localhost",) * ranks)
    record = simulate(Settings(machine=machine, repeats=1).spec(target))
    assert record.verified is True


def test_the_doctor_finds_no_fault(machine):
    assert faults(machine) == []
