"""Kernels as applications of blocks: the descriptions in their folders, adapted to a problem and a number of ranks.

A kernel's description is ``blocks.toml``; apps/traffic/layout.py says how it gets the values of a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from apps.programs.kernel import Kernel, kernels_with, named_kernel
from apps.programs.problem import Problem
from apps.traffic.layout import Layout, NoLayout
from predictor.base import OutOfRange
from predictor.blocks.application import Application, Collective, If, Repeat, Send, Step, While
from predictor.blocks.description import read_application
from predictor.blocks.expressions import Expression
from predictor.blocks.names import MADE_OF

_FILE, _MODULE = "blocks.toml", "blocks"


@dataclass(frozen=True)
class Description:
    """A kernel's application; if the kernel has iterations, their number is the variable ``iterations``."""

    application: Application
    iterations: int | None  # of a full run; None: the kernel has none
    posts_ahead: bool = False  # receives are posted before the sends ahead of them (machines.machine.Posted)
    # Blocks of at least this size are sent by MPI_Alltoallv, for which SMPI has one algorithm (all messages at once);
    # None: none are.
    vectors_from_bytes: float | None = None

    def of(self, iterations: int) -> Application:
        """Return the application with this number of iterations."""
        return self.application.changed(variables={"iterations": iterations})

    @property
    def blocks(self) -> frozenset[str]:
        """Names of predictor.blocks.model.COMMUNICATION that the application uses."""
        return frozenset(name for label in self.application.labels for name in _blocks(label.program))


def _blocks(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Repeat | While):
            yield from _blocks(step.steps)
        elif isinstance(step, If):
            yield from _blocks((*step.steps, *step.otherwise))
        elif isinstance(step, Send):
            yield "p2p"
        elif isinstance(step, Collective):
            yield from MADE_OF.get(step.block, (step.block,))


def described_names() -> tuple[str, ...]:
    """Return the names of the kernels that are described in blocks."""
    return tuple(sorted({*kernels_with(_FILE), *kernels_with(f"{_MODULE}.py")}))


def describe(problem: Problem, ranks: int) -> Description:
    """Return the description of a problem on this number of ranks.

    Raises:
        OutOfRange: If the problem has no description, or its description has no layout for this number of ranks.
    """
    if problem.program is not None or problem.name not in described_names():
        problem_text = "it has no description in blocks"
        raise OutOfRange(
            f"blocks, {problem}", problem_text, f"Described: {', '.join(described_names())}; or use dpgraph"
        )
    try:
        made: Description = _described(problem, ranks)
    except KeyError as err:
        problem_text = f"it has no parameter {err}, which its description needs"
        raise OutOfRange(f"blocks, {problem}", problem_text, "Give all the parameters of a class") from None
    except NoLayout as err:
        problem_text = f"its description in blocks has no layout for this number of ranks: {err}"
        remedy = "Use other numbers of ranks, or dpgraph"
        raise OutOfRange(f"blocks, {problem.name} on {ranks} ranks", problem_text, remedy) from None
    return made


@lru_cache(maxsize=64)
def _described(problem: Problem, ranks: int) -> Description:
    kernel, params = named_kernel(problem.name), dict(problem.params)
    declared_layout = kernel.optional(_MODULE, "layout")
    layout = Layout() if declared_layout is None else declared_layout(params, ranks)
    made = read_application(layout.description or kernel.folder / _FILE)
    iterations = None if kernel.iterations_parameter is None else int(params[kernel.iterations_parameter])
    made = made.changed(variables={**dict(_values(made, kernel, params, ranks)), **layout.variables})
    if made.name != kernel.name:  # kernels may share a description
        made = replace(made, name=kernel.name, labels=made.given)
    return Description(made, iterations, layout.posts_ahead, layout.vectors_from_bytes)


def _values(
    application: Application, kernel: Kernel, params: Mapping[str, Any], ranks: int
) -> Iterator[tuple[str, Any]]:
    """Yield the values of the description's numbers that a problem and a number of ranks decide."""
    size = () if kernel.size_parameter is None else (kernel.size_parameter,)
    parameters = {*size, *kernel.parameters, *(name for values in kernel.classes.values() for name in values)}
    for name in _numbers(application):
        if name == "ranks":
            yield name, ranks
        elif name == "iterations" and kernel.iterations_parameter is not None:
            yield name, params[kernel.iterations_parameter]
        elif name in parameters:
            yield name, params[name]


def _numbers(application: Application) -> Iterator[str]:
    """Yield the variables whose values in the description are numbers, and not expressions."""
    for name, value in application.variables.items():
        if isinstance(value, Expression) and not value.names:
            yield name
