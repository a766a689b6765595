"""Programs that use the ordinary MPI of this computer: finished executables, and scripts in Python with mpi4py.

Such a program runs under its MPI library's own launcher.  The library is the one that the loader finds for the
executable, or that mpi4py loads.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from apps.errors import KernelError
from apps.programs.libraries import library_mark
from platforms.errors import UserError
from platforms.simgrid.child import clean_environment

_LIMIT_S = 60.0  # of a command that prints a version
# Prints what mpi4py is and loads, without initialising MPI.
_PROBE = """
import json, sys
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
maps = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
print(json.dumps([sys.executable, mpi4py.__version__, MPI.Get_library_version(), MPI.__file__, sorted(maps)]))
"""


@dataclass(frozen=True)
class Family:
    """The MPI libraries that share one launcher."""

    name: str
    said: re.Pattern[str]  # what the launcher, the compiler and the library say of themselves
    launchers: tuple[str, ...]  # names of its launcher, the most particular first
    options: tuple[str, ...]  # of the launcher: all ranks on this computer, more than it has cores if need be
    compilers: tuple[str, ...]  # of C
    packages: str  # of Debian and Ubuntu, to be installed


OPEN_MPI = Family(
    "Open MPI",
    re.compile(r"Open ?MPI|Open ?RTE|PRRTE", re.IGNORECASE),
    ("mpirun.openmpi", "mpirun", "mpiexec.openmpi", "mpiexec"),
    ("-np", "{ranks}", "--hostfile", "{hostfile}", "--map-by", "seq", "--oversubscribe", "--bind-to", "none",
     "--mca", "mpi_yield_when_idle", "1"),
    ("mpicc.openmpi", "mpicc"),
    "openmpi-bin libopenmpi-dev",
)  # fmt: skip
MPICH = Family(
    "MPICH",
    re.compile(r"HYDRA|MPICH|Intel\(R\) MPI|MVAPICH", re.IGNORECASE),
    ("mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec", "mpirun"),
    ("-n", "{ranks}", "-f", "{hostfile}"),
    ("mpicc.mpich", "mpicc"),
    "mpich libmpich-dev",
)
# The family of a library by the beginning of its file's name; the first that fits.
_LIBRARIES = (
    ("libopen-pal.so", OPEN_MPI),
    ("libopen-rte.so", OPEN_MPI),
    ("libmpich.so", MPICH),
    ("libmpi.so.12", MPICH),
    ("libmpi.so", OPEN_MPI),
)


@dataclass(frozen=True)
class NativeMpi:
    """The MPI of a program, and the interpreter of a script."""

    family: Family
    library: Path
    interpreter: Path | None = None  # the Python that runs a script; None: the program is an executable
    marks: tuple[str, ...] = ()  # what else decides what a script does: versions, and states of libraries

    @property
    def launcher(self) -> Path:
        """The launcher of the library.

        Raises:
            UserError: It is missing.
        """
        return _command(self, self.family.launchers, ("--version",), "launcher (mpirun)")

    @property
    def compiler(self) -> Path:
        """The library's compiler of C, for what the project loads before the program.

        Raises:
            UserError: It is missing.
        """
        asked = ("--showme:version",) if self.family is OPEN_MPI else ("-v",)
        return _command(self, self.family.compilers, asked, "compiler (mpicc)")


def mpi_of_libraries(paths: Iterable[str]) -> NativeMpi | None:
    """Return the ordinary MPI among the files of shared libraries; None: there is none."""
    found = [Path(path) for path in paths]
    for beginning, family in _LIBRARIES:
        if any(path.name.startswith(beginning) for path in found):
            own = next((path for path in found if path.name.startswith(("libmpi.so", "libmpich.so"))), None)
            return None if own is None else NativeMpi(family, own)
    return None


def mpi_of_script(path: Path) -> NativeMpi:
    """Return the MPI of a script with mpi4py, and the Python that runs it.

    That is the one of the script's first line (``#!``), else the first ``python3`` on the PATH that has mpi4py, else
    the one of this command.

    Raises:
        KernelError: None of them has mpi4py, or its MPI is not known.
    """
    where = f"--program {path}"
    tried = list(_interpreters(path))
    for interpreter in tried:
        said = _said_by(interpreter)
        if said is None:
            continue
        executable, version, library_version, module, maps = said
        found = mpi_of_libraries(maps)
        if found is None:
            problem = f"mpi4py of {executable} uses an MPI that is not known: {library_version[:60]}"
            raise KernelError(where, problem, "Known: Open MPI, and MPICH with its relatives")
        marks = (executable, version, *map(library_mark, map(Path, (executable, module, str(found.library)))))
        return NativeMpi(found.family, found.library, Path(executable), marks)
    remedy = "Install it: apt-get install python3-mpi4py, or python3 -m pip install mpi4py"
    raise KernelError(where, f"it imports mpi4py, which {' and '.join(tried) or 'no Python here'} lacks", remedy)


def python_with_mpi4py() -> tuple[str, str, str] | None:
    """Return the Python that runs scripts without a first line of their own, and its versions of mpi4py and MPI."""
    said = next((said for said in map(_said_by, _interpreters(None)) if said is not None), None)
    return None if said is None else said[:3]


def _interpreters(script: Path | None) -> Iterator[str]:
    """Yield the interpreters that may run a script, each once."""
    content = b"" if script is None else script.read_bytes()
    first = content.partition(b"\n")[0].decode("utf-8", "replace")
    named = first[2:].split() if first.startswith("#!") else []
    known = [named[0]] if named and os.path.isabs(named[0]) and not named[0].endswith("/env") else []
    known += [name for name in named[1:2] if named[0].endswith("/env")]
    seen: set[str] = set()
    for name in (*known, "python3", sys.executable, "/usr/bin/python3"):
        path = shutil.which(name)
        if path is not None and path not in seen:
            seen.add(path)
            yield path


@cache
def _said_by(interpreter: str) -> tuple[str, str, str, str, list[str]] | None:
    """Return the executable, the versions of mpi4py and MPI, the module and the loaded files; None without mpi4py."""
    done = _run([interpreter, "-c", _PROBE])
    try:
        executable, version, library_version, module, maps = json.loads((done or "").splitlines()[-1])
    except (IndexError, ValueError):
        return None
    return executable, version, library_version, module, maps


def _command(mpi: NativeMpi, names: Sequence[str], asked: Sequence[str], what: str) -> Path:
    """Return a command of the library: beside it, or on the PATH; one of another family is passed over."""
    beside = [str(folder / "bin") for folder in mpi.library.resolve().parents[1:4]]
    for name in names:
        for folders in (os.pathsep.join(beside), None):
            path = shutil.which(name, path=folders)
            if path is not None and mpi.family.said.search(_said(path, *asked)):
                return Path(path).absolute()
    problem = f"the {what} of {mpi.family.name}, which {mpi.library.name} belongs to, is not found"
    remedy = f"Install it (apt-get install {mpi.family.packages}), or put its folder on the PATH"
    raise UserError("mpirun", problem, remedy)


@cache
def _said(*command: str) -> str:
    return _run(command) or ""


def _run(command: Sequence[str]) -> str | None:
    """Return what a command prints, errors included; None if it cannot be started."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    try:
        done = subprocess.run(
            list(command), env={**clean_environment(), **root}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout
