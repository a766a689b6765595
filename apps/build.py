"""The command ``gridval program build``: run a build with SimGrid's compilers instead of those of the MPI library."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.errors import OptionError
from apps.options.exit_status import exit_status
from platforms.command.command import Command
from platforms.command.request import JsonOption, words_behind
from platforms.errors import UserError

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
    from apps.programs.compilers.build import build_here
    from platforms.simgrid.installed import check_simgrid

    if not request.command:
        raise OptionError("command", "is missing", "Write it behind --, for example: -- make CC=mpicc")
    check_simgrid()
    linked = build_here(request.command, show=sys.stderr.write)
    return Built(tuple(_checked(path) for path in linked))


def _checked(path: Path) -> BuiltProgram:
    # Imported here because they are slow to import.
    from apps.programs.lacking import lacked_functions
    from apps.programs.libraries import needed_names
    from apps.programs.own_program import read_program

    try:
        read_program(path)
    except UserError as err:
        return BuiltProgram(path, err.problem, (), threads=False)
    threads = any(name.startswith(("libgomp.so", "libomp.so", "libiomp")) for name in needed_names(path))
    return BuiltProgram(path, None, lacked_functions(path), threads=threads)


COMMAND = Command("program build", BuildRequest, answer, _DESCRIPTION, status=exit_status)
main = COMMAND.main
