"""Evidence is gathered here, for a price, and only what a predictor may know."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apps.blockprobe.measure import BlockPlan, carry_out
from apps.identity import identity_hash
from apps.netprobe.measure import Measurement, Plan
from apps.record import RunRecord
from apps.record_events import record_events, recording_identity
from apps.recording import Kind, Recording
from apps.smpi import run_identity
from apps.spec import RunSpec, Settings, Target
from platforms.errors import UserError
from predictor.base import Cost, Declared, Evidence, EvidenceRequest

if TYPE_CHECKING:
    from apps.runner import Runner


class RefusedEvidence(UserError):
    """A predictor asked for the answer itself."""


class Broker:
    """Answers requests for evidence with what ``record``, ``trace`` and ``measure`` make (apps/runner.py: each once).

    ``targets`` are what is to be predicted: a request for a run of one of them is refused, in whatever order its
    hosts are named and however few of its iterations are asked for.  ``start`` is told of all runs of a
    gathering before the first is waited for, so that they may go side by side.
    """

    def __init__(
        self,
        settings: Settings,
        targets: Sequence[Target],
        *,
        record: Callable[[RunSpec], RunRecord],
        trace: Callable[[RunSpec, int], Recording] = record_events,
        measure: Callable[[Plan | BlockPlan], Measurement] = carry_out,
        identify: Callable[[RunSpec], dict[str, Any]] = run_identity,
        start: Callable[[list[RunSpec]], None] | None = None,
    ):
        self._settings = settings
        self._forbidden = {_essence(target) for target in targets}
        self._record = record
        self._trace = trace
        self._measure = measure
        self._identify = identify
        self._start = start

    @classmethod
    def of(cls, settings: Settings, targets: Sequence[Target], runner: Runner) -> Broker:
        """One whose evidence a runner makes, so that nothing is made twice."""
        return cls(
            settings, targets, record=runner.record, trace=runner.trace, measure=runner.measure, start=runner.start
        )

    def gather(self, requests: Sequence[EvidenceRequest]) -> list[Evidence]:
        """The evidence, in the order of the requests.

        Raises RefusedEvidence for a run of a target, and what the engine raises for a run that fails.
        """
        specs = self.specs(requests)
        if self._start is not None:
            self._start(specs)
        return [_ANSWERS[request.kind](self, request) for request in requests]

    def specs(self, requests: Sequence[EvidenceRequest]) -> list[RunSpec]:
        """The runs behind the requests; raises RefusedEvidence as ``gather`` does."""
        for request in requests:
            self._check(request)
        return [self._settings.spec(request.target) for request in requests if request.kind == "run"]

    def _check(self, request: EvidenceRequest) -> None:
        if request.kind not in _ANSWERS:
            raise UserError(f"evidence {request.kind!r}", "no such kind of evidence", f"Known: {', '.join(_ANSWERS)}")
        if request.kind == "run" and _essence(request.target) in self._forbidden:
            raise RefusedEvidence(
                f"{request.target.problem} on {request.target.platform.name}, {request.target.nranks} ranks",
                "the evidence asked for is a run of the target itself",
                "Predict a target that is larger than the predictor's probe",
            )
        if request.kind == "trace" and self._settings.memory_bus is not None:
            raise RefusedEvidence(
                f"{request.target.problem} on {request.target.platform.name}, --memory-bus",
                "the evidence asked for is a recording, which says nothing of a memory bus",
                "Take another predictor, or leave the bus out",
            )

    def _run(self, request: EvidenceRequest) -> Evidence:
        spec = self._settings.spec(request.target)
        record = self._record(spec)
        cost = Cost(node_s=record.node_seconds, wall_s=record.wall_s)
        return Evidence(request, record, identity_hash(self._identify(spec)), cost)

    def _recording(self, request: EvidenceRequest) -> Evidence:
        """Costs the computation of what was recorded, on the target's nodes."""
        if request.iterations is None:
            raise ValueError("a request for a trace says of how many iterations")
        spec = self._settings.spec(request.target)
        started = time.perf_counter()
        recording = self._trace(spec, request.iterations)
        wall_s = time.perf_counter() - started
        platform = request.target.platform
        node_s = sum(
            float(events["amount"][events["kind"] == Kind.COMPUTE].sum()) / platform.host(host).speed_flops
            for host, events in zip(request.target.placement, recording.events, strict=True)
        )
        identity = {**recording_identity(spec, request.iterations), "flop_scale": spec.flop_scale}
        return Evidence(request, recording, identity_hash(identity), Cost(node_s, wall_s))

    def _experiments(self, request: EvidenceRequest) -> Evidence:
        if request.plan is None:
            raise ValueError(f"a request for evidence {request.kind!r} comes with a plan")
        plan = replace(request.plan, options=self._settings.options)  # the world is the same for all
        measurement = self._measure(plan)
        cost = Cost(measurement.node_s, measurement.wall_s)
        return Evidence(request, measurement, identity_hash(plan.identity()), cost)

    def _declared(self, request: EvidenceRequest) -> Evidence:
        options = {**dict(request.target.platform.options), **dict(self._settings.options)}
        declared = Declared(tuple(sorted(options.items())))
        return Evidence(request, declared, identity_hash({"options": options}), Cost())


# The kinds of evidence; what each is, EvidenceRequest says.
_ANSWERS = {
    "run": Broker._run,
    "trace": Broker._recording,
    "exchange": Broker._experiments,
    "blocks": Broker._experiments,
    "declared": Broker._declared,
}


def _essence(target: Target) -> tuple[Hashable, ...]:
    """What makes a run give away the target's time: the problem and the machines, not who sits where."""
    hosts = frozenset(Counter(target.placement).items())
    problem = target.problem
    return problem.app, problem.params, problem.program, target.platform.content_hash, hosts
