"""HCF's computation, and a law for communication in place of its equation (7).

T(P) = computation by equations (2) to (6) of HCF, corrected (predictor/hcf.py), plus a non-negative combination of
{1, log P, P, sqrt P, 1/P} fitted to the communication of runs on smaller numbers of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.spec import Target
from platforms.placement import probe_placement
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.hcf import Hcf, constant_communication_time, node_compute_time, read_probe
from predictor.regression.flags import extrapolation_flags
from predictor.regression.smaller_runs import FEW, smaller_runs
from predictor.regression.terms import fit_combination
from predictor.targets import requests_in_range


@dataclass(frozen=True)
class HcfNnlsModel:
    """Answers to all requests."""

    predictor: HcfNnls
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Raises OutOfRange for several ranks on a node, for too few smaller sizes, and where HCF does."""
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
            evidence=tuple(one.id for one in evidence.values()),
            cost=sum((one.cost for one in evidence.values()), Cost()),
            loads=computation.loads,
        )


@dataclass(frozen=True)
class HcfNnls:
    """The predictor: HCF's probe, and the smallest runs in which all clusters take part."""

    name: str

    @property
    def computation(self) -> Hcf:
        """HCF corrected, of which the computation is taken."""
        return Hcf(self.name, node_compute_time, constant_communication_time)

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """The runs for all targets that are in range; for the others none."""
        return requests_in_range(lambda target: (probe_request(target), *self.runs(target)), targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> HcfNnlsModel:
        return HcfNnlsModel(self, {one.request: one for one in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """Those that communication is fitted to.  Raises OutOfRange as ``HcfNnlsModel.predict`` does."""
        if target.nranks != target.nodes:
            raise OutOfRange(
                f"{self.name}, {target.nranks} ranks on {target.nodes} nodes",
                "HCF's computation assumes one rank per node",
                "Use one rank per node, or another predictor",
            )
        return smaller_runs(target, FEW, predictor=self.name)


def probe_request(target: Target) -> EvidenceRequest:
    """HCF's probe of the target's platform."""
    return EvidenceRequest("run", Target(target.problem, target.platform, probe_placement(target.platform)))


HCF_NNLS = HcfNnls("hcf-nnls")
