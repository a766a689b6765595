"""HCF, the heterogeneous computing factor.

A. Fanfakh, "Predicting the Performance of MPI Applications over Different Grid Architectures", Journal of University of
Babylon, 2019.  The grid has N clusters of M nodes; a probe runs the same problem on NCT nodes, one per cluster.  The
model assumes one rank per node, computation that shrinks in proportion to the number of nodes, and communication that
grows in proportion to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.traffic import work_shares
from platforms.model.placement import Placement, probe_placement
from platforms.model.platform import Platform
from predictor.answers.regime import holds_from
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction

# Limit for programs that the validity map does not know.  Below this share of computation in the prediction the paper's
# accuracy cannot be expected, because its runs are dominated by computation (docs/predictors/hcf.md).
REGIME_COMPUTE_SHARE = 0.5


def sequential_compute_time(Tcp_slower_s: float, NCT: int) -> float:
    """Eq. (2), s: Tcp_slower NCT, the computation time of the slowest probe task times the number of tasks."""
    return Tcp_slower_s * NCT


def homogeneous_compute_time(Tcp_slower_s: float, NCT: int, nodes: int) -> float:
    """Eq. (3), s: Tcp_slower NCT / (N M), with nodes = N M.

    The paper's Grid 4*8 has four probed nodes, of which the slowest computes 7 s, and 32 nodes:

    >>> homogeneous_compute_time(7.0, NCT=4, nodes=32)
    0.875
    """
    return sequential_compute_time(Tcp_slower_s, NCT) / nodes


def heterogeneity_factor(Tcp_slower_s: float, Tcp_s: float) -> float:
    """Eq. (4): Tcp_slower / Tcp_ij, which is 1 for the slowest node and larger for a faster one."""
    return Tcp_slower_s / Tcp_s


def node_compute_time_as_printed(Tcp_homo_s: float, HCF: float) -> float:
    """Eq. (5) as printed, s: Tcp_homo HCF.  A faster node gets a longer time, so the fastest determines eq. (6)."""
    return Tcp_homo_s * HCF


def node_compute_time(Tcp_homo_s: float, HCF: float) -> float:
    """Eq. (5) corrected, s: Tcp_homo / HCF, so that the slowest node determines eq. (6)."""
    return Tcp_homo_s / HCF


def communication_time(Tcm_s: float, NCT: int, nodes: int) -> float:
    """Eq. (7), s: Tcm N M / NCT.  Growth with the number of nodes is the paper's assumption, not a law."""
    return Tcm_s * nodes / NCT


def constant_communication_time(Tcm_s: float, NCT: int, nodes: int) -> float:
    """Replacement for eq. (7), s: the communication time of the probe, for any number of nodes."""
    return Tcm_s


@dataclass(frozen=True)
class Probe:
    """Inputs of HCF from a run on one node per cluster."""

    Tcp_s: Mapping[str, float]  # computation time by cluster, of its slowest probed node
    Tcm_s: float  # elapsed time minus computation of the rank that computes longest: communication without slack
    NCT: int  # number of the probe's nodes: of clusters, and two for a lone cluster
    evidence: str
    cost: Cost

    @property
    def Tcp_slower_s(self) -> float:
        """Computation time of the slowest node, s."""
        return max(self.Tcp_s.values())


def probed_hosts(platform: Platform) -> Placement:
    """Return the first node of each cluster, or two of a lone cluster: one node alone has no communication."""
    alone = len(platform.clusters) == 1
    return tuple(h.name for h in platform.clusters[0].hosts[:2]) if alone else probe_placement(platform)


def read_probe(evidence: Evidence) -> Probe:
    """Return the probe's times from the record of its run."""
    record, platform = evidence.record, evidence.request.target.platform
    slowest = max(range(record.ranks), key=lambda rank: record.compute_s[rank])
    Tcp_s: dict[str, float] = {}
    for host, compute_s in zip(record.host, record.compute_s, strict=True):
        cluster = platform.cluster_of(host).name
        Tcp_s[cluster] = max(compute_s, Tcp_s.get(cluster, 0.0))
    return Probe(Tcp_s=Tcp_s, Tcm_s=record.comm_s[slowest], NCT=record.ranks, evidence=evidence.id, cost=evidence.cost)


@dataclass(frozen=True)
class HcfModel:
    """Fitted HCF: the probes of problems on platforms."""

    name: str
    node_time: Callable[[float, float], float]  # eq. (5), as printed or corrected
    comm_time: Callable[[float, int, int], float]  # eq. (7) or its replacement
    probes: Mapping[tuple[Problem, str], Probe]  # by problem and content hash of the platform

    def probe(self, target: Target) -> Probe:
        """Return the probe from which the target is predicted."""
        return self.probes[target.problem.evenly, target.platform.content_hash]

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """Predict by eq. (8): the largest eq. (5) over the target's nodes, plus eq. (7).

        A node with an unequal share of the work takes its share of eq. (2) in place of 1 / (N M) in eq. (3).

        Args:
            target: The target, with one rank per node.
            slowdown: f_max / f by cluster, for nodes that compute at another frequency than when probed; this factor
                lengthens eq. (5) and leaves eq. (7) as it is (predictor/clock).

        Raises:
            OutOfRange: A node has more than one rank, or some ranks of the probe compute and others do not: eq. (4) has
                no value for a node that takes no time.
        """
        nodes = target.nodes
        if target.nranks != nodes:
            raise OutOfRange(
                f"{self.name}, {target.nranks} ranks on {nodes} nodes",
                "the model assumes one rank per node",
                "Use one rank per node, or another predictor",
            )
        probe = self.probe(target)
        homogeneous_s = homogeneous_compute_time(probe.Tcp_slower_s, probe.NCT, nodes)
        used = {target.platform.cluster_of(host).name for host in target.placement}
        if probe.Tcp_slower_s > 0:
            idle = sorted(cluster for cluster in used if not probe.Tcp_s[cluster])
            if idle:
                raise OutOfRange(
                    f"{self.name}, probe of {target.problem} on {target.platform.name}",
                    f"its rank on cluster {idle[0]} computes nothing, and eq. (4) divides by its computation time",
                    "Use a predictor that follows the program's events, such as dpgraph",
                )
            factors = {cluster: heterogeneity_factor(probe.Tcp_slower_s, probe.Tcp_s[cluster]) for cluster in used}
            cluster_s = {cluster: self.node_time(homogeneous_s, factor) for cluster, factor in factors.items()}
        else:  # communication only
            cluster_s = dict.fromkeys(used, 0.0)
        slower = slowdown or {}
        cluster_s = {cluster: time_s * slower.get(cluster, 1.0) for cluster, time_s in cluster_s.items()}
        node_s = _node_times(target, cluster_s)
        compute_s = max(node_s.values())
        comm_s = self.comm_time(probe.Tcm_s, probe.NCT, nodes)
        return Prediction(
            time_s=compute_s + comm_s,
            parts={"compute_s": compute_s, "comm_s": comm_s},
            flags=_flags(probe, nodes, compute_s, comm_s, _regime(self.name, target)),
            evidence=(probe.evidence,),
            cost=probe.cost,
            loads={host: HostLoad(time_s, time_s, time_s) for host, time_s in node_s.items()},
        )


def _node_times(target: Target, cluster_s: Mapping[str, float]) -> dict[str, float]:
    """Return the time of each node, whose share of the work may be larger or smaller than 1 / (N M)."""
    of_host = {host: cluster_s[target.platform.cluster_of(host).name] for host in target.placement}
    if not target.problem.shares:
        return of_host

    parts = work_shares(target.problem, target.nranks) * target.nranks
    return {host: of_host[host] * part for host, part in zip(target.placement, parts.tolist(), strict=True)}


def _regime(name: str, target: Target) -> float:
    """Return the compute share from which on a prediction's error is usually tolerable; infinite: never."""
    known = None if target.problem.program is not None else holds_from(name, target.problem.name)
    return REGIME_COMPUTE_SHARE if known is None else known


def _flags(probe: Probe, nodes: int, compute_s: float, comm_s: float, regime: float) -> tuple[str, ...]:
    if nodes < probe.NCT:
        return (f"the probe has more nodes ({probe.NCT}) than the target ({nodes}): outside HCF's regime",)
    share = compute_s / (compute_s + comm_s) if compute_s > 0 else 0.0
    if share >= regime:
        return ()
    return (f"compute share {100 * share:.0f} %: outside HCF's regime",)


@dataclass(frozen=True)
class Hcf(AsksOnce):
    """The HCF predictor: one probe per problem and platform."""

    name: str
    node_time: Callable[[float, float], float]
    comm_time: Callable[[float, int, int], float]
    unequal_shares = True

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the probe of every problem on every platform."""
        probes = (Target(t.problem.evenly, t.platform, probed_hosts(t.platform)) for t in targets)
        return [EvidenceRequest("run", probe) for probe in dict.fromkeys(probes)]

    def fit(self, evidence: Sequence[Evidence]) -> HcfModel:
        """Return the model that holds the probes."""
        probes = {(e.request.target.problem, e.request.target.platform.content_hash): read_probe(e) for e in evidence}
        return HcfModel(self.name, self.node_time, self.comm_time, probes)


HCF_PRINTED = Hcf("hcf:printed", node_compute_time_as_printed, communication_time)
HCF = Hcf("hcf", node_compute_time, communication_time)
HCF_CONSTANT = Hcf("hcf:constant", node_compute_time, constant_communication_time)
