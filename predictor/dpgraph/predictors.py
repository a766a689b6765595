"""The graph predictors: what a recorded program would take on a network it has not run on.

``dpgraph`` measures the network by messages between the target's nodes; ``dpgraph-known`` reads SimGrid's documented
constants and the platform file, and so proves only that the fluid model is SimGrid's: it stands beside the other as the
check of the implementation.  Both extend K.-C. Li's graphs of sequential segments and communications ("A Strategy for
Point-to-point Node Communication Performance Prediction in Cluster Environments") by matched messages, waiting,
protocols and shared links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from apps.netprobe.measure import Measurement
from apps.recording import Recording
from apps.spec import Target
from platforms.platform import Platform
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction

if TYPE_CHECKING:  # numba takes a third of a second to import
    from predictor.dpgraph.network import Network
    from predictor.dpgraph.program import Sections

RECORDED_ITERATIONS = 3


@dataclass(frozen=True)
class _Facts:
    """What is known of one target."""

    recording: Recording
    options: Mapping[str, str] | None  # declared; None: not asked for
    measurements: tuple[Measurement, ...]
    evidence: tuple[str, ...]
    cost: Cost


@dataclass(frozen=True)
class GraphModel:
    """Recordings of programs, and networks known or measured."""

    name: str
    facts: Mapping[Target, _Facts]

    def predict(self, target: Target) -> Prediction:
        """The evaluated graph's time.  Raises OutOfRange for more ranks than cores on a host."""
        from predictor.dpgraph.evaluate import estimate

        _check_cores(self.name, target)
        facts = self.facts[target]
        sections = _sections(facts.recording)
        network = self._network(target, facts, sections)
        s_per_flop = [1 / target.platform.host(host).speed_flops for host in target.placement]
        made = estimate(sections, target.iterations, network, target.placement, s_per_flop)
        compute_s = float((sections.flops(target.iterations) * s_per_flop).max())
        return Prediction(
            time_s=made.time_s,
            parts={"compute_s": compute_s, "comm_s": made.time_s - compute_s},
            flags=("computation was measured as it ran, and varies",) if facts.recording.measured else (),
            evidence=facts.evidence,
            cost=facts.cost,
        )

    def _network(self, target: Target, facts: _Facts, sections: Sections) -> Network:
        if facts.options is None:
            return _measured(target.platform, frozenset(target.placement), facts.measurements)
        from platforms.read import read_routes
        from predictor.dpgraph.known import known_network

        pairs = {(target.placement[a], target.placement[b]) for a, b in sections.partners}
        pairs |= {pair[::-1] for pair in pairs}
        return known_network(read_routes(target.platform.path, sorted(pairs)), facts.options)


@dataclass(frozen=True)
class GraphPredictor:
    """``measures``: by messages; else the network is read."""

    name: str
    measures: bool

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        asked = []
        for target in targets:
            iterations = min(RECORDED_ITERATIONS, target.iterations)
            asked.append(EvidenceRequest("trace", target, iterations=iterations))
            asked.append(self._plan(target, ()) if self.measures else EvidenceRequest("declared", target))
        return asked

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        if not self.measures:
            return []
        asked = (self._plan(target, _measurements(target, evidence)) for target in targets)
        return [request for request in asked if request is not None]

    def fit(self, evidence: Sequence[Evidence]) -> GraphModel:
        targets = dict.fromkeys(e.request.target for e in evidence)
        return GraphModel(self.name, {target: _facts(target, evidence) for target in targets})

    def _plan(self, target: Target, results: Sequence[Measurement]) -> EvidenceRequest | None:
        from predictor.dpgraph.measured import next_plan

        plan = next_plan(target.platform, target.placement, results)
        return None if plan is None else EvidenceRequest("exchange", target, plan=plan)


def _measurements(target: Target, evidence: Sequence[Evidence]) -> tuple[Measurement, ...]:
    return tuple(e.answer for e in evidence if e.request.kind == "exchange" and e.request.target == target)


def _facts(target: Target, evidence: Sequence[Evidence]) -> _Facts:
    own = [e for e in evidence if e.request.target == target]
    declared = [e.answer.options for e in own if e.request.kind == "declared"]
    return _Facts(
        recording=next(e.answer for e in own if e.request.kind == "trace"),
        options=dict(declared[0]) if declared else None,
        measurements=_measurements(target, evidence),
        evidence=tuple(e.id for e in own),
        cost=sum((e.cost for e in own), Cost()),
    )


def _check_cores(name: str, target: Target) -> None:
    for host in set(target.placement):
        ranks, cores = target.placement.count(host), target.platform.host(host).cores
        if ranks > cores:
            problem = "ranks that share a core are not represented"
            where = f"{name}, {ranks} ranks on the {cores} cores of {host}"
            raise OutOfRange(where, problem, "Use one rank per core, or another predictor")


@lru_cache(maxsize=8)
def _sections(recording: Recording) -> Sections:
    from predictor.dpgraph.program import Sections

    return Sections(recording)


@lru_cache(maxsize=8)
def _measured(platform: Platform, hosts: frozenset[str], results: tuple[Measurement, ...]) -> Network:
    from predictor.dpgraph.measured import measured_network

    return measured_network(platform, sorted(hosts), results)


DPGRAPH = GraphPredictor("dpgraph", measures=True)
DPGRAPH_KNOWN = GraphPredictor("dpgraph-known", measures=False)
