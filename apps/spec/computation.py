"""The choice between injected and measured computation, by the functions that a program refers to."""

from __future__ import annotations

from functools import lru_cache

from apps.programs.libraries import private_libraries, referred_names
from apps.programs.own_program import UserProgram, executable
from apps.programs.problem import Problem
from apps.spec.choices import AUTO

_EXECUTES, _SAMPLES = "smpi_execute", "smpi_sample"  # SMPI_SAMPLE_LOCAL and its like call the second


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


def injects(program: UserProgram) -> bool:
    """Return whether a program or one of its own libraries refers to SimGrid's functions that inject computation.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    return any(name.startswith((_EXECUTES, _SAMPLES)) for name in _referred(program))


def samples(program: UserProgram) -> bool:
    """Return whether a program times blocks of itself, by SMPI_SAMPLE.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    return any(name.startswith(_SAMPLES) for name in _referred(program))


@lru_cache(maxsize=256)
def _referred(program: UserProgram) -> frozenset[str]:
    """Return the names of SMPI's own functions to which a program or its own libraries refer."""
    binary = executable(program)
    files = (str(binary), *private_libraries(binary))
    return frozenset(name for file in files for name in referred_names(file) if name.startswith("smpi_"))
