"""The command ``gridval program build``: run a build with SimGrid's compilers instead of those of the MPI library."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.errors import OptionError, SimulationError
from apps.options.exit_status import exit_status
from apps.programs.compilers import compiler
from apps.programs.libraries import needed_names, referred_names
from apps.recording.recorder.library import lacking_functions
from platforms.command.command import Command
from platforms.command.request import JsonOption, words_behind
from platforms.errors import UserError
from platforms.files.caching import cache_folder, write_atomically
from platforms.files.scratch import scratch_folder
from platforms.simgrid.child import die_with_parent
from platforms.terminal.progress import doing

# Builds of the user's own programs, by commands that the user gives.
#
# SimGrid's compilers stand first in the PATH of a build, under the names of usual ones (compiler.py).

_PLACEHOLDER = re.compile(r"\{(mpicc|mpicxx|mpif90)\}")
# Compilers that Makefiles, CMake and configure use if they are not given others.
_DEFAULTS = {"CC": "mpicc", "CXX": "mpicxx", "FC": "mpif90", "F77": "mpif77", "F90": "mpif90"}
_KEPT = 1 << 16  # characters of a build's output, for its failure
# Beginnings of errors of builds, and what to do.  The first that is found counts.
_CLEAN = "Objects of an earlier build are of another MPI or compiler: remove them first (make clean)"
_REMEDIES = (
    (r"undefined reference to .(ompi_|MPIR_|mca_)", _CLEAN),
    (r"recompile with -f(PIC|pic|PIE)", _CLEAN),
    (r"mpi_f08\.mod", "SimGrid has mpif.h and the module mpi, not mpi_f08"),
    (r"undefined reference to .(P?MPI_\w+)", "SimGrid has no such function of MPI"),
    (r"fatal error: mpi\.h", "Give mpicc or mpicxx as the compiler, for example make CC=mpicc"),
    (r"Cannot open (module|included) file .mpi(\.mod|f\.h)", "Give mpif90 as the compiler, for example make FC=mpif90"),
    (r"(\S*mpi\w+): (No such file or directory|(command )?not found)", "Give mpicc, mpicxx or mpif90 as the compiler"),
)  # fmt: skip


def build(program: str | Path, command: str, *, real_mpi: bool = False) -> None:
    """Run a shell command that builds a program, in the folder in which the program will be.

    Args:
        program: The executable that the command makes.
        command: The command.
        real_mpi: Its compilers are those of a real MPI library, not SimGrid's.

    Raises:
        OptionError: The folder does not exist.
        SimulationError: The command fails; the error has what it has printed.
    """
    folder = Path(program).absolute().parent
    where = f"--program-build {command!r}"
    if not folder.is_dir():
        raise OptionError(where, f"there is no folder {folder}, in which it would run", "Create it")
    named = _PLACEHOLDER.search(command)
    if named is not None:
        raise OptionError(where, f"{named[0]} has no meaning", f"Write {named[1]}, which is the right compiler")
    with doing(f"building {Path(program).name}"):
        done = subprocess.run(
            [*die_with_parent(), "sh", "-c", command], cwd=folder, env=None if real_mpi else environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise _failed(where, done.returncode, folder, done.stdout)


def build_here(command: Sequence[str], *, show: Callable[[str], object]) -> tuple[Path, ...]:
    """Run a command that builds programs, in the current folder, and return the programs that it has linked.

    Args:
        command: The words of the command.
        show: Called with each line that the build prints.

    Raises:
        SimulationError: The command fails; the error has the end of what it has printed.
    """
    if shutil.which(command[0], path=environment()["PATH"]) is None:
        raise OptionError(shlex.join(command), f"there is no program {command[0]}", "Correct its name, or install it")
    with scratch_folder("build") as folder:
        notes = folder / "programs"
        printed = ""
        with subprocess.Popen(
            [*die_with_parent(), *command], env=environment(notes), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for line in process.stdout:
                show(line)
                printed = (printed + line)[-_KEPT:]
        if process.returncode != 0:
            raise _failed(shlex.join(command), process.returncode, Path.cwd(), printed)
        linked = notes.read_text().split("\0") if notes.exists() else []
    return tuple(path for name in dict.fromkeys(linked) if name and (path := Path(name)).is_file())


def environment(notes: Path | None = None) -> dict[str, str]:
    """Return the environment of a build; the programs that it links are noted in a file ``notes``."""
    behind = os.environ.get("PATH", os.defpath)
    own = os.pathsep.join([str(_scripts()), behind])
    noting = {} if notes is None else {compiler.NOTES: str(notes)}
    return {**_DEFAULTS, **os.environ, "PATH": own, compiler.BEHIND: behind, **noting}


def _scripts() -> Path:
    """Return the folder of the compilers, which stays where it is: CMake keeps their absolute names."""
    start = f"exec {shlex.quote(sys.executable)} -IS {shlex.quote(os.path.abspath(compiler.__file__))}"
    texts = {name: f'#!/bin/sh\n{start} {name} "$@"\n' for name in compiler.NAMES}
    key = hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:16]
    folder = cache_folder() / "compilers" / key
    for name, text in texts.items():
        if not (folder / name).exists():
            write_atomically(folder / name, text.encode(), executable=True)
    return folder


def _failed(where: str, status: int, folder: Path, printed: str) -> SimulationError:
    advice = "".join(f". {remedy}" for remedy in _remedies(printed))
    return SimulationError(f"{where}: ended with status {status} in {folder}{advice}", "", printed)


def _remedies(printed: str) -> Iterator[str]:
    for pattern, remedy in _REMEDIES:
        found = re.search(pattern, printed)
        if found is not None:
            yield f"{found[0]}: {remedy}"
            return


def lacked_functions(binary: Path) -> tuple[str, ...]:
    """Return these functions of a binary, in order of their names; in Fortran they end with an underscore.

    Raises:
        KernelError: The binary's names cannot be read.
    """
    asked = {name.removesuffix("_").casefold() for name in referred_names(binary)}
    return tuple(sorted(name for name in lacking_functions() if name.casefold() in asked))


_DESCRIPTION = """Run a command that builds a program, such as make, cmake or configure, in the current folder. mpicc,
mpicxx, mpif90 and their other names are SimGrid's compilers in it, and CC, CXX and FC name them unless you have set
these. The programs that it links can be given as --program."""


@dataclass(frozen=True, kw_only=True)
class BuildRequest(JsonOption):
    """Request of ``gridval program build``."""

    command: tuple[str, ...] = words_behind("the command that builds, run without a shell")


@dataclass(frozen=True)
class BuiltProgram:
    """A program linked by a build."""

    path: Path  # absolute
    problem: str | None  # reason why it cannot be simulated; None: it can
    lacks: tuple[str, ...]  # functions of MPI that it uses and SimGrid lacks
    threads: bool  # it uses OpenMP

    @property
    def name(self) -> str:
        """Return the name as seen from the current folder."""
        return os.path.relpath(self.path)


@dataclass(frozen=True)
class Built:
    """The programs linked by a build."""

    programs: tuple[BuiltProgram, ...]

    def text(self) -> str:
        """Return them as lines of text."""
        if not self.programs:
            return (
                "No program was linked by mpicc, mpicxx or mpif90. If this has configured the code, build it in the "
                "same way; if nothing has changed since the build before, clean it first; else it uses other "
                "compilers (make CC=mpicc CXX=mpicxx FC=mpif90)."
            )
        return "\n".join(line for program in self.programs for line in _lines(program))

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON values."""
        programs = [
            {
                "path": str(program.path),
                "problem": program.problem,
                "lacks": list(program.lacks),
                "openmp": program.threads,
            }
            for program in self.programs
        ]
        return {"programs": programs}


def _lines(program: BuiltProgram) -> list[str]:
    if program.problem is not None:
        return [f"{program.name}: {program.problem}"]
    lines = [f"{program.name} can be simulated: --program {program.name}"]
    if program.lacks:
        lines.append(f"  where a rank calls {', '.join(program.lacks)}, it fails: SimGrid has no such function")
    if program.threads:
        lines.append("  it uses OpenMP: each rank has one thread; more (OMP_NUM_THREADS) are refused where it is timed")
    return lines


def answer(request: BuildRequest) -> Built:
    """Build, and report what was built."""
    # Imported here because they are slow to import.
    from platforms.simgrid.installed import check_simgrid

    if not request.command:
        raise OptionError("command", "is missing", "Write it behind --, for example: -- make CC=mpicc")
    check_simgrid()
    linked = build_here(request.command, show=sys.stderr.write)
    return Built(tuple(_checked(path) for path in linked))


def _checked(path: Path) -> BuiltProgram:
    # Imported here because they are slow to import.
    from apps.programs.own_program import read_program

    try:
        read_program(path)
    except UserError as err:
        return BuiltProgram(path, err.problem, (), threads=False)
    threads = any(name.startswith(("libgomp.so", "libomp.so", "libiomp")) for name in needed_names(path))
    return BuiltProgram(path, None, lacked_functions(path), threads=threads)


COMMAND = Command("program build", BuildRequest, answer, _DESCRIPTION, status=exit_status)
main = COMMAND.main
