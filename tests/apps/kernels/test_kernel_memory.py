"""Kernels with arithmetic have no invalid memory accesses and no undefined behaviour.

AddressSanitizer, UndefinedBehaviorSanitizer and valgrind's memcheck run on every kernel.  SMPI's ranks are threads
here, because the tools do not follow stacks that SimGrid switches itself.
"""

import shlex
import shutil
import subprocess

import pytest

from apps.programs.compile import FLAGS
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import problem, sized_problem
from apps.smpi.launch import launch, repeatable
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.simgrid.compiling import compile_once

SIZES = {"himeno": 18, "fem": 12, "hpl": 160, "fft": 4096, "summa": 130, "dot": 1000}
RANKS = {"fft": 4, "fem": 3, "lu": 6}  # otherwise 5, which is no power of two, so blocks are uneven
WITH_ARITHMETIC = [name for name in kernel_names() if name != "sendmodes"]
UNDEFINED = "-fsanitize=address,undefined"
THREADS = "--cfg=contexts/factory:thread"


def spec_of(name):
    """Class S with arithmetic, or a size of its own."""
    ranks = RANKS.get(name, 5)
    asked = sized_problem(name, SIZES[name]) if name in SIZES else problem(name, "BH_S" if name == "dt" else "S")
    platform = materialise(named_grid("grid2x4", speeds_flops=[1e9, 2e9]))
    return RunSpec(Target(asked, platform, block(platform, ranks)), mode="verify")


def run(program, spec, folder, wrapper):
    """The program, loaded by smpirun behind the words of ``wrapper``."""
    (folder / "HOSTS").write_text("".join(f"{host}\n" for host in spec.target.placement))
    started = launch(spec, spec.full_iterations)
    command = list(repeatable(spec, started))
    command[command.index(str(started.program))] = str(program)
    return subprocess.run(
        [command[0], "-wrapper", shlex.join(wrapper), THREADS, *command[1:]],
        cwd=folder, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def library(name):
    return subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def compiled(name, *flags):
    kernel = named_kernel(name)
    return compile_once(
        f"{name}-checked", kernel.sources, compiler=["smpicc"], flags=[*FLAGS, "-g", *flags],
        libraries=["-lm", "-ldl"], headers=kernel.headers,
    )  # fmt: skip


def run_sanitized(program, spec, folder):
    """Memory that SimGrid has not freed at the end is ignored; it does not belong to the kernel."""
    checks = ["ASAN_OPTIONS=detect_leaks=0:exitcode=99", "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99"]
    return run(program, spec, folder, ["env", f"LD_PRELOAD={library('libasan.so')}:{library('libubsan.so')}", *checks])


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_ARITHMETIC)
def test_sanitizers_find_nothing_in_a_kernel(name, tmp_path):
    spec = spec_of(name)
    done = run_sanitized(compiled(name, UNDEFINED), spec, tmp_path)
    assert "runtime error" not in done.stderr and "AddressSanitizer" not in done.stderr, done.stderr
    assert done.returncode == 0 and '"verified": true' in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed: apt-get install valgrind")
@pytest.mark.parametrize("name", WITH_ARITHMETIC)
def test_memcheck_finds_nothing_in_a_kernel(name, tmp_path):
    spec = spec_of(name)
    wrapper = ["valgrind", "-q", "--fair-sched=yes", "--error-exitcode=99", "--log-file=memcheck.log"]
    done = run(compiled(name), spec, tmp_path, wrapper)
    assert (tmp_path / "memcheck.log").read_text() == ""
    assert done.returncode == 0 and '"verified": true' in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "said"),
    [("volatile char *a = malloc(4); a[4] = 1; free((char *)a);", "AddressSanitizer"),
     ("volatile int i = 2147483647; i = i + 1;", "runtime error")],
)  # fmt: skip
def test_sanitizers_would_find_a_mistake(mistake, said, tmp_path):
    source = tmp_path / "wrong.c"
    main = f"int main(int n, char **v) {{ MPI_Init(&n, &v); {mistake} MPI_Finalize(); }}"
    source.write_text(f"#include <mpi.h>\n#include <stdlib.h>\n{main}\n")
    program = compile_once("wrong", [source], compiler=["smpicc"], flags=["-g", UNDEFINED])
    done = run_sanitized(program, spec_of("dot"), tmp_path)
    assert done.returncode != 0 and said in done.stderr


@pytest.mark.parametrize("name", kernel_names())
def test_a_kernel_compiles_without_warnings(name):
    compiled(name, "-O1", "-Wall", "-Wextra", "-Werror")
