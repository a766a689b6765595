"""HCF with communication that grows as a power of the number of nodes, whose exponent two probes give.

Equation (7) of HCF (predictor/hcf.py) is T_cm (N M / NCT)^1, and ``hcf:constant`` the same with exponent 0.  Here the
program is probed on NCT nodes, one of each cluster, and on two of each; the exponent is that of the line through both
communication times in logarithms.

HCF's computation time, with a fitted law for communication in place of equation (7).

T(P) = computation by equations (2) to (6) of HCF, corrected (predictor/hcf.py), plus a non-negative combination of
{1, log P, P, sqrt P, 1/P} fitted to the communication of runs on smaller numbers of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.spec.target import Target
from apps.traffic import runs_on
from platforms.model.placement import Placement
from platforms.model.platform import Platform
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.hcf import Hcf, constant_communication_time, node_compute_time, probed_hosts, read_probe
from predictor.regression.fits import fit_combination
from predictor.regression.smaller_runs import FEW, extrapolation_flags, smaller_runs


def growth_exponent(*, first_s: float, second_s: float, nodes: tuple[int, int]) -> float:
    """Return b for which a time that is first_s and second_s on these two numbers of nodes is a power n^b.

    Communication that doubles from 4 to 8 nodes grows as equation (7) assumes, and that stays does not grow:

    >>> [growth_exponent(first_s=2.0, second_s=second_s, nodes=(4, 8)) for second_s in (4.0, 2.0)]
    [1.0, 0.0]
    """
    return math.log(second_s / first_s) / math.log(nodes[1] / nodes[0])


def second_probe(platform: Platform) -> Placement:
    """Return two nodes of each cluster, or four of a lone cluster, cluster by cluster; fewer where there are fewer."""
    each = 4 if len(platform.clusters) == 1 else 2
    return tuple(host.name for cluster in platform.clusters for host in cluster.hosts[:each])


def _with_communication(
    computation: Prediction, comm_s: float, evidence: Iterable[Evidence], remark: str, flags: tuple[str, ...]
) -> Prediction:
    compute_s, pieces = computation.parts["compute_s"], tuple(evidence)
    return Prediction(
        time_s=compute_s + comm_s,
        parts={"compute_s": compute_s, "comm_s": comm_s},
        flags=flags,
        remarks=(remark,),
        evidence=tuple(piece.id for piece in pieces),
        cost=sum((piece.cost for piece in pieces), Cost()),
        loads=computation.loads,
    )


@dataclass(frozen=True)
class _HcfComputation(AsksOnce):
    name: str

    @property
    def computation(self) -> Hcf:
        """The corrected HCF, which gives the computation time."""
        return Hcf(self.name, node_compute_time, constant_communication_time)


@dataclass(frozen=True)
class HcfGrowthModel:
    """The runs of both probes."""

    predictor: HcfGrowth
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by HCF's computation and the communication of the first probe times (N M / NCT)^b.

        Raises:
            OutOfRange: A node has several ranks, the target is not larger than the second probe, or one probe alone
                communicates.
        """
        evidence = [self.answers[request] for request in self.predictor.probes(target)]
        computation = self.predictor.computation.fit(evidence[:1]).predict(target)
        first, second = map(read_probe, evidence)
        if (first.Tcm_s > 0) != (second.Tcm_s > 0):
            problem = "one of both probes communicates and the other does not: no power goes through both"
            raise OutOfRange(f"{self.predictor.name}, {target}", problem, "Use another predictor")
        exponent = 0.0
        if first.Tcm_s > 0:
            exponent = growth_exponent(first_s=first.Tcm_s, second_s=second.Tcm_s, nodes=(first.NCT, second.NCT))
        comm_s = first.Tcm_s * (target.nodes / first.NCT) ** exponent
        remark = f"communication grows with the nodes to the power of {exponent:.3g}"
        larger = f"{target.nodes} nodes are {target.nodes / second.NCT:.3g} times those of the larger probe"
        return _with_communication(computation, comm_s, evidence, remark, (larger,))


@dataclass(frozen=True)
class HcfGrowth(_HcfComputation):
    """The predictor: HCF's probe, and one on twice as many nodes."""

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for both probes of all targets in range."""
        return requests_in_range(self.probes, targets)

    def fit(self, evidence: Sequence[Evidence]) -> HcfGrowthModel:
        """Return a model that holds the probes."""
        return HcfGrowthModel(self, {piece.request: piece for piece in evidence})

    def probes(self, target: Target) -> list[EvidenceRequest]:
        """Return the requests for the two probes, the smaller one first.

        Raises:
            OutOfRange: A node has several ranks, the target has no more nodes than the second probe, the probes are
                equal, or the program does not run on as many ranks.
        """
        where = f"{self.name}, {target.nranks} ranks on {target.nodes} nodes"
        if target.nranks != target.nodes:
            raise OutOfRange(where, "HCF's computation assumes one rank per node", "Use one rank per node")
        hosts = probed_hosts(target.platform), second_probe(target.platform)
        if not len(hosts[0]) < len(hosts[1]) < target.nodes:
            problem = f"probes on {len(hosts[0])} and {len(hosts[1])} nodes tell no growth up to the target"
            raise OutOfRange(where, problem, "Predict more nodes, or use another predictor")
        asked = target.problem.evenly
        refused = [len(some) for some in hosts if not runs_on(asked, len(some))]
        if refused:
            raise OutOfRange(where, f"{asked} does not run on {refused[0]} ranks, a probe", "Use another predictor")
        return [EvidenceRequest("run", Target(asked, target.platform, some)) for some in hosts]


HCF_GROWTH = HcfGrowth("hcf:growth")


@dataclass(frozen=True)
class HcfNnlsModel:
    """The probe and the measured runs; each prediction fits the law."""

    predictor: HcfNnls
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by HCF's computation and the fitted communication.

        Raises:
            OutOfRange: A node has several ranks, there are too few smaller sizes, or HCF is out of its range.
        """
        requests = self.predictor.runs(target)
        evidence = {request: self.answers[request] for request in (probe_request(target), *requests)}
        computation = self.predictor.computation.fit([evidence[probe_request(target)]]).predict(target)
        runs = [evidence[request] for request in requests]
        ranks = [run.record.ranks for run in runs]
        law = fit_combination(ranks, [read_probe(run).Tcm_s for run in runs])
        comm_s = sum(law.parts(target.nranks).values())
        flags = extrapolation_flags(target, ranks)
        return _with_communication(computation, comm_s, evidence.values(), f"communication {law} s", flags)


@dataclass(frozen=True)
class HcfNnls(_HcfComputation):
    """The predictor: HCF's probe, and smaller runs in which all clusters take part."""

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the probes and runs of all targets in range."""
        return requests_in_range(lambda target: (probe_request(target), *self.runs(target)), targets)

    def fit(self, evidence: Sequence[Evidence]) -> HcfNnlsModel:
        """Return a model that holds the probes and runs."""
        return HcfNnlsModel(self, {piece.request: piece for piece in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """Return the runs to whose communication the law is fitted.

        Raises:
            OutOfRange: A node has several ranks, or there are too few smaller sizes.
        """
        if target.nranks != target.nodes:
            raise OutOfRange(
                f"{self.name}, {target.nranks} ranks on {target.nodes} nodes",
                "HCF's computation assumes one rank per node",
                "Use one rank per node, or another predictor",
            )
        return smaller_runs(target, FEW, predictor=self.name)


def probe_request(target: Target) -> EvidenceRequest:
    """Return the request for HCF's probe of the target's platform."""
    return EvidenceRequest("run", Target(target.problem, target.platform, probed_hosts(target.platform)))


HCF_NNLS = HcfNnls("hcf:nnls")
