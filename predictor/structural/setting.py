"""A problem on a platform: the evidence, and the predictions for placements of the problem's ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.traffic import traffic
from predictor.answers.energy import host_load
from predictor.base import Cost, Evidence, HostLoad, OutOfRange, Prediction
from predictor.network.unmeasured import unmeasured
from predictor.structural.contention import share
from predictor.structural.followed import FollowedProgram
from predictor.structural.measured import MOST_HOSTS, SYNCHRONOUS, MeasuredPaths, measured_paths
from predictor.structural.paths import Paths, PlaceOfLinks, no_paths
from predictor.structural.recurrence import runs
from predictor.structural.schedule import Schedule, partners, schedule

# Share of the time above which messages of different steps are evaluated together; below it, the recurrence differs #
# by at most 0.2 %.
_MEET = 2e-3
_MEET_MUCH = 2e-2  # share of the time that causes a caution if there are too many messages to evaluate together
_UNSHARED = ("messages of different steps compete for full links, and are too many to be evaluated together",)
_ALIKE = 1e-3  # relative: iterations that differ by at most this are alike


@dataclass(frozen=True, eq=False)
class _Plan:
    """The data of a number of ranks that do not depend on their placement."""

    schedule: Schedule
    paths: Paths
    protocol: np.ndarray  # by size
    flops: np.ndarray  # by rank, of the whole run
    flags: tuple[str, ...]

    @cached_property
    def meeting(self) -> FollowedProgram:
        """The program whose messages are evaluated together through all steps."""
        return FollowedProgram(self.schedule, self.protocol)


class Setting:
    """The evidence on a problem and a platform.

    Args:
        probe: The run on one node per cluster.
        network: The messages of the network plan; None if only one host is used.
        sizes: The further messages for the problem's sizes; None if the network's suffice.
        problem: The problem, which the probe divides evenly.
    """

    def __init__(self, probe: Evidence, network: Evidence | None, sizes: Evidence | None, problem: Problem):
        self._probe, self._network, self._sizes = probe, network, sizes
        self._problem, self._platform = problem, probe.request.target.platform
        evidence = [e for e in (probe, network, sizes) if e is not None]
        self._evidence, self._cost = tuple(e.id for e in evidence), sum((e.cost for e in evidence), Cost())
        self._plans: dict[int, _Plan] = {}
        self._cautions: dict[tuple[str, ...], tuple[str, ...]] = {}  # by placement

    def of(self, problem: Problem) -> Setting:
        """Return the same evidence on a problem whose probe is the same."""
        return Setting(self._probe, self._network, self._sizes, problem)

    def predict(self, targets: Sequence[Target], slowdown: Mapping[str, float] | None = None) -> list[Prediction]:
        """Return the predictions of targets of this problem and platform, all with the same number of ranks.

        Args:
            targets: The targets.
            slowdown: By cluster, f_max / f of nodes that compute at another frequency than in the probe.

        Raises:
            OutOfRange: The network shows no rate, or the probe's rank of a cluster computes nothing.
        """
        iterations, plan = targets[0].iterations, self._plan(targets[0].nranks)
        number = self._number
        host = np.array([[number[name] for name in target.placement] for target in targets], np.int32)
        cluster_s = self._s_per_flop
        if slowdown:
            cluster_s = cluster_s * [slowdown.get(name, 1.0) for name in self._cluster_names]
        s_per_flop = cluster_s[plan.paths.cluster[host]]
        shares = share(plan.schedule, plan.paths, host, plan.protocol, times=False)
        network = (plan.paths, host)
        times_s, drifts_s, met_s = runs(plan.schedule, shares, plan.protocol, s_per_flop, iterations, network=network)
        unshared: set[int] = set()  # placements on which messages of different steps are not evaluated together
        for i in np.flatnonzero(met_s > _MEET * times_s).tolist():
            followed = plan.meeting.evaluate(plan.paths, host[i], s_per_flop[i], iterations)
            if followed is not None:
                times_s[i], drifts_s[i] = followed
            elif met_s[i] > _MEET_MUCH * times_s[i]:
                unshared.add(i)
        rank_s = plan.flops * s_per_flop
        flags = [plan.flags + (_UNSHARED if i in unshared else ()) for i in range(len(targets))]
        answers = zip(targets, times_s.tolist(), drifts_s.tolist(), rank_s.tolist(), flags, strict=True)
        return [
            self._prediction(
                target,
                time_s,
                drift_s,
                own_s,
                flags=own_flags + self._unseen(target),
                unmeasured=self._unmeasured(target, plan.schedule),
            )
            for target, time_s, drift_s, own_s, own_flags in answers
        ]

    def _prediction(
        self,
        target: Target,
        time_s: float,
        drift_s: float,
        rank_s: list[float],
        *,
        flags: tuple[str, ...],
        unmeasured: tuple[str, ...],
    ) -> Prediction:
        flags += unmeasured
        if drift_s > _ALIKE * time_s:
            flags += ("iterations do not settle: the rest is extrapolated from the last ones evaluated",)
        return Prediction(
            time_s=time_s,
            parts={"compute_s": max(rank_s), "comm_s": time_s - max(rank_s)},
            flags=flags,
            unlike=bool(unmeasured),
            evidence=self._evidence,
            cost=self._cost,
            loads=_loads(target, rank_s, time_s),
        )

    def _unmeasured(self, target: Target, steps: Schedule) -> tuple[str, ...]:
        """Return cautions about paths that were not measured; the platform file is read only for these."""
        if self._platform.network is not None:  # nodes of a generated grid are alike by construction
            return ()
        if target.placement not in self._cautions:
            cautions = unmeasured(self._platform, target.placement, partners(steps))
            more = f"{cautions[-1]}: dpgraph:known models each path of the platform file" if cautions else ""
            self._cautions[target.placement] = (*cautions[:-1], *([more] if cautions else []))
        return self._cautions[target.placement]

    def _unseen(self, target: Target) -> tuple[str, ...]:
        """Return the caution that a large cluster may share links that the measured nodes do not fill."""
        if self._ground is None or target.nranks <= MOST_HOSTS:
            return ()
        used = np.unique(
            self._ground.paths.cluster[[self._number[host] for host in dict.fromkeys(target.placement)]],
            return_counts=True,
        )
        place = PlaceOfLinks(len(self._ground.hosts), len(self._cluster_names))
        names = [
            self._cluster_names[c]
            for c, count in zip(*(part.tolist() for part in used), strict=True)
            if count > MOST_HOSTS and self._ground.paths.capacity_Bps[place.inside(c)] == np.inf
        ]
        if not names:
            return ()
        return (f"shared links that only more than {MOST_HOSTS} nodes of {', '.join(names)} can fill are not detected",)

    @cached_property
    def _ground(self) -> MeasuredPaths | None:
        """The measured network between all hosts of the clusters, only some of which were measured."""
        if self._network is None:
            return None
        ground = measured_paths(self._network, self._sizes)
        some = {name for name, hosts in ground.by_cluster.items() if len(hosts) >= MOST_HOSTS}
        of_cluster = {c.name: [host.name for host in c.hosts] for c in self._platform.clusters if c.name in some}
        return ground.on({name: of_cluster.get(name, hosts) for name, hosts in ground.by_cluster.items()})

    @cached_property
    def _number(self) -> dict[str, int]:
        """The index of each host in use."""
        hosts = self._ground.hosts if self._ground else [host.name for host in self._platform.hosts]
        return {host: i for i, host in enumerate(hosts)}

    @cached_property
    def _cluster_names(self) -> list[str]:
        """The clusters' names in the order of Paths.cluster."""
        used = [self._platform.cluster_of(host).name for host in self._number]
        return list(dict.fromkeys(used))

    @cached_property
    def _probed(self) -> dict[str, float]:
        """Seconds per operation by cluster: HCF's T_cp (eq. 2 to 6) over the flops of the probe's rank there."""
        target, record = self._probe.request.target, self._probe.record
        flops = traffic(target.problem, target.nranks).totals(target.iterations).flops
        return {
            self._platform.cluster_of(host).name: compute_s / rank_flops if rank_flops else np.nan
            for host, compute_s, rank_flops in zip(record.host, record.compute_s, flops.tolist(), strict=True)
        }

    @cached_property
    def _s_per_flop(self) -> np.ndarray:
        """Seconds per flop by cluster; OutOfRange if the probe's rank computes nothing."""
        s_per_flop = np.array([self._probed[name] for name in self._cluster_names])
        if np.isnan(s_per_flop).any():
            name = self._cluster_names[int(np.flatnonzero(np.isnan(s_per_flop))[0])]
            raise OutOfRange(
                f"structural, probe of {self._problem} on {self._platform.name}",
                f"its rank on cluster {name} computes nothing, so the nodes' speed is unknown",
                "Use a predictor that evaluates the program's events, such as dpgraph",
            )
        return s_per_flop

    def _plan(self, nranks: int) -> _Plan:
        if nranks not in self._plans:
            self._plans[nranks] = self._made(nranks)
        return self._plans[nranks]

    def _made(self, nranks: int) -> _Plan:
        declared, steps = traffic(self._problem, nranks), schedule(self._problem, nranks)
        flops = declared.totals(self._problem.iterations_on(nranks)).flops
        if nranks == 1:  # nothing is sent
            nothing = no_paths(self._cluster_numbers(), len(steps.size_bytes))
            return _Plan(steps, nothing, np.zeros(len(steps.size_bytes), np.uint8), flops, ())
        paths, protocol = self._measured_paths(steps)
        return _Plan(steps, paths, protocol, flops, _flags(steps, protocol))

    def _cluster_numbers(self) -> np.ndarray:
        names = {name: i for i, name in enumerate(self._cluster_names)}
        return np.array([names[self._platform.cluster_of(host).name] for host in self._number], np.int32)

    def _measured_paths(self, steps: Schedule) -> tuple[Paths, np.ndarray]:
        """Return the paths between the hosts in use for the sizes that are sent, and the protocol of each size."""
        if self._ground is None:
            raise ValueError(f"{self._problem} sends messages on {self._platform.name}, but their evidence is missing")
        return self._ground.at(steps.size_bytes)


def _flags(steps: Schedule, protocol: np.ndarray) -> tuple[str, ...]:
    if (protocol[steps.plane_size] == SYNCHRONOUS).any():
        return ("senders of a plane wait for its receivers: the delay of the pipeline is only estimated",)
    return ()


def _loads(target: Target, rank_s: Sequence[float], time_s: float) -> dict[str, HostLoad]:
    if target.nodes == target.nranks:
        return {host: HostLoad(own_s, own_s, own_s) for host, own_s in zip(target.placement, rank_s, strict=True)}
    ranks: dict[str, list[float]] = {}
    for host, own_s in zip(target.placement, rank_s, strict=True):
        ranks.setdefault(host, []).append(own_s)
    return {
        host: host_load(sum(own_s), own_s, cores=target.platform.host(host).cores, time_s=time_s)
        for host, own_s in ranks.items()
    }
