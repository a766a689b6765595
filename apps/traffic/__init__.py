"""What the kernels compute and send on any number of ranks, declared: nothing is run to know it.

The declarations are equal to the kernels' own traffic, rank by rank, which is a test.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from apps.catalog import Problem
from apps.errors import KernelError
from apps.traffic.steps import Traffic

DECLARED = ("cg", "ep", "ft", "lu", "mg")
_KEPT = 256


def declares(problem: Problem) -> bool:
    """Whether the traffic of this problem is declared."""
    return problem.program is None and problem.app in DECLARED


@lru_cache(maxsize=_KEPT)
def traffic(problem: Problem, nranks: int) -> Traffic:
    """What a problem's program does on so many ranks.

    Raises KernelError for a program that is not declared, and for numbers of ranks that the program refuses.

    LU, class A, on four ranks sends 504 messages in an iteration, as the official program does:

    >>> from apps.catalog import problem
    >>> int(traffic(problem("lu", "A"), 4).totals(1).messages.sum())
    504
    """
    if not declares(problem):
        known = f"Known: {', '.join(DECLARED)}"
        raise KernelError(f"traffic of {problem.app}", "it is not declared what the program sends to whom", known)
    made: Traffic = import_module(f"apps.traffic.{problem.app}").traffic(dict(problem.params), nranks)
    return made
