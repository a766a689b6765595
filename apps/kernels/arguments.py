"""The arguments of a kernel's program."""

from __future__ import annotations

import importlib

from apps.errors import KernelError
from apps.programs.kernel import named_kernel
from apps.spec.run_spec import RunSpec
from apps.traffic import cuts

_LONGEST_ARGUMENT = 131_071  # bytes: MAX_ARG_STRLEN of Linux, without its end


def kernel_arguments(spec: RunSpec, iterations: int, *more: str) -> tuple[str, ...]:
    """Return the arguments for a number of iterations of the spec's problem, with ``more`` before its parameters.

    Raises:
        KernelError: A reference result needs too much memory.
    """
    # A machine takes its own time, except where ranks are paced: they take the time of a node of nominal speed.
    nominal = 1 / named_kernel(spec.target.problem.name).reference_efficiency
    return (
        f"mode={spec.mode}",
        f"flop_scale={spec.flop_scale if spec.machine is None else nominal:.17g}",
        f"iterations={iterations}",
        *more,
        *(f"{key}={value}" for key, value in spec.target.problem.params),
        *(f"{key}={value!r}" for key, value in _references(spec).items()),
        *_cuts(spec),
    )


def _cuts(spec: RunSpec) -> list[str]:
    """Return the cuts of unequal shares.

    Raises:
        KernelError: The kernel refuses the number of ranks, or there are too many numbers for a command line.
    """
    problem, nranks = spec.target.problem, spec.target.nranks
    if not problem.shares:
        return []

    written = [f"{name}={','.join(map(str, numbers))}" for name, numbers in cuts(problem, nranks).items()]
    if max(map(len, written)) > _LONGEST_ARGUMENT:
        remedy = f"Use fewer ranks: the cuts of {nranks} are more than an argument of a program can hold"
        raise KernelError(problem.on(nranks), "too many ranks for unequal shares", remedy)
    return written


def _references(spec: RunSpec) -> dict[str, float]:
    """Return the reference results of a run with arithmetic, where they are computed rather than published."""
    kernel, problem = named_kernel(spec.target.problem.name), spec.target.problem
    if spec.mode != "verify" or kernel.reference is None:
        return {}
    module = importlib.import_module(f"apps.kernels.{kernel.name}.reference")
    try:
        references: dict[str, float] = module.references(dict(problem.params), spec.target.nranks)
        return references
    except MemoryError:
        remedy = "Leave out --mode verify, or choose a smaller problem"
        raise KernelError(str(problem), "not enough memory to compute the reference results", remedy) from None
