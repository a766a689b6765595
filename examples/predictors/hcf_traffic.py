"""HCF whose communication grows with what ranks send, not with the number of nodes: docs/tutorials/own-predictor.md.

Computation is HCF's, eq. (2) to (6), corrected (predictor/hcf.py).  Instead of its eq. (7) the probe's communication is
multiplied by the growth of what the busiest rank sends, which the project declares for CG, MG, LU, FT and EP:
of its bytes, as if bandwidth were all that counts, and of its messages, as if latency were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.catalog import Problem
from apps.spec import Target
from apps.traffic import declares, traffic
from apps.traffic.steps import Totals
from platforms.placement import probe_placement
from predictor.base import Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.hcf import Probe, heterogeneity_factor, homogeneous_compute_time, node_compute_time, read_probe

NAME = "hcf-traffic"
Key = tuple[Problem, str]  # what a probe is of: a problem, and a platform by its content hash


def busiest(totals: Totals) -> tuple[int, int]:
    """Messages, and bytes, of the ranks that send most to others in an iteration."""
    return int((totals.messages - totals.self_messages).max()), int((totals.bytes - totals.self_bytes).max())


@dataclass(frozen=True)
class HcfTrafficModel:
    """Probes of problems on platforms."""

    probes: Mapping[Key, Probe]

    def predict(self, target: Target) -> Prediction:
        """The time, and between which times it lies.  Raises OutOfRange for what HCF or the traffic does not know."""
        where = f"{NAME}, {target.problem} on {target.platform.name}"
        if target.nranks != target.nodes:
            problem = f"{target.nranks} ranks on {target.nodes} nodes, and it assumes one rank per node"
            raise OutOfRange(where, problem, "Use one rank per node, or another predictor")
        if not declares(target.problem):
            raise OutOfRange(where, "it is not declared what the program sends", "Use another predictor, such as hcf")
        probe = self.probes[target.problem, target.platform.content_hash]
        messages, size_bytes = busiest(traffic(target.problem, probe.NCT).totals(1))
        if not messages or not all(probe.Tcp_s.values()):
            raise OutOfRange(where, "a rank of its probe sends or computes nothing", "Use another predictor")
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

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """A run of each problem on the first node of every cluster."""
        probes = (Target(one.problem, one.platform, probe_placement(one.platform)) for one in targets)
        return [EvidenceRequest("run", probe) for probe in dict.fromkeys(probes)]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Nothing."""
        return []

    def fit(self, evidence: Sequence[Evidence]) -> HcfTrafficModel:
        """Takes the times from the records of the probes."""
        runs = ((one.request.target, read_probe(one)) for one in evidence)
        return HcfTrafficModel({(run.problem, run.platform.content_hash): probe for run, probe in runs})
