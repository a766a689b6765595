"""Gather evidence for predictors, charge its cost, and refuse evidence that gives away the target's time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apps.errors import SimulationError
from apps.probes.plan import Measurement, carry_out
from apps.probes.plan import Plan as ExperimentPlan
from apps.recording.events import Elapse, Kind, Recording
from apps.results.record import RunRecord
from apps.runs.engines import run_identity
from apps.runs.limits import EvidenceLimit, rough_duration
from apps.runs.neutral import recording_identity
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store.identity import identity_hash
from platforms.errors import UserError
from predictor.base import Cost, Declared, Evidence, EvidenceRequest
from predictor.evidence.given import Given

if TYPE_CHECKING:
    from apps.runs.runner import Runner


class RefusedEvidence(UserError):
    """A predictor requested evidence that it may not have, such as a run of the target itself."""


def evidence_settings(settings: Settings) -> Settings:
    """Return the settings of evidence: the truth and its predictions never share a measurement of the computation."""
    return replace(settings, measurement=1)


class Broker:
    """Answers requests for evidence through ``record``, ``recording`` and ``measure``.

    The runner of apps/runs/runner.py provides these three and makes each run, recording and measurement once.

    ``targets`` are the targets that are to be predicted.  A request for a run of one of them is refused, regardless of
    the order of its hosts and of the requested number of iterations.  ``start`` is called with all runs of a gathering
    before waiting for the first, so that they may run in parallel.  ``given`` is a recording from the user, which
    answers the requests for recordings of its problem and costs nothing.
    """

    def __init__(
        self,
        settings: Settings,
        targets: Sequence[Target],
        *,
        record: Callable[[RunSpec], RunRecord],
        recording: Callable[[RunSpec, int], Recording] = record_events,
        measure: Callable[[ExperimentPlan], Measurement] = carry_out,
        identify: Callable[[RunSpec], dict[str, Any]] = run_identity,
        start: Callable[[list[RunSpec]], None] | None = None,
        given: Given | None = None,
        limit: EvidenceLimit | None = None,
    ):
        self.settings = evidence_settings(settings)
        self._forbidden = {_essence(target) for target in targets}
        self._record = record
        self._make_recording = recording
        self._measure = measure
        self._identify = identify
        self._start = start
        self._given = given
        self._limit = EvidenceLimit() if limit is None else limit
        self._spent_s = 0.0  # on evidence so far

    @classmethod
    def of(cls, settings: Settings, targets: Sequence[Target], runner: Runner, given: Given | None = None) -> Broker:
        """Return a broker that takes its evidence from a runner, so that nothing is run twice.

        ``given`` is as for the constructor.
        """
        return cls(settings, targets, record=runner.record, given=given, limit=runner.evidence_limit).on(runner)

    def on(self, runner: Runner) -> Broker:
        """Return this broker with a runner that makes its evidence."""
        made = copy(self)
        made._record, made._make_recording = runner.record, runner.recording
        made._measure, made._start = runner.measure, runner.start
        return made

    def gather(self, requests: Sequence[EvidenceRequest]) -> list[Evidence]:
        """Return the evidence, in the order of the requests.

        Errors of the engine in a run that fails are passed on.

        Raises:
            RefusedEvidence: A request asks for a run of a target.
        """
        specs = self.specs(requests)
        if self._start is not None:
            self._start(specs)
        options = None if self.settings.machine is not None else self.settings.options
        return [replace(self._within_limit(request), options=options) for request in requests]

    def _within_limit(self, request: EvidenceRequest) -> Evidence:
        """Return one piece of evidence, unless all evidence together takes longer than it may."""
        answer = _ANSWERS[request.kind]
        if self.settings.machine is not None or request.kind not in _LIMITED:
            return answer(self, request)
        started = time.perf_counter()
        try:
            if self._spent_s < self._limit.time_s:
                return answer(self, request)
        except SimulationError as err:
            if self._spent_s + time.perf_counter() - started < self._limit.time_s:
                raise
            raise self._late(request) from err
        finally:
            self._spent_s += time.perf_counter() - started
        raise self._late(request)

    def _late(self, request: EvidenceRequest) -> RefusedEvidence:
        return RefusedEvidence(
            str(request.target),
            f"its evidence takes longer than the limit of {rough_duration(self._limit.time_s)}",
            "Raise it (--evidence-time), use a predictor with less evidence, or simulate the run",
        )

    def specs(self, requests: Sequence[EvidenceRequest]) -> list[RunSpec]:
        """Return the runs that the requests need.

        Raises:
            RefusedEvidence: A request asks for a run of a target.
        """
        for request in requests:
            self._check(request)
        return [self.settings.spec(request.target) for request in requests if request.kind == "run"]

    def _check(self, request: EvidenceRequest) -> None:
        if request.kind not in _ANSWERS:
            raise UserError(f"evidence {request.kind!r}", "no such kind of evidence", f"Known: {', '.join(_ANSWERS)}")
        excess = None if request.plan is None or self.settings.machine else self._limit.excess(request.plan)
        if excess is not None:
            raise RefusedEvidence(
                str(request.target),
                f"its {excess}, and the limit is {self._limit}",
                "Use dpgraph:known, which measures nothing, or raise the limit (--evidence-time, --evidence-memory)",
            )
        program = request.target.problem.program
        if request.kind == "run" and program is not None and program.recorded:
            raise RefusedEvidence(
                f"recording of {program.name}",
                "the requested evidence is a run, and a recording cannot be run",
                "Use dpgraph, which needs nothing else of the program",
            )
        if request.kind == "run" and _essence(request.target) in self._forbidden:
            raise RefusedEvidence(
                str(request.target),
                "the requested evidence is a run of the target itself",
                "Predict a target that is larger than the predictor's probe",
            )
        if request.kind == "simulation" and self.settings.machine is None:
            raise RefusedEvidence(
                str(request.target),
                "the requested evidence is the simulated run, which is the truth itself",
                "Give a real machine (--machine), whose runs are then the truth",
            )
        if request.kind == "recording" and self.settings.memory_bus is not None:
            raise RefusedEvidence(
                f"{request.target.problem} on {request.target.platform.name}, --memory-bus",
                "the requested evidence is a recording, which does not include the effect of a memory bus",
                "Use another predictor, or leave the bus out",
            )

    def _run(self, request: EvidenceRequest) -> Evidence:
        spec = self.settings.spec(request.target)
        record = self._record(spec)
        cost = Cost(node_s=record.node_seconds, wall_s=record.wall_s)
        return Evidence(request, record, identity_hash(self._identify(spec)), cost)

    def _simulation(self, request: EvidenceRequest) -> Evidence:
        """Simulate a target whose truth is measured; it costs no node of the machine."""
        spec = replace(self.settings, machine=None, efficiency=repr(request.efficiency)).spec(request.target)
        record = self._record(spec)
        return Evidence(request, record, identity_hash(self._identify(spec)), Cost(0.0, record.wall_s))

    def _recording(self, request: EvidenceRequest) -> Evidence:
        """Gather a recording; its cost is the recorded computation on the target's nodes, or the time on a machine."""
        if request.iterations is None:
            raise ValueError("a request of kind 'recording' needs the number of iterations")
        if self._given is not None and request.target.problem == self._given.problem:
            return self._given_recording(request, self._given)
        spec = self.settings.spec(request.target)
        started = time.perf_counter()
        recording = self._make_recording(spec, request.iterations)
        wall_s = time.perf_counter() - started
        platform = request.target.platform
        node_s = recording.held_node_s
        if math.isnan(node_s):  # simulated: what computing it would take on the target's nodes
            node_s = sum(
                float(events["amount"][events["kind"] == Kind.COMPUTE].sum()) / platform.host(host).speed_flops
                + float(events["amount"][(events["kind"] == Kind.ELAPSE) & (events["op"] == Elapse.ON_CORE)].sum())
                for host, events in zip(request.target.placement, recording.events, strict=True)
            )
        identity = {**recording_identity(spec, request.iterations), "flop_scale": spec.flop_scale}
        return Evidence(request, recording, identity_hash(identity), Cost(node_s, wall_s))

    def _given_recording(self, request: EvidenceRequest, given: Given) -> Evidence:
        recording = given.on(request.target.nranks)
        if recording is None:
            counts = ", ".join(map(str, given.counts))
            raise RefusedEvidence(
                f"recording of {given.problem}",
                f"it is of {counts} ranks, and the requested evidence is of {request.target.nranks}",
                "Use dpgraph, which needs a recording of the target's number of ranks only",
            )
        identity = given.identity if not given.others else f"{given.identity} {recording.nranks}"
        return Evidence(request, recording, identity, Cost())

    def _experiments(self, request: EvidenceRequest) -> Evidence:
        if request.plan is None:
            raise ValueError(f"a request of kind {request.kind!r} needs a plan")
        plan = as_carried_out(request.plan, self.settings)
        measurement = self._measure(plan)
        cost = Cost(measurement.node_s, measurement.wall_s)
        return Evidence(request, measurement, identity_hash(plan.identity()), cost)

    def _declared(self, request: EvidenceRequest) -> Evidence:
        options = {**dict(request.target.platform.options), **dict(self.settings.options)}
        declared = Declared(tuple(sorted(options.items())))
        return Evidence(request, declared, identity_hash({"options": options}), Cost())


_LIMITED = ("recording", "exchange", "blocks")  # kinds of evidence that EvidenceLimit is about

# The method that gathers each kind of evidence; EvidenceRequest describes the kinds.
_ANSWERS = {
    "run": Broker._run,
    "simulation": Broker._simulation,
    "recording": Broker._recording,
    "exchange": Broker._experiments,
    "blocks": Broker._experiments,
    "declared": Broker._declared,
}


def _essence(target: Target) -> tuple[Hashable, ...]:
    """Return the properties that decide whether a run gives away the target's time.

    These are the problem, the platform and the number of ranks on each host, but not which rank is on which host.
    """
    hosts = frozenset(Counter(target.placement).items())
    problem = target.problem
    return problem.name, problem.params, problem.program, target.platform.content_hash, hosts


def as_carried_out(plan: ExperimentPlan, settings: Settings) -> ExperimentPlan:
    """Return a plan under the settings: on their machine, unless the platform was calibrated from one.

    A calibrated platform has the messages of the machine already, without their noise.
    """
    return plan.under(settings.options, plan.machine if plan.platform.calibrated else settings.machine)
