"""A change of anything that decides the run of a user's program changes its identity, and its executable."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from apps.errors import SimulationError
from apps.programs.own_program import executable, read_program
from apps.programs.problem import own_problem
from apps.recording.recorder.library import recorder_library
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.simgrid import includes
from platforms.simgrid.child import SCRIPT_VARIABLES

SPEED_FLOPS = 40e9  # of c1-0 of grid4x2
SOURCE = """
#include <mpi.h>
#include <smpi/smpi.h>
{include}
int main(int argc, char **argv)
{{
  MPI_Init(&argc, &argv);
  smpi_execute_flops_benched({flops});
  MPI_Finalize();
  return 0;
}}
"""


@pytest.fixture(scope="module")
def platform():
    """A platform that has been read: in another cache folder its reader would be recompiled."""
    made = materialise(named_grid("grid4x2"))
    assert made.hosts
    return made


@pytest.fixture(autouse=True)
def recorder(monkeypatch):
    """Use the recorder as it is compiled for all tests, also where headers are searched in other folders."""
    made = recorder_library()
    monkeypatch.setattr("apps.smpi.user_run.recorder_library", lambda: made)


@pytest.fixture
def time_s(platform):
    """``time_s(path)``: the time of the program on one host, which is its flops over the host's speed."""

    def timed(path):
        asked = own_problem(read_program(path))
        return simulate(RunSpec(Target(asked, platform, block(platform, 1)))).time_s

    return timed


def c_source(folder, include, flops="WORK"):
    path = folder / "work.c"
    path.write_text(SOURCE.format(include=include, flops=flops))
    return path


@pytest.mark.parametrize(
    ("include", "file", "before", "after"),
    [
        ('#include "sub/params.h"', "sub/params.h", "#define WORK 4e9", "#define WORK 8e9"),
        ('#include "body.def"', "body.def", "#define WORK 4e9", "#define WORK 8e9"),
        ('#include "helper.c"', "helper.c", "static double WORK = 4e9;", "static double WORK = 8e9;"),
        ('#include "outer.h"', "sub/inner.h", "#define WORK 4e9", "#define WORK 8e9"),
        ('#define NAME "computed.h"\n#include NAME', "computed.h", "#define WORK 4e9", "#define WORK 8e9"),
    ],
)
def test_a_changed_file_that_a_source_includes_counts(time_s, tmp_path, include, file, before, after):
    (tmp_path / "sub").mkdir()
    (tmp_path / "outer.h").write_text('#include "sub/inner.h"\n')
    (tmp_path / file).write_text(before)
    path = c_source(tmp_path, include)
    first = read_program(path).content_hash
    assert time_s(path) == pytest.approx(4e9 / SPEED_FLOPS, rel=1e-6)
    (tmp_path / file).write_text(after)
    assert read_program(path).content_hash != first
    assert time_s(path) == pytest.approx(8e9 / SPEED_FLOPS, rel=1e-6)


def test_a_header_that_appears_where_the_compiler_looks_first_counts(time_s, tmp_path, monkeypatch):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "params.h").write_text("#define WORK 4e9")
    monkeypatch.setenv("CPATH", str(tmp_path / "far"))
    path = c_source(tmp_path, '#include "params.h"')
    assert time_s(path) == pytest.approx(4e9 / SPEED_FLOPS, rel=1e-6)
    (tmp_path / "params.h").write_text("#define WORK 8e9")  # beside the source
    assert time_s(path) == pytest.approx(8e9 / SPEED_FLOPS, rel=1e-6)


def test_the_folder_of_headers_counts(time_s, tmp_path, monkeypatch):
    for name, flops in (("one", "4e9"), ("two", "8e9")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "params.h").write_text(f"#define WORK {flops}")
    path = c_source(tmp_path, "#include <params.h>")
    for name, flops in (("one", 4e9), ("two", 8e9), ("one", 4e9)):
        monkeypatch.setenv("CPATH", str(tmp_path / name))
        assert time_s(path) == pytest.approx(flops / SPEED_FLOPS, rel=1e-6)


def test_a_program_that_asks_for_its_own_file_name_is_compiled_for_each_folder(time_s, tmp_path):
    for name, flops in (("one", 4e9), ("another", 8e9)):
        (tmp_path / name).mkdir()
        path = c_source(tmp_path / name, "#include <string.h>", 'strstr(__FILE__, "/one/") ? 4e9 : 8e9')
        assert time_s(path) == pytest.approx(flops / SPEED_FLOPS, rel=1e-6)


def test_the_list_of_includes_is_kept_as_long_as_it_holds(tmp_path, monkeypatch):
    (tmp_path / "params.h").write_text("#define WORK 4e9")
    path = c_source(tmp_path, '#include "params.h"')
    first = read_program(path).content_hash
    monkeypatch.setattr(includes, "_listed", lambda *_: pytest.fail("the compiler was asked again"))
    assert read_program(path).content_hash == first
    path.touch()  # the same content
    assert read_program(path).content_hash == first


def test_a_source_that_changes_after_it_was_read_is_not_run(tmp_path):
    (tmp_path / "params.h").write_text("#define WORK 4e9")
    program = read_program(c_source(tmp_path, '#include "params.h"'))
    (tmp_path / "params.h").write_text("#define WORK 8e9")
    with pytest.raises(UserError, match="changed while the command ran"):
        executable(program)


def test_a_missing_header_is_reported_in_one_line(tmp_path):
    with pytest.raises(UserError, match=r"work.c:4:.*absent.h: No such file") as err:
        read_program(c_source(tmp_path, '#include "absent.h"'))
    assert "\n" not in str(err.value)


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="smpif90 needs gfortran")
@pytest.mark.parametrize("line", ["  include 'sub/size.fi'", '#include "sub/size.fi"'])
def test_a_changed_file_that_a_fortran_source_includes_counts(tmp_path, line):
    path = tmp_path / "work.F90"
    path.write_text(
        "module sizes\n  implicit none\ncontains\n  integer function n()\n    n = 1\n  end function\nend module\n"
        f"program work\n  use sizes\n  use mpi\n{line}\n  integer :: err\n  call MPI_Init(err)\n"
        "  call smpi_execute_flops(flops)\n  call MPI_Finalize(err)\nend program\n"
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "size.fi").write_text("  real(8), parameter :: flops = 4d9\n")
    first = read_program(path).content_hash
    assert read_program(path).content_hash == first
    (tmp_path / "sub" / "size.fi").write_text("  real(8), parameter :: flops = 8d9\n")
    assert read_program(path).content_hash != first


def built_with_library(folder, flops):
    """Build libwork.so, and a program beside it that links it."""
    (folder / "work.c").write_text(f"double work(void) {{ return {flops}; }}\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "work.c", "-o", "libwork.so"], cwd=folder, check=True)
    binary = folder / "main"
    if not binary.exists():
        (folder / "main.c").write_text(SOURCE.format(include="double work(void);", flops="work()"))
        subprocess.run(
            ["smpicc", "main.c", "-o", "main", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lwork"], cwd=folder, check=True
        )
    return binary


def test_a_changed_library_that_a_binary_links_counts(time_s, tmp_path):
    binary = built_with_library(tmp_path, "4e9")
    first = read_program(binary).content_hash
    assert time_s(binary) == pytest.approx(4e9 / SPEED_FLOPS, rel=1e-6)
    built_with_library(tmp_path, "8e9")
    assert read_program(binary).content_hash != first
    assert time_s(binary) == pytest.approx(8e9 / SPEED_FLOPS, rel=1e-6)


def test_a_library_that_appears_on_the_path_of_the_loader_counts(time_s, tmp_path, monkeypatch):
    binary = built_with_library(tmp_path, "4e9")
    first = read_program(binary).content_hash
    (tmp_path / "libwork.so").unlink()
    missing = read_program(binary).content_hash
    with pytest.raises(SimulationError, match=r"the loader does not find libwork\.so, which the program needs"):
        time_s(binary)
    other = tmp_path / "other"
    other.mkdir()
    built_with_library(other, "8e9")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(other))
    assert len({first, missing, read_program(binary).content_hash}) == 3
    assert time_s(binary) == pytest.approx(8e9 / SPEED_FLOPS, rel=1e-6)


STEERING = {
    "SMPI_PRETEND_CC": "1",
    "SMPI_NO_UNDEFINED_CHECK": "1",
    "show": "1",
    "VERBOSE": "1",
    "SMPI_PRIVATIZATION": "0",
    "PROC_ARGS": "9",
    "TRACEOPTIONS": "--cfg=smpi/host-speed:1f",
    "KEEP": "true",
    "APP_TRACES": "/dev/null",
    "TRACE_ACTIVE": "true",
}


def test_the_environment_does_not_steer_simgrids_scripts(platform, tmp_path, monkeypatch):
    for name, value in STEERING.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))  # so that the program is compiled
    path = c_source(tmp_path, "static int calls;", "argc == 1 && ++calls == 1 ? 4e9 : 8e9")
    record = simulate(RunSpec(Target(own_problem(read_program(path)), platform, ("c1-0", "c1-1"))))
    assert record.compute_s == pytest.approx((4e9 / SPEED_FLOPS,) * 2, rel=1e-6)


def test_all_variables_of_the_installed_scripts_are_removed():
    passed = {"IFS", "LD_LIBRARY_PATH"}  # shells set IFS themselves; the loader needs the other
    for script in ("smpirun", "smpicc", "smpicxx", "smpif90", "smpiff"):
        lines = Path(shutil.which(script)).read_text().splitlines()
        for line in lines:
            names = set(re.findall(r"\$\{?([A-Za-z_]\w*)", line.replace("$$", "")))
            assert names <= SCRIPT_VARIABLES | passed, line


@pytest.mark.parametrize("name", ["a b", "it's", "a$b", "a#b", "a: b", "ä", 'a"b'])
def test_headers_of_any_name_count(tmp_path, name):
    header = tmp_path / name / "params.h"
    header.parent.mkdir()
    header.write_text("#define WORK 4e9")
    path = c_source(tmp_path, '#include "params.h"').rename(header.parent / "work.c")
    first = read_program(path).content_hash
    header.write_text("#define WORK 8e9")
    assert read_program(path).content_hash != first


def test_a_kept_run_is_made_again_after_a_library_that_the_program_links_was_rebuilt(platform, tmp_path):
    def rebuild(flops):
        (tmp_path / "work.c").write_text(f"double work(void) {{ return {flops}; }}")
        subprocess.run(["gcc", "-fPIC", "-c", "work.c"], cwd=tmp_path, check=True)
        (tmp_path / "libwork.a").unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", "libwork.a", "work.o"], cwd=tmp_path, check=True)

    def kept_s():
        asked = own_problem(read_program(tmp_path / "main.c", flags=f"-L{tmp_path} -lwork"))
        spec = RunSpec(Target(asked, platform, block(platform, 1)))
        with Runner(jobs=1, store=Store(tmp_path / "store")) as runner:
            return runner.record(spec).time_s

    (tmp_path / "main.c").write_text(SOURCE.format(include="double work(void);", flops="work()"))
    rebuild("4e9")
    assert kept_s() == pytest.approx(4e9 / SPEED_FLOPS)
    rebuild("8e9")
    assert kept_s() == pytest.approx(8e9 / SPEED_FLOPS)


@pytest.mark.parametrize(
    "reads, changes",
    [
        ('os.environ["STEPS"]', True),
        ('os.environ.get("STEPS", "3")', True),
        ('os.getenv("STEPS")', True),
        ('"STEPS" in os.environ', True),
        ("dict(os.environ)", True),  # all of them
        ('os.environ.get("ST" + "EPS")', True),
        ('os.environ["OTHER"]', False),
        ("os.sep", False),
    ],
)
def test_environment_variables_that_a_script_reads_belong_to_it(tmp_path, monkeypatch, reads, changes):
    (tmp_path / "steps.py").write_text(f"import os\n\n\ndef steps():\n    return {reads}\n")
    path = tmp_path / "script.py"
    path.write_text("import steps\n\n\ndef main(rank):\n    steps.steps()\n")
    monkeypatch.setenv("STEPS", "3")
    before = read_program(path).content_hash
    monkeypatch.setenv("STEPS", "4")
    assert (read_program(path).content_hash != before) == changes
