"""The declared traffic of kernels: what they compute and send on any number of ranks, without running them.

A kernel's declaration is the module ``traffic.py`` in its folder, with the functions ``refusal(params, nranks)``,
``traffic(params, nranks)`` and, if it takes unequal shares of the data, ``cuts(params, nranks, shares)``.  It is equal
to the kernel's own traffic, rank by rank, which is a test; or it is the expected one, where the messages depend on the
data.  This room has the language of the declarations.

Public faces: ``traffic``, ``cuts``, ``work_shares``, ``declares``, ``describes``, ``accepts``, ``runs_on``,
``declared_names``, ``known_names``, ``steps.Traffic``, ``collectives.steps``, ``collectives.stages``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from apps.errors import KernelError
from apps.programs.kernel import EXACT, EXPECTED, Kernel, kernel_names, kernels_with, named_kernel
from apps.programs.problem import Problem

if TYPE_CHECKING:  # NumPy is slow to import, and most functions here do not need it
    import numpy as np
    import numpy.typing as npt

    from apps.traffic.shares import Cuts
    from apps.traffic.steps import Traffic

_KEPT = 256
_MODULE = "traffic"


def declared_names() -> tuple[str, ...]:
    """Return the names of the kernels whose traffic is declared for predictors and the engine s4u."""
    return _names(EXACT)


def known_names() -> tuple[str, ...]:
    """Return the names of the kernels whose traffic predictors know: declared or expected."""
    return (*declared_names(), *_names(EXPECTED))


def _names(traffic: str) -> tuple[str, ...]:
    return tuple(name for name in kernels_with(f"{_MODULE}.py") if named_kernel(name).traffic == traffic)


def declares(problem: Problem) -> bool:
    """Return whether the traffic of this problem is declared for predictors and the engine s4u."""
    return _kind(problem) == EXACT


def describes(problem: Problem) -> bool:
    """Return whether predictors know the traffic of this problem, exactly or as expected values."""
    return _kind(problem) in (EXACT, EXPECTED)


def _kind(problem: Problem) -> str | None:
    kernel = _kernel(problem)
    return None if kernel is None else kernel.traffic


def _kernel(problem: Problem) -> Kernel | None:
    """Return the kernel of a problem; None for the user's own program."""
    return named_kernel(problem.name) if problem.program is None and problem.name in kernel_names() else None


def check(problem: Problem, nranks: int) -> None:
    """Check that the problem's kernel runs on this number of ranks.

    Raises:
        KernelError: The kernel refuses the problem or the number of ranks, with the kernel's own words as the message;
            or its traffic is not declared.
    """
    refusal = _refusal(problem, nranks)
    if refusal is not None:
        where = problem.on(nranks)
        raise KernelError(where, refusal, "Choose other ranks, or another class or size")


def accepts(problem: Problem, nranks: int) -> bool:
    """Return whether the problem's kernel runs on this number of ranks.

    CG has a row of its matrix for each rank, and 1400 rows in class S:

    >>> from apps.programs.problem import problem
    >>> [accepts(problem("cg", "S"), nranks) for nranks in (1400, 1401)]
    [True, False]

    Raises:
        KernelError: The traffic of the problem is not declared.
    """
    return _refusal(problem, nranks) is None


def runs_on(problem: Problem, nranks: int) -> bool:
    """Return whether a problem's program runs on this number of ranks: by its own rule, and by its declared traffic.

    LU's class S has 12 points along an axis, and every rank needs two:

    >>> from apps.programs.problem import problem
    >>> [runs_on(problem("lu", "S"), nranks) for nranks in (6, 7, 8)]
    [True, False, True]
    """
    return (not describes(problem) or accepts(problem, nranks)) and problem.allows(nranks)


def _refusal(problem: Problem, nranks: int) -> str | None:
    refusal: str | None = _declaring(problem).needed(_MODULE, "refusal")(dict(problem.params), nranks)
    return refusal


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
    made: Cuts = _declaring(problem).needed(_MODULE, "cuts")(dict(problem.params), nranks, problem.shares)
    return made


@lru_cache(maxsize=_KEPT)
def traffic(problem: Problem, nranks: int) -> Traffic:
    """Return what a problem's kernel does on this number of ranks.

    LU, class A, on four ranks sends 504 messages in an iteration, as the official program does:

    >>> from apps.programs.problem import problem
    >>> int(traffic(problem("lu", "A"), 4).totals(1).messages.sum())
    504

    Raises:
        KernelError: As in ``check``.
    """
    check(problem, nranks)
    unequal = (problem.shares,) if problem.shares else ()
    made: Traffic = _declaring(problem).needed(_MODULE, "traffic")(dict(problem.params), nranks, *unequal)
    return made


def work_shares(problem: Problem, nranks: int) -> npt.NDArray[np.float64]:
    """Return the part of the operations that each rank does, as the cuts of its data leave it.

    A program of the user's own is taken to compute in proportion to its shares.

    Raises:
        KernelError: As in ``check``.
    """
    if problem.program is not None:
        # Imported here because it is slow to import.
        import numpy as np

        return np.array(problem.shares or (1 / nranks,) * nranks)
    done = traffic(problem, nranks).totals(problem.iterations_on(nranks)).flops
    parts: npt.NDArray[np.float64] = done / done.sum()
    return parts


def _declaring(problem: Problem) -> Kernel:
    """Return the kernel of a problem whose traffic is declared, for whomever."""
    kernel = _kernel(problem)
    if kernel is None or kernel.traffic is None:
        known = f"Known: {', '.join(known_names())}"
        raise KernelError(f"traffic of {problem.name}", "the kernel's messages are not declared", known)
    return kernel
