"""Programs of an ordinary MPI: how they are known, and which are refused before anything runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from apps.errors import KernelError, OptionError
from apps.programs import native
from apps.programs.native import MPICH, OPEN_MPI, mpi_of_libraries, mpi_of_script
from apps.programs.own_program import read_program
from apps.programs.python_source import uses_mpi4py
from platforms.errors import UserError
from tests.machines import NO_MPI, open_mpi

MPI4PY = "from mpi4py import MPI\n"


def script(tmp_path, text, name="program.py"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize(
    ("files", "family"),
    [
        (["/usr/lib/libc.so.6", "/opt/lib/libmpi.so.40", "/opt/lib/libopen-pal.so.40"], OPEN_MPI),
        (["/opt/mpich/lib/libmpi.so.12"], MPICH),  # the name of MPICH's common interface
        (["/usr/lib/libmpich.so.12"], MPICH),
    ],
)
def test_a_library_tells_its_family(files, family):
    found = mpi_of_libraries(files)
    assert (found.family, found.library) == (family, Path(next(name for name in files if "libmpi" in name)))


def test_libraries_without_mpi_are_of_no_family():
    assert mpi_of_libraries(["/usr/lib/libc.so.6", "/usr/lib/libmpiwrapper.so"]) is None


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        (MPI4PY, True),
        ("def run():\n    import mpi4py.MPI as m\n", True),
        ("import other\n", True),  # a module beside it, which imports mpi4py
        ("def main(rank):\n    rank.compute(1)\n", False),
        ("import mpi4py_tools\n", False),
    ],
)
def test_an_import_of_mpi4py_is_found_also_in_modules_beside_the_script(tmp_path, text, uses):
    script(tmp_path, MPI4PY, "other.py")
    assert uses_mpi4py(script(tmp_path, text)) is uses


def test_a_script_that_starts_further_processes_is_refused_with_its_line(tmp_path):
    path = script(tmp_path, MPI4PY + "MPI.COMM_SELF.Spawn('worker')\n")
    with pytest.raises(KernelError, match=r"program\.py:2: Spawn starts further processes, which cannot be recorded"):
        uses_mpi4py(path)


def test_a_script_for_neither_engine_is_refused_with_both_ways(tmp_path):
    with pytest.raises(KernelError, match=r"has no function main, and does not import mpi4py.*or import mpi4py"):
        read_program(script(tmp_path, "print('hello')\n"))


def test_a_python_without_mpi4py_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "_said_by", lambda interpreter: None)
    path = script(tmp_path, f"#!{sys.executable}\n{MPI4PY}")
    with pytest.raises(KernelError, match=r"imports mpi4py, which .*python.* lacks\. Install it"):
        mpi_of_script(path)


def test_the_first_line_of_a_script_chooses_its_python(tmp_path, monkeypatch):
    maps = ["/opt/lib/libmpi.so.40", "/opt/lib/libopen-pal.so.40"]
    monkeypatch.setattr(native, "_said_by", lambda name: (name, "4", "Open MPI", "/opt/MPI.so", maps))
    (tmp_path / "python9").write_text("#!/bin/sh\n")
    (tmp_path / "python9").chmod(0o755)
    assert mpi_of_script(script(tmp_path, f"#!{tmp_path}/python9\n{MPI4PY}")).interpreter == tmp_path / "python9"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert mpi_of_script(script(tmp_path, f"#!/usr/bin/env python9\n{MPI4PY}")).interpreter == tmp_path / "python9"


def test_a_missing_launcher_is_named_with_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = mpi_of_libraries([str(tmp_path / "a" / "b" / "lib" / "libmpi.so.40")])
    with pytest.raises(
        UserError, match=r"launcher \(mpirun\) of Open MPI, which libmpi\.so\.40 belongs to.*openmpi-bin"
    ):
        _ = found.launcher


def test_a_launcher_of_another_library_is_passed_over(monkeypatch, tmp_path):
    (tmp_path / "mpirun").write_text("#!/bin/sh\necho HYDRA build details\n")
    (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin" if not open_mpi() else str(tmp_path))
    libraries = [str(tmp_path / "a" / "b" / "lib" / name) for name in ("libmpi.so.40", "libopen-pal.so.40")]
    with pytest.raises(UserError, match="is not found"):
        _ = mpi_of_libraries(libraries).launcher
    assert mpi_of_libraries([str(tmp_path / "a" / "b" / "lib" / "libmpich.so.12")]).launcher == tmp_path / "mpirun"


@pytest.fixture
def binary(tmp_path):
    """A program of Open MPI that ends at once."""
    if not open_mpi():
        pytest.skip(NO_MPI)
    (tmp_path / "p.c").write_text(
        "#include <mpi.h>\nint main(int n, char **v) { MPI_Init(&n, &v); MPI_Finalize(); return 0; }\n"
    )
    subprocess.run(["mpicc", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    return tmp_path / "p"


def test_a_binary_of_an_ordinary_mpi_is_a_program_that_simgrid_cannot_run(binary):
    program = read_program(binary, "'two words' *")
    assert (program.native.family, program.simulated, program.is_python) == (OPEN_MPI, False, False)
    assert program.arguments == ("two words", "*")  # mpirun passes what smpirun does not
    with pytest.raises(OptionError, match="goes with simulated programs"):
        read_program(binary, status=1)


def test_another_build_of_a_binary_is_another_program(binary):
    before = read_program(binary).content_hash
    assert read_program(binary).content_hash == before
    subprocess.run(["mpicc", "-g", "p.c", "-o", "p"], cwd=binary.parent, check=True)
    assert read_program(binary).content_hash != before


def test_the_python_with_mpi4py_is_the_first_that_has_it(monkeypatch):
    answers = {"/usr/bin/python3": ("/usr/bin/python3", "4.0.1", "Open MPI v4", "MPI.so", [])}
    monkeypatch.setattr(native, "_said_by", answers.get)
    monkeypatch.setattr(native, "_interpreters", lambda script: iter(("/opt/python3", "/usr/bin/python3")))
    assert native.python_with_mpi4py() == ("/usr/bin/python3", "4.0.1", "Open MPI v4")
    monkeypatch.setattr(native, "_said_by", lambda _: None)
    assert native.python_with_mpi4py() is None
