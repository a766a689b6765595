"""Builds of the user's own programs, by commands that the user gives."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from apps.errors import OptionError, SimulationError
from platforms.simgrid.child import clean_environment, die_with_parent
from platforms.terminal.progress import doing

_SIMULATED = {"{mpicc}": "smpicc", "{mpicxx}": "smpicxx", "{mpif90}": "smpif90"}
_OWN = Path(__file__).parent / "compilers"  # scripts that stand before SimGrid's compilers
_REAL = {"{mpicc}": "mpicc", "{mpicxx}": "mpicxx", "{mpif90}": "mpif90"}


def build(program: str | Path, command: str, *, real_mpi: bool = False) -> None:
    """Run a shell command that builds a program, in the folder in which the program will be.

    Args:
        program: The executable that the command makes.
        command: The command; {mpicc}, {mpicxx} and {mpif90} stand for the names of compilers.
        real_mpi: The compilers are those of a real MPI library, not SimGrid's.

    Raises:
        OptionError: The folder does not exist.
        SimulationError: The command fails; the error has what it has printed.
    """
    folder = Path(program).absolute().parent
    where = f"--program-build {command!r}"
    if not folder.is_dir():
        raise OptionError(where, f"there is no folder {folder}, in which it would run", "Create it")
    for name, compiler in (_REAL if real_mpi else _SIMULATED).items():
        command = command.replace(name, compiler)
    with doing(f"building {Path(program).name}"):
        done = subprocess.run(
            [*die_with_parent(), "sh", "-c", command], cwd=folder, env=_environment(real_mpi=real_mpi),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise SimulationError(f"{where}: ended with status {done.returncode} in {folder}", "", done.stdout)


def _environment(*, real_mpi: bool) -> dict[str, str]:
    """Return the environment of a build, in which the project's smpif90 is found before SimGrid's."""
    environment = clean_environment()
    fortran = shutil.which("smpif90")
    if real_mpi or fortran is None:
        return environment
    path = os.pathsep.join([str(_OWN), environment.get("PATH", os.defpath)])
    return {**environment, "PATH": path, "SMPIF90": fortran}
