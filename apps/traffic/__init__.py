"""The declared traffic of kernels: what they compute and send on any number of ranks, without running them.

The declarations are equal to the kernels' own traffic, rank by rank, which is a test.  That of IS, whose messages
depend on its keys, is the expected one.

Public faces: ``traffic``, ``cuts``, ``work_shares``, ``declares``, ``describes``, ``accepts``, ``steps.Traffic``;
``bt.METHOD`` and ``sp.METHOD``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from apps.errors import KernelError
from apps.programs.problem import Problem

if TYPE_CHECKING:  # NumPy is slow to import, and most functions here do not need it
    import numpy as np
    import numpy.typing as npt

    from apps.traffic.shares import Cuts
    from apps.traffic.steps import Traffic

DECLARED = ("bt", "cg", "ep", "ft", "himeno", "lu", "mg", "sp")
EXPECTED = ("is",)  # the messages depend on the data, and those that are to be expected are declared, for predictors
# Declared too, but not for predictors and the engine s4u: its ranks start without the barrier that these begin with.
_WITHOUT_BARRIER = ("dt",)
_KEPT = 256
_MODULES = {"is": "sorting"}  # of kernels whose name is a word of Python


def declares(problem: Problem) -> bool:
    """Return whether the traffic of this problem is declared for predictors and the engine s4u."""
    return problem.program is None and problem.name in DECLARED


def describes(problem: Problem) -> bool:
    """Return whether predictors know the traffic of this problem, exactly or as it is to be expected."""
    return declares(problem) or (problem.program is None and problem.name in EXPECTED)


def check(problem: Problem, nranks: int) -> None:
    """Check that the problem's kernel runs on so many ranks.

    Raises:
        KernelError: The kernel refuses the problem or the number of ranks, with the kernel's own words as the message;
            or its traffic is not declared.
    """
    refusal = _declaration(problem).refusal(dict(problem.params), nranks)
    if refusal is not None:
        where = problem.on(nranks)
        raise KernelError(where, refusal, "Choose other ranks, or another class or size")


def accepts(problem: Problem, nranks: int) -> bool:
    """Return whether the problem's kernel runs on so many ranks.

    CG has a row of its matrix for each rank, and 1400 rows in class S:

    >>> from apps.programs.problem import problem
    >>> [accepts(problem("cg", "S"), nranks) for nranks in (1400, 1401)]
    [True, False]

    Raises:
        KernelError: The traffic of the problem is not declared.
    """
    return _declaration(problem).refusal(dict(problem.params), nranks) is None


@lru_cache(maxsize=_KEPT)
def cuts(problem: Problem, nranks: int) -> Cuts:
    """Return the cuts of the data of a problem in unequal shares, by name of the kernel's argument.

    Two ranks of LU's 12 points along x, of which the outermost are no unknowns; the second one computes thrice as much:

    >>> from apps.programs.problem import problem
    >>> cuts(problem("lu", "S").divided([1, 3]), 2)
    {'cuts_x': (0, 3, 12), 'cuts_y': (0, 12)}

    Raises:
        KernelError: As in ``check``; or the kernel divides its data evenly only.
    """
    check(problem, nranks)
    made: Cuts = _declaration(problem).cuts(dict(problem.params), nranks, problem.shares)
    return made


@lru_cache(maxsize=_KEPT)
def traffic(problem: Problem, nranks: int) -> Traffic:
    """Return what a problem's kernel does on so many ranks.

    LU, class A, on four ranks sends 504 messages in an iteration, as the official program does:

    >>> from apps.programs.problem import problem
    >>> int(traffic(problem("lu", "A"), 4).totals(1).messages.sum())
    504

    Raises:
        KernelError: As in ``check``.
    """
    check(problem, nranks)
    declaration, params = _declaration(problem), dict(problem.params)
    unequal = (problem.shares,) if problem.shares else ()
    made: Traffic = declaration.traffic(params, nranks, *unequal)
    return made


def work_shares(problem: Problem, nranks: int) -> npt.NDArray[np.float64]:
    """Return the part of the operations that each rank does, as the cuts of its data leave it.

    Raises:
        KernelError: As in ``check``.
    """
    done = traffic(problem, nranks).totals(problem.iterations_on(nranks)).flops
    parts: npt.NDArray[np.float64] = done / done.sum()
    return parts


def _declaration(problem: Problem) -> ModuleType:
    """Return the module that declares the traffic of a problem's kernel."""
    if not describes(problem) and (problem.program is not None or problem.name not in _WITHOUT_BARRIER):
        known = f"Known: {', '.join((*DECLARED, *EXPECTED))}"
        raise KernelError(f"traffic of {problem.name}", "the kernel's messages are not declared", known)
    return import_module(f"apps.traffic.{_MODULES.get(problem.name, problem.name)}")
