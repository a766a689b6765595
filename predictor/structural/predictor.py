"""The predictor ``structural``: run times from a program's structure, a probe and some messages.

Evidence: a run on one node per cluster, as for HCF, which shows the time of an operation on each cluster's nodes;
messages between a few of the target's nodes, which show latency and rate of each kind of path and the shared links; and
messages of the program's own sizes between two nodes.  No run has as many ranks as the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apps.errors import KernelError
from apps.probes.network.measure import LateReceive
from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.traffic import DECLARED, declares, traffic
from platforms.model.placement import probe_placement
from platforms.model.platform import Platform
from predictor.base import Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import in_range, one_per_platform

if TYPE_CHECKING:  # NumPy takes long to import
    from predictor.structural.setting import Setting

NAME = "structural"


@dataclass(frozen=True)
class StructuralModel:
    """The evidence on each problem on each platform (by content hash)."""

    name: str
    settings: Mapping[tuple[Problem, str], Setting]

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """Return the recurrence's time.

        Args:
            target: The target.
            slowdown: By cluster, f_max / f of nodes that compute at another frequency than in the probe.

        Raises:
            OutOfRange: The traffic of the program is not declared, the program refuses the number of ranks, a host has
                more ranks than cores, several ranks are all on one host, or the network's messages show no rate.
        """
        check_range(target)
        return self.settings[target.problem, target.platform.content_hash].predict([target], slowdown)[0]

    def predict_many(self, targets: Sequence[Target]) -> list[Prediction | OutOfRange]:
        """Return the predictions of many targets; OutOfRange is returned, not raised.

        Targets that differ only in their placement are evaluated together.
        """
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
    """Check that the model describes a target.

    Raises:
        OutOfRange: It does not (see ``StructuralModel.predict``).
    """
    where = f"{NAME}, {target.problem.on(target.nranks)}"
    if not declares(target.problem):
        problem = f"the messages of {target.problem.name} are not declared"
        remedy = f"Use one of {', '.join(DECLARED)}, or a predictor that records, such as dpgraph"
        raise OutOfRange(where, problem, remedy)
    try:
        traffic(target.problem, target.nranks)
    except KernelError as err:
        raise OutOfRange(where, err.problem, err.remedy) from err
    for host, ranks in Counter(target.placement).items():
        if ranks > 1 and ranks > target.platform.host(host).cores:
            problem = f"{ranks} ranks share the {target.platform.host(host).cores} cores of {host}"
            raise OutOfRange(where, problem, "Use at most one rank per core, or another predictor")
    if target.nodes == 1 and target.nranks > 1:
        problem = f"all ranks are on {target.placement[0]}"
        raise OutOfRange(where, problem, "Use at least two hosts, or another predictor")


@dataclass(frozen=True)
class Structural:
    """The predictor: a probe per problem and platform, the network of each platform, sizes per problem and platform."""

    name: str = NAME

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for probes and networks."""
        known = _described(targets)
        probes = dict.fromkeys(Target(t.problem, t.platform, probe_placement(t.platform)) for t in known)
        asked = [EvidenceRequest("run", probe) for probe in probes]
        return asked + [_network_request(together) for together in one_per_platform(known) if together.nodes > 1]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return the requests for messages of the problems' own sizes."""
        if any(_has_sizes(e) for e in evidence):
            return []
        asked = []
        known = _described(targets)
        for network in filter(_is_network, evidence):
            here = [t for t in known if t.platform.content_hash == network.request.target.platform.content_hash]
            for problem in dict.fromkeys(t.problem for t in here):
                ranks = sorted({t.nranks for t in here if t.problem == problem})
                with suppress(OutOfRange):  # predict raises it again
                    asked += _size_requests(network, problem, ranks)
        return asked

    def fit(self, evidence: Sequence[Evidence]) -> StructuralModel:
        """Return the model from all evidence."""
        # Imported here for a quick start: it is slow to import.
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
    # Imported here for a quick start: they are slow to import.
    from predictor.network.survey import layout
    from predictor.structural.sharing_survey import network_plan

    plan = network_plan(together.platform, layout(together.platform, together.placement))
    return EvidenceRequest("exchange", together, plan=plan)


def _size_requests(network: Evidence, problem: Problem, ranks: Sequence[int]) -> list[EvidenceRequest]:
    """Return the request for the sizes that a problem sends on these numbers of ranks; none if it sends nothing."""
    # Imported here for a quick start: they are slow to import.
    from predictor.structural.schedule import sizes_to_measure
    from predictor.structural.setting import where_of
    from predictor.structural.sharing_survey import MOST_SIZES, read_lines, size_plan

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
    return plan is not None and isinstance(plan.experiments[-1], LateReceive)


def _is_network(evidence: Evidence) -> bool:
    return not _is_probe(evidence) and not _has_sizes(evidence)


STRUCTURAL = Structural()
