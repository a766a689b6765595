"""A program on a cluster of sub-clusters, and the configurations on which it may run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from apps.errors import KernelError
from apps.programs.kernel import Value, named_kernel
from apps.programs.problem import Problem, sized_problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import configured
from platforms.model.platform import Platform
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.space import Space
from predictor.npt.tables import equations, names_with_equations
from predictor.npt.terms import Equations

# These limits bound the tables of times by sub-cluster, M_i and P (100 MB for three sub-clusters).
MOST_PROCESSES = 256  # per node
MOST_RANKS = 16384


@dataclass(frozen=True)
class Study:
    """A program, its platform, and the limits of its configurations.

    A kernel with a free size is studied at several sizes N; with ``fixed``, the program is this one problem, and all
    sizes stand for it, unless ``at_size`` gives the problem of each.

    Raises:
        UserError: The limits exceed the platform, MOST_PROCESSES or MOST_RANKS.
    """

    app: str
    platform: Platform
    limits: Limits
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)  # of the problems, besides N
    fixed: Problem | None = None  # a kernel's class, or the user's own program
    # Of classes, or of a program with an argument that is its size: the problem of N.  They are fixed too, at one N.
    at_size: Callable[[int], Problem] | None = field(default=None, hash=False, compare=False)

    def __post_init__(self) -> None:
        clusters = self.platform.clusters
        if self.limits.sub_clusters != len(clusters):
            problem = (
                f"{self.limits.sub_clusters} numbers, but platform {self.platform.name} has {len(clusters)} clusters"
            )
            raise UserError("nodes and processes", problem, "Give one number for each")
        for most, cluster in zip(self.limits.pes, clusters, strict=True):
            if most > len(cluster.hosts):
                problem = f"{most} nodes of cluster {cluster.name}, which has {len(cluster.hosts)}"
                raise UserError("nodes", problem, "Give at most as many as there are")
        for number, most, what in (
            (max(self.limits.processes), MOST_PROCESSES, "processes on a node"),
            (sum(self.limits.most_processes), MOST_RANKS, "processes in all"),
        ):
            if number > most:
                raise UserError("nodes and processes", f"{number} {what}", f"Give at most {most}")

    def within(self, limits: Limits) -> Study:
        """Return the study with other limits."""
        return replace(self, limits=limits)

    def problem(self, size: int) -> Problem:
        """Return the problem of size N = ``size``."""
        if self.at_size is not None:
            return self.at_size(size)
        if self.fixed is not None:
            return self.fixed
        return sized_problem(self.app, size, **self.parameters)

    @property
    def equations(self) -> Equations:
        """The estimation equations of the program with these parameters.

        Raises:
            UserError: No equations are known for the program.
        """
        defaults = named_kernel(self.app).parameters if self.app in names_with_equations() else {}
        return equations(self.app, {**defaults, **self.parameters})

    def target(self, configuration: Configuration, size: int) -> Target:
        """Return the problem on the first P_i nodes of each cluster, with M_i consecutive ranks on each node."""
        return Target(self.problem(size), self.platform, configured(self.platform, configuration.shares))

    def space(self, size: int) -> Space:
        """Return the configurations whose number of processes the program allows for this N.

        Raises:
            UserError: There is no such configuration.
        """
        space = Space(self.limits, self.problem(size).allows)
        if not space.allowed.any():
            remedy = "Change N, or allow more nodes and processes"
            raise UserError(f"{self.problem(size)}", "no configuration has a number of ranks that it allows", remedy)
        return space

    def check_iterations(self, runs: Iterable[tuple[int, int]]) -> None:
        """Check that the numbers of iterations of runs (N, P ranks) are known.

        Raises:
            UserError: The number of iterations of a run is not known.
        """
        runs, unknown = list(dict.fromkeys(runs)), []
        for size, ranks in runs:
            try:
                self.problem(size).iterations_on(ranks)
            except KernelError as err:
                unknown.append(err)
        if unknown:
            first = unknown[0]
            others = f", nor for {len(unknown) - 1} more of {len(runs)}" if len(unknown) > 1 else ""
            raise UserError(first.where, first.problem + others, first.remedy)

    def homogeneous(self, sizes: Iterable[int]) -> Iterator[tuple[Configuration, int]]:
        """Yield the runs to fit models to: every size on every configuration of a single sub-cluster."""
        count = self.limits.sub_clusters
        for size in sizes:
            problem = self.problem(size)
            for i, (most_pes, most) in enumerate(zip(self.limits.pes, self.limits.processes, strict=True)):
                for pes in range(1, most_pes + 1):
                    for processes in range(1, most + 1):
                        if problem.allows(pes * processes):
                            shares = tuple((pes, processes) if j == i else (0, 0) for j in range(count))
                            yield Configuration(shares), size
