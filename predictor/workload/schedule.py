"""The jobs of a workload, and their schedule on the nodes of a platform.

An attempt that starts at a date changes nothing before it.  So the schedule is built date by date: all attempts that
are known so far are evaluated together, the next end among them or the next arrival decides which jobs start, and these
are added.

Policies: choose the waiting jobs that start, and their nodes.

First come, first served; or EASY backfilling: a later job may start before the first waiting one if, by the requested
wall times, it does not delay it.  D. A. Lifka, "The ANL/IBM SP scheduling system", 1995.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.together.run import PlatformEvent, Ran
from platforms.errors import PlatformError
from platforms.model.platform import Platform, Route
from platforms.read.routes import routes_between

_SAME_S = 1e-9  # dates at most this far apart are one: SimGrid's own precision
ORDERS = ("fcfs", "backfill")
PLACEMENTS = ("packed", "spread")


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


@dataclass(frozen=True)
class Placed:
    """An attempt of a job: its hosts and its start; ``stop_s``: a host failed at this date, which ended it."""

    job: str
    number: int  # of the attempt of its job, from 0
    hosts: tuple[str, ...]
    start_s: float
    stop_s: float | None = None

    @property
    def name(self) -> str:
        """A name that no other attempt has."""
        return self.job if self.number == 0 else f"{self.job}~{self.number}"


EndsOf = Callable[[Sequence[Placed]], Mapping[str, float]]  # end of each attempt that is not stopped, s, by name


@dataclass
class _State:
    waiting: list[Asked] = field(default_factory=list)
    running: dict[str, Placed] = field(default_factory=dict)  # by job
    placed: list[Placed] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)  # by job


def scheduled(
    jobs: Sequence[Asked],
    clusters: Sequence[Sequence[str]],
    policy: Policy,
    ends_of: EndsOf,
    *,
    failures: Mapping[str, float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Placed]:
    """Return the attempts of all jobs, in the order of their starts.

    Every node runs one job at a time.  A job whose host fails is killed, waits again in its old place of the queue and
    starts from the beginning; the host is not used any more.

    Args:
        jobs: The jobs.
        clusters: The hosts of each cluster.
        policy: Decides which jobs start, and where.
        ends_of: Evaluates attempts together.
        failures: Dates at which hosts fail, s.
        progress: Called with the number of ended jobs and of all jobs.

    Raises:
        ValueError: A job can never start, because too few hosts are left.
    """
    failing = dict(failures or {})
    order = {job.name: (job.arrival_s, at) for at, job in enumerate(jobs)}
    coming = sorted(jobs, key=lambda job: order[job.name])
    by_name = {job.name: job for job in jobs}
    state, now_s, done = _State(), -math.inf, 0
    ends: dict[str, float] = {}
    while coming or state.waiting or state.running:
        next_s = min(
            [coming[0].arrival_s if coming else math.inf, *(ends[run.name] for run in state.running.values())]
            + [date_s for date_s in failing.values() if date_s > now_s and (state.running or coming)]
        )
        if next_s == math.inf:
            raise ValueError(f"job {state.waiting[0].name} needs {state.waiting[0].nodes} hosts, and fewer are left")
        now_s = next_s
        for name, run in list(state.running.items()):
            if ends[run.name] <= now_s + _SAME_S:
                del state.running[name]
                done += 1
            elif any(abs(failing.get(host, math.inf) - now_s) <= _SAME_S for host in run.hosts):
                del state.running[name]
                state.placed[state.placed.index(run)] = replace(run, stop_s=now_s)
                state.waiting.append(by_name[name])
        while coming and coming[0].arrival_s <= now_s + _SAME_S:
            state.waiting.append(coming.pop(0))
        state.waiting.sort(key=lambda job: order[job.name])
        lost = {host for host, date_s in failing.items() if date_s <= now_s + _SAME_S}
        if _start(state, clusters, policy, by_name, now_s=now_s, lost=lost):
            if progress is not None:
                progress(done, len(jobs))
            fresh = ends_of(state.placed)
            ends = {run.name: max(now_s, fresh[run.name]) for run in state.running.values()}
    return state.placed


def _start(
    state: _State,
    clusters: Sequence[Sequence[str]],
    policy: Policy,
    by_name: Mapping[str, Asked],
    *,
    now_s: float,
    lost: set[str],
) -> bool:
    """Start the jobs that can start, and return whether there are any."""
    busy = {host for run in state.running.values() for host in run.hosts} | lost
    free = [[host for host in hosts if host not in busy] for hosts in clusters]
    running = {name: (by_name[name], run.start_s) for name, run in state.running.items()}
    starting = policy.chosen(now_s, state.waiting, running, sum(map(len, free)))
    for job in starting:
        hosts = policy.hosts(job.nodes, free)
        taken = set(hosts)
        free = [[host for host in cluster if host not in taken] for cluster in free]
        state.running[job.name] = Placed(job.name, state.attempts[job.name], tuple(hosts), now_s)
        state.attempts[job.name] += 1
        state.placed.append(state.running[job.name])
        state.waiting.remove(job)
    return bool(starting)


@dataclass(frozen=True)
class Asked:
    """A job as the scheduler knows it."""

    name: str
    arrival_s: float
    nodes: int
    walltime_s: float = math.inf  # requested


@dataclass(frozen=True)
class Policy:
    """The order in which jobs start, and the nodes they get."""

    order: str = "fcfs"
    placement: str = "packed"

    def chosen(
        self,
        now_s: float,
        waiting: Sequence[Asked],
        running: Mapping[str, tuple[Asked, float]],
        free: int,
    ) -> list[Asked]:
        """Return the jobs that start now.

        Args:
            now_s: The present.
            waiting: The waiting jobs in the order of their arrival.
            running: The running jobs with their start dates, s, by name.
            free: Number of free nodes.
        """
        starting = []
        queue = list(waiting)
        while queue and queue[0].nodes <= free:
            starting.append(queue.pop(0))
            free -= starting[-1].nodes
        if self.order == "fcfs" or not queue:
            return starting
        ends = [(start_s + job.walltime_s, job.nodes) for job, start_s in running.values()]
        ends += [(now_s + job.walltime_s, job.nodes) for job in starting]
        shadow_s, extra = _reservation(queue[0].nodes, free, now_s, ends)
        for job in queue[1:]:
            if job.nodes > free:
                continue
            in_time = now_s + job.walltime_s <= shadow_s
            if in_time or job.nodes <= extra:
                starting.append(job)
                free -= job.nodes
                extra -= 0 if in_time else job.nodes
        return starting

    def hosts(self, count: int, free: Sequence[Sequence[str]]) -> list[str]:
        """Return the hosts of a job.

        Args:
            count: Number of hosts.
            free: The free hosts of each cluster, at least ``count`` together.  ``packed`` takes the cluster with the
                fewest free hosts among those that hold the whole job, otherwise the clusters with most free hosts
                first; ``spread`` takes the clusters in turn.
        """
        if self.placement == "spread":
            turns = [[cluster[i] for cluster in free if i < len(cluster)] for i in range(max(map(len, free)))]
            return [host for turn in turns for host in turn][:count]
        holding = [cluster for cluster in free if len(cluster) >= count]
        if holding:
            return list(min(holding, key=len)[:count])
        ordered = sorted(free, key=len, reverse=True)
        return [host for cluster in ordered for host in cluster][:count]


def _reservation(nodes: int, free: int, now_s: float, ends: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """Return when the first waiting job can start by the requested wall times, and how many nodes it leaves then."""
    for end_s, count in sorted(ends):
        free += count
        if free >= nodes:
            return max(end_s, now_s), free - nodes
    return math.inf, 0
