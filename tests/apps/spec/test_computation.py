"""What --compute auto stands for: injected where the program refers to SimGrid's functions, measured elsewhere."""

import subprocess

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.spec.settings import resolved_compute

MAIN = (
    "#include <mpi.h>\n#include <smpi/smpi.h>\n%s\nint main(int c, char **v) { MPI_Init(&c, &v); %s MPI_Finalize(); }"
)
INJECTING = {
    "flops": ("", "smpi_execute_flops_benched(1e6);"),
    "seconds": ("", "smpi_execute(0.1);"),
    "sample": ("", "SMPI_SAMPLE_LOCAL(int i = 0, i < 3, i++, 2, 0.1) { }"),
}


def own(tmp_path, before="", inside=""):
    path = tmp_path / "program.c"
    path.write_text(MAIN % (before, inside))
    return own_problem(read_program(path))


@pytest.mark.parametrize("how", INJECTING)
def test_a_program_that_calls_simgrid_for_its_computation_injects_it(tmp_path, how):
    assert resolved_compute("auto", own(tmp_path, *INJECTING[how])) == "injected"


def test_a_program_that_only_names_such_a_call_in_a_comment_is_measured(tmp_path):
    assert resolved_compute("auto", own(tmp_path, "/* smpi_execute_flops(1) */")) == "measured"


def test_a_program_whose_own_library_injects_is_injected(tmp_path):
    library = tmp_path / "libwork.so"
    (tmp_path / "work.c").write_text("void smpi_execute_flops(double); void work(void) { smpi_execute_flops(1e6); }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "work.c"], check=True)
    (tmp_path / "main.c").write_text(MAIN % ("void work(void);", "work();"))
    binary = tmp_path / "main"
    command = ["smpicc", "-o", binary, tmp_path / "main.c", library, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(command, check=True)
    assert resolved_compute("auto", own_problem(read_program(binary))) == "injected"


def test_a_kernel_injects_and_a_choice_stays():
    assert resolved_compute("auto", problem("cg", "S")) == "injected"
    assert resolved_compute("none", problem("cg", "S")) == "none"
