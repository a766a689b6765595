"""The choice between injected and measured computation, by what a program refers to."""

from __future__ import annotations

from functools import lru_cache

from apps.programs.libraries import private_libraries, referred_names
from apps.programs.own_program import UserProgram, executable
from apps.programs.problem import Problem
from apps.spec.choices import AUTO

_INJECTS = ("smpi_execute", "smpi_sample")  # SimGrid's functions; SMPI_SAMPLE_LOCAL and its like call the second ones


def resolved_compute(compute: str, problem: Problem) -> str:
    """Return ``injected``, ``measured`` or ``none``: the choice itself, or what AUTO means for the problem.

    A program that a simulation runs and that never refers to SimGrid's functions for computation is measured.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    if compute != AUTO:
        return compute
    program = problem.program
    if program is None or program.is_python or program.recorded or not program.simulated:
        return "injected"
    return "injected" if injects(program) else "measured"


@lru_cache(maxsize=256)
def injects(program: UserProgram) -> bool:
    """Tell whether a program or one of its own libraries refers to SimGrid's functions that inject computation.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    binary = executable(program)
    return any(
        name.startswith(_INJECTS) for file in (str(binary), *private_libraries(binary)) for name in referred_names(file)
    )
