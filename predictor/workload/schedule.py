"""The schedule of a workload: which job runs when and on which hosts, given what decides the jobs' ends.

An attempt that starts at a date changes nothing before it.  So the schedule is built date by date: all attempts that
are known so far are evaluated together, the next end among them or the next arrival decides which jobs start, and these
are added.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from predictor.workload.policies import Asked, Policy

_SAME_S = 1e-9  # dates at most this far apart are one: SimGrid's own precision


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
