"""Builds of real code by its own Makefile, CMake or configure (gridval program build)."""

import json
import shutil
import subprocess

import pytest

from apps.build import main as build
from apps.programs.compilers.compiler import is_test
from apps.run import main as run

PROGRAM = """#include <mpi.h>
#include <stdio.h>
int twice(int);
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  printf("%d\\n", twice(21));
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "twice.c").write_text("static int two = 2;\nint twice(int n) { return two++ * n; }\n")
    return tmp_path


def simulated(program, tmp_path):
    """Return what rank 0 of one prints."""
    asked = ["--program", program, "--scenario", "grid4x2", "--ranks", "1", "--keep-output", "kept"]
    assert run(asked) == 0
    return (tmp_path / "kept" / "stdout.txt").read_text()


def test_a_makefile_for_any_mpi_builds_a_program_that_runs(here, capsys):
    # The object of gcc, -static and -fvisibility=hidden would each make the program unusable.
    (here / "Makefile").write_text(
        "prog: main.c twice.c\n\tgcc -c twice.c\n\tmpicc -static -fvisibility=hidden main.c twice.o -o prog\n"
    )
    assert build(["--json", "--", "make"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    assert program == {"path": str(here / "prog"), "problem": None, "lacks": [], "openmp": False}
    assert simulated("prog", here) == "42\n"


def test_a_build_names_functions_that_simgrid_lacks(here, capsys):
    (here / "spawn.c").write_text(
        "#include <mpi.h>\nint main(int argc, char **argv)\n{\n  MPI_Comm all;\n  MPI_Init(&argc, &argv);\n"
        '  if (argc > 9)\n    MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &all, '
        "MPI_ERRCODES_IGNORE);\n  MPI_Finalize();\n  return 0;\n}\n"
    )
    assert build(["--", "mpicc", "spawn.c", "-o", "spawn"]) == 0
    said = capsys.readouterr().out
    assert "spawn can be simulated: --program spawn" in said
    assert "where a rank calls MPI_Comm_spawn, it fails" in said


def test_a_member_named_free_and_a_preprocessed_source_compile(here):
    before = "#include <getopt.h>\nstruct list { void (*free)(void *); };\n"
    inside = '  struct list all = {0};\n  if (all.free)\n    all.free(0);\n  getopt(argc, argv, "a");\n'
    (here / "main.c").write_text(before + PROGRAM.replace("  printf", f"{inside}  printf"))
    assert build(["--", "sh", "-c", "mpicc -E main.c >all.c && mpicc all.c twice.c -o prog"]) == 0
    assert simulated("prog", here) == "42\n"


def test_fortran_with_old_habits_compiles(here):
    (here / "old.f90").write_text(
        "program old\n  use mpi\n  integer :: ierr, n\n  real :: x(1)\n  integer :: k(1)\n"
        "  call MPI_Init(ierr)\n  n = int(z'2A') ; k = 0 ; x = 0\n"
        "  call untyped(x)\n  call untyped(k)\n  data n /z'2A'/\n"
        f"  print '(i2)', n  {' ' * 130}! a long line\n  call MPI_Finalize(ierr)\nend program\n"
    )
    assert build(["--", "mpif90", "old.f90", "-c"]) == 0
    assert (here / "old.o").exists()


def test_cmake_finds_mpi_and_tries_its_own_programs(here):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    (here / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(prog C)\ninclude(CheckCSourceRuns)\n"
        'check_c_source_runs("int main(void) { return 0; }" RUNS)\n'
        'if(NOT RUNS)\n  message(FATAL_ERROR "nothing runs")\nendif()\n'
        "find_package(MPI REQUIRED C)\nadd_executable(prog main.c twice.c)\ntarget_link_libraries(prog MPI::MPI_C)\n"
    )
    assert build(["--", "cmake", "-S", ".", "-B", "made"]) == 0
    assert build(["--", "cmake", "--build", "made"]) == 0
    assert simulated("made/prog", here) == "42\n"


def test_only_what_configure_and_cmake_try_out_is_built_as_a_usual_program():
    assert is_test(["-o", "conftest", "conftest.c"], "/home/me/code")
    assert is_test(["-c", "src.c"], "/home/me/made/CMakeFiles/CMakeScratch/TryCompile-a1")
    assert is_test(["CMakeCCompilerId.c"], "/home/me/made/CMakeFiles/3.25.1/CompilerIdC")
    assert not is_test(["-c", "/home/me/src/main.c", "-o", "CMakeFiles/prog.dir/main.c.o"], "/home/me/made")


def test_compilers_answer_as_the_real_ones(here):
    assert build(["--", "sh", "-c", "mpicc --version >c.txt && mpif90 -dumpversion >f.txt"]) == 0
    assert (here / "c.txt").read_bytes() == subprocess.run(["cc", "--version"], capture_output=True, check=True).stdout
    assert (here / "f.txt").read_text()[0].isdigit()


def test_a_build_that_fails_says_what_to_do(here, capsys):
    assert build([]) == 2
    assert "Write it behind --" in capsys.readouterr().err
    assert build(["--", "./no-such-script"]) == 2
    assert "there is no program ./no-such-script" in capsys.readouterr().err
    assert build(["--", "sh", "-c", "/opt/openmpi/bin/mpicc main.c"]) == 1
    assert "Give mpicc, mpicxx or mpif90 as the compiler" in capsys.readouterr().err
    assert build(["--", "true"]) == 0
    assert "No program was linked" in capsys.readouterr().out


def test_a_placeholder_of_former_versions_is_refused(here, capsys):
    asked = ["--program", "prog", "--scenario", "grid4x2", "--program-build", "{mpicc} main.c twice.c -o prog"]
    assert run(asked) == 2
    assert "Write mpicc, which is the right compiler" in capsys.readouterr().err
