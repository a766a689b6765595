"""The smaller problems of a program, from which its time at a larger size is predicted."""

from dataclasses import dataclass

from apps.errors import KernelError
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem, sized_problem
from apps.results.record import RunRecord
from apps.spec.target import Target
from apps.traffic import runs_on
from predictor.allocation.sizes import kernel_sizes
from predictor.base import Evidence, OutOfRange
from predictor.npt.tables import class_size, equations, names_with_equations
from predictor.npt.terms import Equations


@dataclass(frozen=True)
class Sized:
    """A problem and its N."""

    N: int
    problem: Problem

    def fits(self, ranks: int) -> bool:
        """Return whether the problem runs on that many ranks and its number of iterations is known."""
        if not runs_on(self.problem, ranks):
            return False
        try:
            self.problem.iterations_on(ranks)
        except KernelError:  # FEM: no run with arithmetic has given the number of iterations
            return False
        return True


def program_equations(asked: Problem) -> Equations:
    """Return the estimation equations of the problem's program.

    Raises:
        OutOfRange: The program has no equations.
    """
    if asked.program is not None or asked.name not in names_with_equations():
        known = ", ".join(names_with_equations())
        problem = "no terms in N and P are declared for its time"
        raise OutOfRange(str(asked), problem, f"Use another predictor; programs with such equations: {known}")
    return equations(asked.name, dict(asked.params))


def size_of(asked: Problem) -> int:
    """Return N of a problem whose program has equations."""
    return class_size(asked) if asked.size is None else asked.size


def smaller(asked: Problem) -> tuple[Sized, ...]:
    """Return the problems that are measured for a larger one, by increasing N, all below its N.

    For a kernel of free size they have the sizes of construction of its sizes.toml, none if there is no such file, and
    the same other parameters.  For a kernel with classes they are its classes; MG's class A is not smaller than its
    class B, since both have 256 points along an edge.
    """
    N, kernel = size_of(asked), named_kernel(asked.name)
    if asked.size is None:
        every = [problem(asked.name, preset) for preset in kernel.classes]
    else:
        others = {name: value for name, value in asked.params if name in kernel.parameters}
        known = kernel_sizes(asked.name)
        every = [sized_problem(asked.name, size, **others) for size in (known.construction if known else ())]
    sized = (Sized(size_of(candidate), candidate) for candidate in every)
    return tuple(sorted((size for size in sized if size.N < N), key=lambda size: size.N))


def comparable_time_s(evidence: Evidence, target: Target) -> float:
    """Return the time of a smaller run, s; for a class, scaled to the target's number of iterations.

    FEM's numbers of iterations, which grow with N as its equations assume, are left as they are.
    """
    if target.problem.size is not None:
        return evidence.record.time_s
    return time_of_iterations_s(evidence.record, evidence.request.target.iterations, target.iterations)


def time_of_iterations_s(record: RunRecord, iterations: int, asked: int) -> float:
    """Return the time that a run of ``iterations`` iterations would have taken with ``asked`` iterations, s.

    Each iteration more or less takes the time of an iteration in the steady state; where none was found, it takes the
    mean time of the iterations between the first and the last.
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
    if len(ends_s) > 2:  # the last iteration may do more than the others
        return (ends_s[-2] - ends_s[0]) / (len(ends_s) - 2)
    return ends_s[-1] / len(ends_s)
