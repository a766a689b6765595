"""The smaller problems of a program, from which its time at a larger size is to be told."""

from __future__ import annotations

from dataclasses import dataclass

from apps.catalog import Problem, app, problem, sized_problem
from apps.errors import KernelError
from apps.record import RunRecord
from apps.spec import Target
from predictor.base import Evidence, OutOfRange
from predictor.npt.equations import Equations
from predictor.npt.nas import NAS, nas_fits, nas_size
from predictor.npt.sizes import paper_sizes
from predictor.npt.tables import TABLE_V, equations


@dataclass(frozen=True)
class Sized:
    """A problem and its N."""

    N: int
    problem: Problem

    def fits(self, ranks: int) -> bool:
        """Whether so many ranks can work on it, and for how many iterations is known."""
        if self.problem.app in NAS and not nas_fits(self.problem, ranks):
            return False
        try:
            self.problem.iterations_on(ranks)
        except KernelError:  # FEM: no run with arithmetic has told
            return False
        return self.problem.allows(ranks)


def program_equations(asked: Problem) -> Equations:
    """Those of the problem's program; raises OutOfRange for a program that has none."""
    if asked.program is not None or asked.app not in {**TABLE_V, **NAS}:
        known = ", ".join({**TABLE_V, **NAS})
        problem = "nobody has said which terms in N and P its time is made of"
        raise OutOfRange(str(asked), problem, f"Use another predictor; programs with such equations: {known}")
    return equations(asked.app)


def size_of(asked: Problem) -> int:
    """N of a program that has equations."""
    size = nas_size(asked.app, dict(asked.params)) if asked.app in NAS else asked.size
    if size is None:
        raise ValueError(f"{asked} has no N")
    return size


def smaller(asked: Problem) -> tuple[Sized, ...]:
    """The problems that are measured for one, by increasing N, all of them below its own.

    Of a benchmark of the NP-T paper: those of the paper's sizes of construction, with the same other parameters.  Of a
    NAS kernel: its classes.  MG's class A is none for class B, since both have 256 points along an edge.
    """
    N = size_of(asked)
    if asked.app in NAS:
        every = (problem(asked.app, preset) for preset in app(asked.app).classes)
    else:
        kernel = app(asked.app)
        others = {name: value for name, value in asked.params if name in kernel.parameters}
        every = (sized_problem(asked.app, size, **others) for size in paper_sizes()[asked.app].construction)
    sized = (Sized(size_of(one), one) for one in every)
    return tuple(sorted((one for one in sized if one.N < N), key=lambda one: one.N))


def comparable_time_s(evidence: Evidence, target: Target) -> float:
    """The time of a smaller run, s: of a class, as if it had the target's number of iterations.

    Iterations of FEM, which grow with N as its equations have it, are left as they are.
    """
    if target.problem.app not in NAS:
        return evidence.record.time_s
    return time_of_iterations_s(evidence.record, evidence.request.target.iterations, target.iterations)


def time_of_iterations_s(record: RunRecord, iterations: int, asked: int) -> float:
    """What a run of ``iterations`` would have taken with ``asked`` of them, s: classes differ in their number.

    One more or less takes as long as one of those whose times repeat; without such, as one between first and last.
    """
    if iterations == asked:
        return record.time_s
    how = record.extrapolation
    if how is not None:
        each_s = how.period_s / how.period
    else:
        each_s = sum(_each_s(ends) for ends in record.iteration_s) / record.ranks
    return record.time_s + (asked - iterations) * each_s


def _each_s(ends_s: tuple[float, ...]) -> float:
    if len(ends_s) > 2:  # the very last may do more than the others
        return (ends_s[-2] - ends_s[0]) / (len(ends_s) - 2)
    return ends_s[-1] / len(ends_s)
