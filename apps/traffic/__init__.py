"""What the kernels compute and send on any number of ranks, declared: nothing is run to know it.

The declarations are equal to the kernels' own traffic, rank by rank, which is a test.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from types import ModuleType

from apps.catalog import Problem
from apps.errors import KernelError
from apps.traffic.steps import Traffic

DECLARED = ("cg", "ep", "ft", "lu", "mg")
_KEPT = 256


def declares(problem: Problem) -> bool:
    """Whether the traffic of this problem is declared."""
    return problem.program is None and problem.app in DECLARED


def accepts(problem: Problem, nranks: int) -> bool:
    """Whether the problem's program runs on so many ranks.  Raises KernelError for a program that is not declared.

    CG has a row of its matrix for each, and 1400 of them in class S:

    >>> from apps.catalog import problem
    >>> [accepts(problem("cg", "S"), nranks) for nranks in (1400, 1401)]
    [True, False]
    """
    declaration = _declaration(problem)
    try:
        declaration.check(dict(problem.params), nranks)
    except KernelError:
        return False
    return True


@lru_cache(maxsize=_KEPT)
def traffic(problem: Problem, nranks: int) -> Traffic:
    """What a problem's program does on so many ranks.

    Raises KernelError for a program that is not declared, and for numbers of ranks that the program refuses.

    LU, class A, on four ranks sends 504 messages in an iteration, as the official program does:

    >>> from apps.catalog import problem
    >>> int(traffic(problem("lu", "A"), 4).totals(1).messages.sum())
    504
    """
    made: Traffic = _declaration(problem).traffic(dict(problem.params), nranks)
    return made


def _declaration(problem: Problem) -> ModuleType:
    if not declares(problem):
        known = f"Known: {', '.join(DECLARED)}"
        raise KernelError(f"traffic of {problem.app}", "it is not declared what the program sends to whom", known)
    return import_module(f"apps.traffic.{problem.app}")
