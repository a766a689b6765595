"""HPL for the predictor ``structural``: its panels on a measured network (predictor/factorisation).

A recurrence over steps does not describe HPL: with look-ahead, what a rank does next depends on which message has come.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from apps.errors import KernelError
from apps.probes.plan import Measurement
from apps.programs.kernel import named_kernel, rank_rule
from apps.programs.problem import Problem, sized_problem
from apps.spec.target import Target
from platforms.model.platform import Platform
from predictor.answers.energy import host_load
from predictor.base import Cost, Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction

if TYPE_CHECKING:  # NumPy takes long to import
    from predictor.factorisation.evaluate import Evaluated
    from predictor.factorisation.evaluate import Problem as Run
    from predictor.factorisation.machine import Curves, Machine
    from predictor.structural.measured import MeasuredPaths

_ALL_BYTES = 2**62  # instead of infinity
_MOST_HOSTS = 32  # whose network is measured, because the nodes of a cluster are alike
_REMEDY = "Use a predictor that records, such as dpgraph"


def check_panels(target: Target, where: str) -> None:
    """Check that HPL can be evaluated on a target.

    Raises:
        OutOfRange: Its ranks do not fill the process grid, or the nodes are in several clusters.
    """
    if not target.problem.allows(target.nranks):
        raise OutOfRange(
            where, rank_rule(named_kernel(target.problem.name)), "Choose other ranks, or another grid_rows"
        )
    used = Counter(target.platform.cluster_of(host).name for host in target.placement)
    if len(used) > 1:
        problem = f"the nodes are in {len(used)} clusters, and HPL is evaluated in one"
        raise OutOfRange(where, problem, f"Choose the nodes of one cluster. {_REMEDY}")


def alone(problem: Problem) -> Problem:
    """Return the same problem on a process grid of one row, which runs on any number of ranks."""
    try:
        given = dict(problem.params)
        return sized_problem(problem.name, int(given["n"]), nb=given["nb"])
    except KernelError as err:
        raise OutOfRange("structural", err.problem, err.remedy) from err


def few(together: Target) -> Target:
    """Return a target on no more of its hosts than are needed to measure a network of equal nodes."""
    hosts = tuple(dict.fromkeys(together.placement))[:_MOST_HOSTS]
    return Target(alone(together.problem), together.platform, hosts)


def line_request(target: Target, evidence: Sequence[Evidence]) -> EvidenceRequest | None:
    """Return the request for the next messages between two nodes and inside one; None if the evidence suffices.

    Args:
        target: A target on the platform.
        evidence: The measurements of these messages so far.

    Raises:
        OutOfRange: The measured times do not lie on lines.
    """
    # Imported here because they are slow to import.
    from predictor.factorisation.calls import call_plan
    from predictor.network.layout import layout
    from predictor.network.survey import Survey, next_plan

    hosts = tuple(dict.fromkeys(target.placement))[:2]
    pingpongs, calls = _split(evidence)
    if len(hosts) < 2 or calls is not None:
        return None
    both = Target(alone(target.problem), target.platform, hosts)
    plan = next_plan(target.platform, hosts, pingpongs)
    if plan is None:
        plan = call_plan(target.platform, (hosts[0], hosts[1]), Survey(layout(target.platform, hosts), pingpongs))
    return EvidenceRequest("exchange", both, plan=plan)


def _split(lines: Sequence[Evidence]) -> tuple[tuple[Measurement, ...], Measurement | None]:
    """Return the results of the ping-pongs between two nodes, and that of the MPI calls, if any."""
    # Imported here because it is slow to import.
    from predictor.factorisation.calls import has_calls

    calls = next((e.measurement for e in lines if has_calls(e.request.plan)), None)
    return tuple(e.measurement for e in lines if not has_calls(e.request.plan)), calls


@dataclass(frozen=True, eq=False)
class PanelSetting:
    """The evidence on HPL on a platform: the probe, the lines of two nodes' messages, and the network under load."""

    probe: Evidence
    lines: tuple[Evidence, ...]
    network: Evidence | None

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """Return the time of HPL, evaluated message by message.

        Args:
            target: The target.
            slowdown: By cluster, f_max / f of nodes at another frequency than in the probe.

        Raises:
            OutOfRange: The probe computes nothing, or messages share links other than those of single nodes.
        """
        # Imported here because it is slow to import.
        from predictor.factorisation.evaluate import evaluate

        evaluated = evaluate(_run_of(target), self._machine(target, slowdown or {}))
        evidence = [self.probe, *(e for e in (*self.lines, self.network) if e is not None and target.nodes > 1)]
        compute_s = float(evaluated.busy_s.max())
        return Prediction(
            time_s=evaluated.time_s,
            parts={"compute_s": compute_s, "comm_s": evaluated.time_s - compute_s},
            flags=self._flags(target),
            evidence=tuple(e.id for e in evidence),
            cost=sum((e.cost for e in evidence), Cost()),
            loads=_loads(target, evaluated),
        )

    def _machine(self, target: Target, slowdown: Mapping[str, float]) -> Machine:
        # Imported here because they are slow to import.
        import numpy as np

        from predictor.factorisation.machine import Curves, Machine

        number = {host: i for i, host in enumerate(dict.fromkeys(target.placement))}
        node = np.array([number[host] for host in target.placement], np.int64)
        cluster = target.platform.cluster_of(target.placement[0]).name
        gemm_s = np.full(target.nranks, 2 * self._s_per_flop(cluster) * slowdown.get(cluster, 1.0))
        if target.nodes == 1:
            return Machine(node, gemm_s, Curves(((0.0, 0.0, 0.0),), ((0.0, 0.0, 0.0),)))
        at, paths = self._place(cluster), self._ground.paths
        link_Bps = float(paths.capacity_Bps[np.flatnonzero(paths.cluster == at)[0]])
        return Machine(
            node,
            gemm_s,
            self._curves,
            node_Bps=link_Bps,
            memory_Bps=link_Bps if paths.self_shares[at] else np.inf,
            back=float(paths.back[at]),
            seen_early=True,
        )

    def _place(self, cluster: str) -> int:
        """Return the number of a cluster in the measured network; OutOfRange if its nodes share a link."""
        # Imported here because it is slow to import.
        from predictor.structural.paths import PlaceOfLinks

        platform, hosts = self.probe.request.target.platform, self._ground.hosts
        names = list(dict.fromkeys(platform.cluster_of(host).name for host in hosts))
        at = names.index(cluster)
        if self._ground.paths.capacity_Bps[PlaceOfLinks(len(hosts), len(names)).inside(at)] < float("inf"):
            problem = f"the messages between the nodes of {cluster} share a link, which is not modelled"
            raise OutOfRange(f"structural, {self.probe.request.target.problem.name}", problem, _REMEDY)
        return at

    def _s_per_flop(self, cluster: str) -> float:
        record = self.probe.record
        at = [self.probe.request.target.platform.cluster_of(host).name for host in record.host].index(cluster)
        if not record.rank_flops[at] or not record.compute_s[at]:
            where = f"structural, probe of {self.probe.request.target.problem} on {cluster}"
            raise OutOfRange(where, "its rank computes nothing", "Choose a larger matrix")
        return record.compute_s[at] / record.rank_flops[at]

    @cached_property
    def _ground(self) -> MeasuredPaths:
        # Imported here because it is slow to import.
        from predictor.structural.measured import measured_paths

        if self.network is None:
            raise ValueError("evidence of a network comes with targets on several nodes")
        return measured_paths(self.network)

    @cached_property
    def _curves(self) -> Curves:
        target = self.lines[0].request.target
        pingpongs, calls = _split(self.lines)
        return _curves_of(target.platform, target.placement, pingpongs, calls)

    def _flags(self, target: Target) -> tuple[str, ...]:
        """Return cautions about effects that SMPI simulates and the evaluation ignores."""
        given, flags = dict(target.problem.params), []
        if target.nodes > 1:
            pivot_bytes = 8 * (2 + 2 * int(given["nb"]))
            if target.nranks // _columns(target) > 2 and pivot_bytes < self._curves.eager_bytes:
                flags.append("messages with pivots do not compete for the links of nodes")
        if int(given["depth"]):
            flags.append("polls for a panel take no time; in SMPI each failed poll takes 0.1 ms (smpi/iprobe)")
        if target.nodes < target.nranks:
            flags.append("messages inside a node do not compete with those that leave it")
        return tuple(flags)


@lru_cache(maxsize=64)
def _curves_of(
    platform: Platform, hosts: tuple[str, ...], results: tuple[Measurement, ...], calls: Measurement | None
) -> Curves:
    """Return the times of messages between two nodes of a cluster and inside one, from the fitted lines."""
    # Imported here because they are slow to import.
    from predictor.factorisation.calls import Calls, merged
    from predictor.factorisation.machine import Curves
    from predictor.network.layout import layout
    from predictor.network.survey import Survey

    where = layout(platform, hosts)
    survey, (cluster,) = Survey(where, results), where.hosts  # raises the reason if there are no lines
    if calls is None:
        raise ValueError("evidence of the calls of MPI comes with that of the messages")
    curves = Calls(survey, calls)

    def segments(row: int) -> tuple[tuple[float, float, float], ...]:
        line, pieces = survey.lines[row], []
        for gap in (0, *survey.between):
            piece = [line[0], *(candidate for candidate in line[1:] if candidate.first <= gap + 1)][-1]
            from_bytes = survey.above_bytes(gap) if gap else 0.0
            pieces.append((from_bytes, max(0.0, piece.start_s), piece.s_per_byte))
        return tuple(pieces)

    # A message of a node to itself has the same call times, which the ping-pongs between nodes contain as well.
    between, within = segments(survey.row[cluster, cluster]), segments(survey.row[cluster])
    within = merged([(1.0, within), (-1.0, between), (1.0, curves.wire)])
    sender, message = (math.ceil(min(size, _ALL_BYTES)) for size in (survey.waits_from_bytes[0], curves.eager_bytes))
    return Curves(curves.wire, within, curves.sender, curves.receiver, eager_bytes=message, detached_bytes=sender)


def _columns(target: Target) -> int:
    return target.nranks // max(1, int(dict(target.problem.params)["grid_rows"]))


def _run_of(target: Target) -> Run:
    # Imported here because it is slow to import.
    from predictor.factorisation.evaluate import Problem as Run

    given = dict(target.problem.params)
    n, rows = int(given["n"]), max(1, int(given["grid_rows"]))
    # Its exchange sends 2 nb rows at each distance, and it charges the published operations (docs/kernels/index.md).
    return Run(
        n,
        int(given["nb"]),
        rows,
        _columns(target),
        str(given["broadcast"]),
        int(given["depth"]),
        exchanged=2.0,
        operation=(2 / 3 * n**3 + 2 * n**2) / max(1e-9, 2 / 3 * n**3 + 3 / 2 * n**2 - 7 / 6 * n),
    )


def _loads(target: Target, evaluated: Evaluated) -> dict[str, HostLoad]:
    ranks: dict[str, list[float]] = {}
    for host, own_s in zip(target.placement, evaluated.busy_s.tolist(), strict=True):
        ranks.setdefault(host, []).append(own_s)
    return {
        host: host_load(sum(own_s), own_s, cores=target.platform.host(host).cores, time_s=evaluated.time_s)
        for host, own_s in ranks.items()
    }
