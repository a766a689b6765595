"""A workload: jobs on a platform, the policy that places them, and events on the platform."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.together.events import PlatformEvent
from apps.together.run import Ran
from platforms.errors import PlatformError
from platforms.model.platform import Platform, Route
from platforms.read.routes import routes_between
from predictor.workload.schedule import Asked, Placed, Policy


@dataclass(frozen=True)
class Job:
    """A program that arrives at a date, or a run time without a program."""

    name: str
    nodes: int
    arrival_s: float
    walltime_s: float = math.inf  # requested
    problem: Problem | None = None  # None: it runs for run_s, and sends no message
    ranks: int = 0
    ranks_per_host: int = 1
    run_s: float = 0.0
    placement: tuple[str, ...] = ()  # the host of each rank, where it is given; (): as hosts are free

    @property
    def asked(self) -> Asked:
        """The job as the scheduler knows it."""
        return Asked(self.name, self.arrival_s, self.nodes, self.walltime_s)

    def target(self, platform: Platform, hosts: Sequence[str]) -> Target:
        """Return its target on some hosts, each with ``ranks_per_host`` consecutive ranks."""
        assert self.problem is not None
        if self.placement:
            return Target(self.problem, platform, self.placement)
        places = tuple(host for host in hosts for _ in range(self.ranks_per_host))[: self.ranks]
        return Target(self.problem, platform, places)


@dataclass(frozen=True)
class Workload:
    """Jobs on a platform."""

    name: str
    platform: Platform
    jobs: tuple[Job, ...]
    policy: Policy
    events: tuple[PlatformEvent, ...] = ()
    hosts: tuple[str, ...] = ()  # that jobs may use; (): all

    def __post_init__(self) -> None:
        count = len(self.platform.hosts)
        for job in self.jobs:
            if job.nodes > count:
                problem = f"it needs {job.nodes} hosts, and the platform has {count}"
                raise PlatformError(
                    f"{self.name}, job {job.name}", problem, "Give it fewer ranks, or more on each host"
                )

    @property
    def clusters(self) -> list[list[str]]:
        """The hosts of each cluster that jobs may use."""
        if self.hosts:
            return [list(self.hosts)]
        return [[host.name for host in cluster.hosts] for cluster in self.platform.clusters]

    @property
    def programs(self) -> list[Job]:
        """The jobs that are programs."""
        return [job for job in self.jobs if job.problem is not None]

    @property
    def failures(self) -> dict[str, float]:
        """The date at which each failing host fails, s."""
        dates: dict[str, float] = {}
        for event in self.events:
            if event.fails:
                dates[event.name] = min(event.date_s, dates.get(event.name, math.inf))
        return dates

    def by_name(self) -> Mapping[str, Job]:
        """Return the jobs by name."""
        return {job.name: job for job in self.jobs}

    def some_routes(self) -> list[Route]:
        """Return routes that together cross every link of usual platforms.

        They go from the first host to all others and back, and between the first hosts of the clusters.
        """
        hosts = [host for cluster in self.clusters for host in cluster]
        heads = [cluster[0] for cluster in self.clusters]
        pairs = [(a, b) for other in hosts[1:] for a, b in ((hosts[0], other), (other, hosts[0]))]
        pairs += [(a, b) for a in heads for b in heads if a != b]
        return list(routes_between(self.platform, list(dict.fromkeys(pairs))))


def fixed_dates(workload: Workload, placed: Sequence[Placed]) -> dict[str, Ran]:
    """Return the dates of the attempts of jobs without a program, by name: they take as long as the workload says."""
    jobs = workload.by_name()
    return {
        one.name: Ran(one.start_s, one.start_s + jobs[one.job].run_s, jobs[one.job].run_s)
        for one in placed
        if jobs[one.job].problem is None
    }
