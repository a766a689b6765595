"""The traffic of the programs that the predictor describes: the declared and the expected ones."""

from __future__ import annotations

from apps.errors import KernelError
from apps.programs.problem import Problem
from apps.traffic import describes, known_names, traffic
from apps.traffic.steps import Traffic
from predictor.base import OutOfRange


def traffic_of(problem: Problem, nranks: int) -> Traffic:
    """Return what a program does on this number of ranks.

    Raises:
        OutOfRange: Its traffic is not known, or its kernel refuses the number of ranks.
    """
    where = problem.on(nranks)
    if describes(problem):
        try:
            return traffic(problem, nranks)
        except KernelError as err:
            raise OutOfRange(where, err.problem, err.remedy) from err
    raise OutOfRange(where, "its messages are not declared", f"Use one of {', '.join(known_names())}")
