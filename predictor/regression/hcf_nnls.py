"""HCF's computation time, with a fitted law for communication in place of equation (7).

T(P) = computation by equations (2) to (6) of HCF, corrected (predictor/hcf.py), plus a non-negative combination of
{1, log P, P, sqrt P, 1/P} fitted to the communication of runs on smaller numbers of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.spec.target import Target
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.hcf import Hcf, constant_communication_time, node_compute_time, probed_hosts, read_probe
from predictor.regression.flags import extrapolation_flags
from predictor.regression.smaller_runs import FEW, smaller_runs
from predictor.regression.terms import fit_combination


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
        compute_s = computation.parts["compute_s"]
        runs = [evidence[request] for request in requests]
        ranks = [run.record.ranks for run in runs]
        law = fit_combination(ranks, [read_probe(run).Tcm_s for run in runs])
        comm_s = sum(law.parts(target.nranks).values())
        return Prediction(
            time_s=compute_s + comm_s,
            parts={"compute_s": compute_s, "comm_s": comm_s},
            flags=extrapolation_flags(target, ranks),
            remarks=(f"communication {law} s",),
            evidence=tuple(piece.id for piece in evidence.values()),
            cost=sum((piece.cost for piece in evidence.values()), Cost()),
            loads=computation.loads,
        )


@dataclass(frozen=True)
class HcfNnls:
    """The predictor: HCF's probe, and smaller runs in which all clusters take part."""

    name: str

    @property
    def computation(self) -> Hcf:
        """The corrected HCF, which gives the computation time."""
        return Hcf(self.name, node_compute_time, constant_communication_time)

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the probes and runs of all targets in range."""
        return requests_in_range(lambda target: (probe_request(target), *self.runs(target)), targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return no requests: the probe and the runs are enough."""
        return []

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
