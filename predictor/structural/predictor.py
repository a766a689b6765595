"""The predictor ``structural``: what a program's structure, a probe and some messages say of its run time.

Evidence: a run on one node per cluster, as HCF's, for how long a cluster's nodes take for an operation; messages
between a few of the target's nodes, for latency and rate of each kind of path and for what is shared; messages of the
program's own sizes between two nodes.  No run on as many ranks as the target has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apps.catalog import Problem
from apps.errors import KernelError
from apps.netprobe.measure import Late
from apps.spec import Target
from apps.traffic import DECLARED, declares, traffic
from platforms.placement import probe_placement
from platforms.platform import Platform
from predictor.base import Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.targets import in_range, one_per_platform

if TYPE_CHECKING:  # NumPy and numba take their time
    from predictor.structural.setting import Setting

NAME = "structural"


@dataclass(frozen=True)
class StructuralModel:
    """What is known of each problem on each platform (by content hash)."""

    name: str
    settings: Mapping[tuple[Problem, str], Setting]

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """The recurrence's time.

        ``slowdown``: by cluster, f_max / f of nodes that compute at another frequency than they were probed at.

        Raises OutOfRange for programs whose traffic is not declared, for numbers of ranks that the program refuses, for
        more ranks on a host than it has cores, for several ranks that are all on one host, and for networks whose
        messages show no rate.
        """
        check_range(target)
        return self.settings[target.problem, target.platform.content_hash].predict([target], slowdown)[0]

    def predict_many(self, targets: Sequence[Target]) -> list[Prediction | OutOfRange]:
        """The same of many, those alike but for their placement together; OutOfRange is returned, not raised."""
        found: dict[int, Prediction | OutOfRange] = {}
        groups: dict[tuple[Problem, str, int], list[int]] = {}
        for i, target in enumerate(targets):
            try:
                check_range(target)
                groups.setdefault((target.problem, target.platform.content_hash, target.nranks), []).append(i)
            except OutOfRange as err:
                found[i] = err
        for (problem, platform, _), members in groups.items():
            try:
                predictions = self.settings[problem, platform].predict([targets[i] for i in members])
                found |= dict(zip(members, predictions, strict=True))
            except OutOfRange as err:
                found |= dict.fromkeys(members, err)
        return [found[i] for i in range(len(targets))]


def check_range(target: Target) -> None:
    """Raises OutOfRange for a target that the model does not describe."""
    where = f"{NAME}, {target.problem} on {target.nranks} ranks"
    if not declares(target.problem):
        problem = f"what {target.problem.app} sends to whom is not declared"
        raise OutOfRange(where, problem, f"Take one of {', '.join(DECLARED)}, or a predictor that records, as dpgraph")
    try:
        traffic(target.problem, target.nranks)
    except KernelError as err:
        raise OutOfRange(where, err.problem, err.remedy) from err
    for host, ranks in Counter(target.placement).items():
        if ranks > 1 and ranks > target.platform.host(host).cores:
            problem = f"{ranks} ranks share the {target.platform.host(host).cores} cores of {host}"
            raise OutOfRange(where, problem, "Use at most one rank per core, or another predictor")
    if target.nodes == 1 and target.nranks > 1:
        raise OutOfRange(where, f"all are on {target.placement[0]}", "Use two hosts at least, or another predictor")


@dataclass(frozen=True)
class Structural:
    """The predictor: a probe per problem and platform, the network of each platform, sizes per problem and platform."""

    name: str = NAME

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        known = _described(targets)
        probes = dict.fromkeys(Target(t.problem, t.platform, probe_placement(t.platform)) for t in known)
        asked = [EvidenceRequest("run", probe) for probe in probes]
        return asked + [_network_request(together) for together in one_per_platform(known) if together.nodes > 1]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        if any(_has_sizes(e) for e in evidence):
            return []
        asked = []
        known = _described(targets)
        for network in filter(_is_network, evidence):
            here = [t for t in known if t.platform.content_hash == network.request.target.platform.content_hash]
            for problem in dict.fromkeys(t.problem for t in here):
                ranks = sorted({t.nranks for t in here if t.problem == problem})
                with suppress(OutOfRange):  # said by predict
                    asked += _size_requests(network, problem, ranks)
        return asked

    def fit(self, evidence: Sequence[Evidence]) -> StructuralModel:
        from predictor.structural.setting import Setting

        networks = {_platform(e).content_hash: e for e in evidence if _is_network(e)}
        sizes = {(e.request.target.problem, _platform(e).content_hash): e for e in evidence if _has_sizes(e)}
        probes = {(e.request.target.problem, _platform(e).content_hash): e for e in evidence if _is_probe(e)}
        return StructuralModel(
            self.name,
            {key: Setting(probe, networks.get(key[1]), sizes.get(key)) for key, probe in probes.items()},
        )


def _described(targets: Sequence[Target]) -> list[Target]:
    return [target for target, _ in in_range(check_range, targets)]


def _network_request(together: Target) -> EvidenceRequest:
    from predictor.dpgraph.survey import layout
    from predictor.structural.survey import network_plan

    plan = network_plan(together.platform, layout(together.platform, together.placement))
    return EvidenceRequest("exchange", together, plan=plan)


def _size_requests(network: Evidence, problem: Problem, ranks: Sequence[int]) -> list[EvidenceRequest]:
    """For the sizes that a problem sends on so many ranks; none where it sends nothing."""
    from predictor.structural.schedule import sizes_to_measure
    from predictor.structural.setting import where_of
    from predictor.structural.survey import MOST_SIZES, read_lines, size_plan

    target = network.request.target
    where, sizes = where_of(network), sizes_to_measure(problem, ranks, most=MOST_SIZES)
    if not sizes:
        return []
    plan = size_plan(target.platform, where, read_lines(where, network.measurement), sizes)
    return [EvidenceRequest("exchange", replace(target, problem=problem), plan=plan)]


def _platform(evidence: Evidence) -> Platform:
    return evidence.request.target.platform


def _is_probe(evidence: Evidence) -> bool:
    return evidence.request.kind == "run"


def _has_sizes(evidence: Evidence) -> bool:
    plan = evidence.request.plan
    return plan is not None and isinstance(plan.experiments[-1], Late)


def _is_network(evidence: Evidence) -> bool:
    return not _is_probe(evidence) and not _has_sizes(evidence)


STRUCTURAL = Structural()
