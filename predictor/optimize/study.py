"""A program on a cluster of sub-clusters, and the configurations it may run on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from apps.catalog import Problem, Value, sized_problem
from apps.errors import KernelError
from apps.spec import Target
from platforms.errors import UserError
from platforms.placement import configured
from platforms.platform import Platform
from predictor.npt.configuration import Configuration, Limits
from predictor.npt.space import Space

# The tables of times by sub-cluster, M_i and P have so many entries (100 MB for three sub-clusters).
MOST_PROCESSES = 256  # on a node
MOST_RANKS = 16384


@dataclass(frozen=True)
class Study:
    """What may run where.  Raises UserError for limits that the platform does not have."""

    app: str
    platform: Platform
    limits: Limits
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)  # of the problems, besides N

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
        """The same with other limits."""
        return replace(self, limits=limits)

    def problem(self, size: int) -> Problem:
        """The problem of size N."""
        return sized_problem(self.app, size, **self.parameters)

    def target(self, configuration: Configuration, size: int) -> Target:
        """That problem on a configuration: the first P_i nodes of each cluster, M_i consecutive ranks on each."""
        return Target(self.problem(size), self.platform, configured(self.platform, configuration.shares))

    def space(self, size: int) -> Space:
        """The configurations whose number of processes the benchmark's own rule allows for this N.

        Raises UserError where there is none.
        """
        space = Space(self.limits, self.problem(size).allows)
        if not space.allowed.any():
            remedy = "Change N, or allow more nodes and processes"
            raise UserError(f"{self.problem(size)}", "no configuration has a fitting number of processes", remedy)
        return space

    def check_iterations(self, runs: Iterable[tuple[int, int]]) -> None:
        """Whether it is known how many iterations runs of N on P ranks take; raises UserError where it is not."""
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
        """What the models are made of: every size on every configuration of one sub-cluster alone."""
        count = self.limits.sub_clusters
        for size in sizes:
            problem = self.problem(size)
            for i, (most_pes, most) in enumerate(zip(self.limits.pes, self.limits.processes, strict=True)):
                for pes in range(1, most_pes + 1):
                    for processes in range(1, most + 1):
                        if problem.allows(pes * processes):
                            shares = tuple((pes, processes) if j == i else (0, 0) for j in range(count))
                            yield Configuration(shares), size
