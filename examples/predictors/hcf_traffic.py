"""HCF with communication that grows with the traffic of the ranks: docs/tutorials/own-predictor.md.

The computation is that of HCF, eq. (2) to (6), corrected (predictor/hcf.py).  Instead of eq. (7), the probe's
communication time is multiplied by the growth of the busiest rank's traffic, which the project declares for CG, MG, LU,
FT and EP: by the growth of its bytes, as if only bandwidth mattered, and by that of its messages, as if only latency
mattered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gridval.apps.programs.problem import Problem
from gridval.apps.spec.target import Target
from gridval.apps.traffic import declares, traffic
from gridval.apps.traffic.steps import Totals
from gridval.platforms.model.placement import probe_placement
from gridval.predictor.base import Evidence, EvidenceRequest, OutOfRange, Prediction
from gridval.predictor.hcf import Probe, heterogeneity_factor, homogeneous_compute_time, node_compute_time, read_probe

NAME = "hcf-traffic"
Key = tuple[Problem, str]  # problem of a probe, and content hash of its platform


def busiest(totals: Totals) -> tuple[int, int]:
    """Return the most messages and the most bytes that a rank sends to other ranks in an iteration."""
    return int((totals.messages - totals.self_messages).max()), int((totals.bytes - totals.self_bytes).max())


@dataclass(frozen=True)
class HcfTrafficModel:
    """Probes of problems on platforms."""

    probes: Mapping[Key, Probe]

    def predict(self, target: Target) -> Prediction:
        """Return the predicted time and its range.

        Raises:
            OutOfRange: HCF does not apply to the target, or its traffic is not declared.
        """
        where = f"{NAME}, {target.problem} on {target.platform.name}"
        if target.nranks != target.nodes:
            problem = f"{target.nranks} ranks on {target.nodes} nodes, but HCF assumes one rank per node"
            raise OutOfRange(where, problem, "Use one rank per node, or another predictor")
        if not declares(target.problem):
            raise OutOfRange(where, "the traffic of the program is not declared", "Use another predictor, such as hcf")
        probe = self.probes[target.problem, target.platform.content_hash]
        messages, size_bytes = busiest(traffic(target.problem, probe.NCT).totals(1))
        if not messages or not all(probe.Tcp_s.values()):
            raise OutOfRange(where, "a rank of the probe sends or computes nothing", "Use another predictor")
        more_messages, more_bytes = busiest(traffic(target.problem, target.nranks).totals(1))

        homogeneous_s = homogeneous_compute_time(probe.Tcp_slower_s, probe.NCT, target.nodes)
        used = {target.platform.cluster_of(host).name for host in target.placement}
        factors = (heterogeneity_factor(probe.Tcp_slower_s, probe.Tcp_s[cluster]) for cluster in used)
        compute_s = max(node_compute_time(homogeneous_s, factor) for factor in factors)
        growth_bytes, growth_messages = more_bytes / size_bytes, more_messages / messages
        by_bytes_s, by_messages_s = probe.Tcm_s * growth_bytes, probe.Tcm_s * growth_messages
        return Prediction(
            time_s=compute_s + by_bytes_s,
            parts={"compute_s": compute_s, "comm_s": by_bytes_s},
            low_s=compute_s + min(by_bytes_s, by_messages_s),
            high_s=compute_s + max(by_bytes_s, by_messages_s),
            remarks=(f"of the probe's: {growth_bytes:.3g} x bytes, {growth_messages:.3g} x messages",),
            evidence=(probe.evidence,),
            cost=probe.cost,
        )


class HcfTraffic:
    """The predictor: HCF's probe, one rank on one node of each cluster."""

    name = NAME
    # Checks that it may fail, for `gridval predictor check`.
    excuses: ClassVar = {"permuted": "HCF's probe takes the clusters in the order of the platform file"}

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Request a run of each problem on the first node of every cluster."""
        probes = (Target(one.problem, one.platform, probe_placement(one.platform)) for one in targets)
        return [EvidenceRequest("run", probe) for probe in dict.fromkeys(probes)]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Request nothing more."""
        return []

    def fit(self, evidence: Sequence[Evidence]) -> HcfTrafficModel:
        """Return a model with the times from the records of the probes."""
        runs = ((one.request.target, read_probe(one)) for one in evidence)
        return HcfTrafficModel({(run.problem, run.platform.content_hash): probe for run, probe in runs})
