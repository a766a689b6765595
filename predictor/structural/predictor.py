"""The predictor ``structural``: run times from a program's structure, a probe and some messages.

Evidence: a run on one node per cluster, as for HCF, which shows the time of an operation on each cluster's nodes;
messages between a few of the target's nodes, which show latency and rate of each kind of path and the shared links; and
messages of the program's own sizes between two nodes.  No run has as many ranks as the target.  HPL is evaluated panel
by panel instead, by an add-on (predictor/factorisation/panels.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from apps.errors import KernelError
from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.traffic import accepts, describes, known_names, traffic
from platforms.addons import is_there, provided
from platforms.model.placement import probe_placement
from platforms.model.platform import Platform
from platforms.wording import number_of
from predictor.base import Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import in_range, one_per_platform
from predictor.structural.notes import follows, notes, panel_names

if TYPE_CHECKING:  # NumPy takes long to import
    from predictor.structural.setting import Setting

NAME = "structural"
_RECORD = "Use a predictor that records, such as dpgraph"
_PANELS = "predictor.factorisation.panels"  # an add-on


class Followed(Protocol):
    """The evidence on a program that is evaluated panel by panel (predictor/factorisation/panels.py)."""

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """Return the predicted time of a target."""


def _panels() -> Any:
    return provided(_PANELS)


@dataclass(frozen=True)
class StructuralModel:
    """The evidence on each problem on each platform (by content hash)."""

    name: str
    settings: dict[tuple[Problem, str], Setting]
    panels: Mapping[tuple[Problem, str], Followed]  # by the problem of the probe

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """Return the predicted time of a target.

        Args:
            target: The target.
            slowdown: By cluster, f_max / f of nodes that compute at another frequency than in the probe.

        Raises:
            OutOfRange: The traffic of the program is not declared, the program refuses the number of ranks, a host has
                more ranks than cores, several ranks are all on one host, or the network's messages show no rate.
        """
        check_range(target)
        if follows(target.problem):
            return self._followed(target, slowdown)
        return self._setting(target.problem, target.platform.content_hash).predict([target], slowdown)[0]

    def _setting(self, problem: Problem, platform: str) -> Setting:
        """Return the evidence; that of an even problem also serves uneven ones without messages of their own."""
        if (problem, platform) not in self.settings:
            self.settings[problem, platform] = self.settings[problem.evenly, platform].of(problem)
        return self.settings[problem, platform]

    def _followed(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        return self.panels[_panels().alone(target.problem), target.platform.content_hash].predict(target, slowdown)

    def predict_many(self, targets: Sequence[Target]) -> list[Prediction | OutOfRange]:
        """Return the predictions of many targets; OutOfRange is returned, not raised.

        Targets that differ only in their placement are evaluated together.
        """
        answers: dict[int, Prediction | OutOfRange] = {}
        groups: dict[tuple[Problem, str, int], list[int]] = {}
        for i, target in enumerate(targets):
            try:
                check_range(target)
                if follows(target.problem):
                    answers[i] = self._followed(target)
                    continue
                groups.setdefault((target.problem, target.platform.content_hash, target.nranks), []).append(i)
            except OutOfRange as err:
                answers[i] = err
        for (problem, platform, _), members in groups.items():
            try:
                predictions = self._setting(problem, platform).predict([targets[i] for i in members])
                answers |= dict(zip(members, predictions, strict=True))
            except OutOfRange as err:
                answers |= dict.fromkeys(members, err)
        return [answers[i] for i in range(len(targets))]


def check_range(target: Target) -> None:
    """Check that the model describes a target.

    Raises:
        OutOfRange: It does not (see ``StructuralModel.predict``).
    """
    where = f"{NAME}, {target.problem.on(target.nranks)}"
    if follows(target.problem):
        if not is_there(_PANELS):
            problem = f"{target.problem.name} is evaluated panel by panel, and the add-on for that is not installed"
            raise OutOfRange(where, problem, _RECORD)
        _panels().check_panels(target, where)
    else:
        _check_traffic(target, where)
    for host, ranks in Counter(target.placement).items():
        if ranks > 1 and ranks > target.platform.host(host).cores:
            problem = f"{ranks} ranks share the {target.platform.host(host).cores} cores of {host}"
            raise OutOfRange(where, problem, "Use at most one rank per core, or another predictor")
    if target.nodes == 1 and target.nranks > 1:
        problem = f"all ranks are on {target.placement[0]}"
        raise OutOfRange(where, problem, "Use at least two hosts, or another predictor")


def _check_traffic(target: Target, where: str) -> None:
    """Refuse a program whose traffic is not known, or that does not run on the target's ranks or on the probe's."""
    problem = target.problem
    if reason := notes(problem).refused:
        raise OutOfRange(where, reason, _RECORD)
    if not describes(problem):
        remedy = f"Use one of {', '.join(sorted((*known_names(), *panel_names())))}, or a predictor that records"
        raise OutOfRange(where, f"the messages of {problem.name} are not declared", f"{remedy}, such as dpgraph")
    try:
        traffic(problem, target.nranks)
    except KernelError as err:
        raise OutOfRange(where, err.problem, err.remedy) from err
    probe = probe_placement(target.platform)
    if not accepts(problem.evenly, len(probe)):
        reason = f"the probe, one rank on each of {number_of(len(probe), 'cluster')}, is refused by {problem.name}"
        raise OutOfRange(where, reason, _RECORD)


@dataclass(frozen=True)
class Structural:
    """The predictor: a probe per problem and platform, the network of each platform, sizes per problem and platform."""

    name: str = NAME
    unequal_shares = True

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for probes and networks."""
        known = _described(targets)
        probes = dict.fromkeys(Target(_probed(t.problem), t.platform, probe_placement(t.platform)) for t in known)
        asked = [EvidenceRequest("run", probe) for probe in probes]
        asked += [_network_request(together) for together in _networks(known) if together.nodes > 1]
        return list(dict.fromkeys(asked + _line_requests(known, ())))

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return the requests for messages of the problems' sizes, and for those that refine HPL's lines."""
        known = _described(targets)
        asked = _line_requests(known, evidence)
        known = [t for t in known if not follows(t.problem)]
        if any(_has_sizes(e) for e in evidence):
            return asked
        for network in (e for e in evidence if _is_network(e) and not _is_line(e)):
            here = [t for t in known if t.platform.content_hash == network.request.target.platform.content_hash]
            for problem in dict.fromkeys(t.problem for t in here):
                ranks = sorted({t.nranks for t in here if t.problem == problem})
                with suppress(OutOfRange):  # predict raises it again
                    asked += _size_requests(network, problem, ranks)
        return asked

    def fit(self, evidence: Sequence[Evidence]) -> StructuralModel:
        """Return the model from all evidence."""
        # Imported here because it is slow to import.
        from predictor.structural.setting import Setting

        # Of HPL on two nodes, the first messages between them are also those of its network.
        found = sorted(filter(_is_network, evidence), key=_is_line, reverse=True)
        networks = {_platform(e).content_hash: e for e in found}
        sizes = {(e.request.target.problem, _platform(e).content_hash): e for e in evidence if _has_sizes(e)}
        probes = {(e.request.target.problem, _platform(e).content_hash): e for e in evidence if _is_probe(e)}
        lines: dict[str, list[Evidence]] = {}
        for line in filter(_is_line, evidence):
            lines.setdefault(_platform(line).content_hash, []).append(line)
        settings: dict[tuple[Problem, str], Setting] = {}
        panels: dict[tuple[Problem, str], Followed] = {}
        for key, probe in probes.items():
            if follows(key[0]):
                panels[key] = _panels().PanelSetting(probe, tuple(lines.get(key[1], ())), networks.get(key[1]))
            else:
                settings[key] = Setting(probe, networks.get(key[1]), sizes.get(key), key[0])
        for (problem, platform), measured in sizes.items():
            probe = probes[problem.evenly, platform]
            settings[problem, platform] = Setting(probe, networks.get(platform), measured, problem)
        return StructuralModel(self.name, settings, panels)


def _described(targets: Sequence[Target]) -> list[Target]:
    return [target for target, _ in in_range(check_range, targets)]


def _probed(problem: Problem) -> Problem:
    if not follows(problem):
        return problem.evenly
    alone: Problem = _panels().alone(problem)
    return alone


def _networks(known: Sequence[Target]) -> list[Target]:
    """Return the hosts whose network is measured, by platform: some of each cluster, fewer if only HPL is predicted."""
    # Imported here because it is slow to import.
    from predictor.structural.measured import sampled

    together = [sampled(target) for target in one_per_platform([t for t in known if not follows(t.problem)])]
    measured = {target.platform.content_hash for target in together}
    panels = one_per_platform([target for target in known if follows(target.problem)])
    return together + [_panels().few(target) for target in panels if target.platform.content_hash not in measured]


def _line_requests(known: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
    """Return the next requests for the lines of HPL's messages, on each platform."""
    first = {target.platform.content_hash: target for target in reversed(known) if follows(target.problem)}
    asked = []
    for key, target in first.items():
        lines = [e for e in evidence if _platform(e).content_hash == key and _is_line(e)]
        with suppress(OutOfRange):  # predict raises it again
            asked.append(_panels().line_request(target, lines))
    return [request for request in asked if request is not None]


def _network_request(together: Target) -> EvidenceRequest:
    # Imported here because it is slow to import.
    from predictor.network.survey import next_plan

    return EvidenceRequest("exchange", together, plan=next_plan(together.platform, together.placement, deep=False))


def _size_requests(network: Evidence, problem: Problem, ranks: Sequence[int]) -> list[EvidenceRequest]:
    """Return the request for sizes that a problem sends whose lines are not known; none if all are."""
    # Imported here because they are slow to import.
    from predictor.network.survey import next_plan
    from predictor.structural.schedule import sizes_to_measure

    target, sizes = network.request.target, sizes_to_measure(problem, ranks)
    plan = next_plan(target.platform, target.placement, [network.measurement], deep=False, sizes=sizes)
    return [] if plan is None else [EvidenceRequest("exchange", replace(target, problem=problem), plan=plan)]


def _platform(evidence: Evidence) -> Platform:
    return evidence.request.target.platform


def _is_probe(evidence: Evidence) -> bool:
    return evidence.request.kind == "run"


def _is_line(evidence: Evidence) -> bool:
    """Return whether evidence is on the lines of HPL's messages between two nodes."""
    return not _is_probe(evidence) and follows(evidence.request.target.problem) and evidence.request.target.nodes == 2


def _is_network(evidence: Evidence) -> bool:
    # Imported here because it is slow to import.
    from predictor.network.survey import is_first

    return is_first(evidence.request.plan)


def _has_sizes(evidence: Evidence) -> bool:
    return not (_is_probe(evidence) or _is_line(evidence) or _is_network(evidence))


STRUCTURAL = Structural()
