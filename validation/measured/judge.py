"""Predict measured runs from those that are evidence, and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.probes.blocks.measure import BlockPlan
from apps.probes.carry_out import carry_out
from apps.probes.network.measure import Measurement, NetworkPlan
from apps.results.record import RunRecord
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.platform import Platform
from predictor.answers.answers import predict
from predictor.base import Prediction
from predictor.contention.predictor import Contention
from predictor.evidence.broker import Broker
from validation.comparison.truth import measured_record
from validation.measured.runs import Run, RunSelector, targets_of

LEFT_OUT, JUDGED, APART, OTHER_CLASS = "left out", "judged", "apart", "other class"
ROLES = {
    JUDGED: "predicted from the evidence",
    APART: "predicted from the evidence, told apart",
    OTHER_CLASS: "predicted from the evidence, which has none of this class",
    LEFT_OUT: "evidence, predicted from the rest of it",
}


@dataclass(frozen=True)
class Judged:
    """A measured run and its prediction."""

    run: Run
    role: str  # of ROLES
    prediction: Prediction | None  # None: there is none
    reason: str = ""  # why there is none

    @property
    def error(self) -> float | None:
        """Predicted less measured time, over the measured time."""
        return None if self.prediction is None else self.prediction.time_s / self.run.time_s - 1

    @property
    def within(self) -> bool | None:
        """Say whether the measured time lies in the prediction's interval; None if there is no interval."""
        found = self.prediction
        if found is None or found.low_s is None or found.high_s is None:
            return None
        return found.low_s <= self.run.time_s <= found.high_s


@dataclass(frozen=True)
class Summary:
    """The errors of the runs of one role."""

    runs: int  # with a prediction
    median_error: float  # of the errors without sign
    largest_error: float
    within: int | None  # runs in their interval; None: there are no intervals


def judged(
    runs: Sequence[Run], platform: Platform, evidence: Sequence[RunSelector], apart: Sequence[RunSelector]
) -> list[Judged]:
    """Predict every run from the runs that are evidence, and those themselves from the rest of the evidence.

    Raises:
        UserError: No run of a known program is evidence, or the evidence contradicts the platform.
        SimulationError: Messages on the platform cannot be simulated.
    """
    targets, refused = targets_of(runs, platform)
    known = {run: target for run, target in targets.items() if any(choice.has(run) for choice in evidence)}
    if not known:
        problem = "it has no run of a known program"
        raise UserError("--evidence", problem, "Choose runs that the file has")
    gather = _Gather({target: run.time_s for run, target in known.items()})
    others = [run for run in targets if run not in known]
    predictions = gather.predictions(tuple(known.values()), [targets[run] for run in others])
    classes = {(run.app, run.preset) for run in known}
    found = []
    for run, (prediction, reason) in zip(others, predictions, strict=True):
        role = JUDGED if (run.app, run.preset) in classes else OTHER_CLASS
        role = APART if any(choice.has(run) for choice in apart) else role
        found.append(Judged(run, role, prediction, reason))
    for run, target in known.items():
        rest = tuple(one for one in known.values() if one != target)
        ((prediction, reason),) = gather.predictions(rest, [target])
        found.append(Judged(run, LEFT_OUT, prediction, reason))
    return found + [Judged(run, JUDGED, None, reason) for run, reason in refused.items()]


def summaries(found: Sequence[Judged]) -> dict[str, Summary]:
    """Return the errors by role, in the order of ROLES; roles without a prediction are left out."""
    told = {}
    for role in ROLES:
        own = [one for one in found if one.role == role and one.prediction is not None]
        if own:
            errors = [abs(one.error) for one in own if one.error is not None]
            inside = [one.within for one in own if one.within is not None]
            within = sum(inside) if inside else None
            told[role] = Summary(len(own), float(np.median(errors)), max(errors), within)
    return told


class _Gather:
    """Gathers evidence: measured times of some targets, and messages that are simulated once."""

    def __init__(self, times_s: Mapping[Target, float]):
        self._times_s = times_s
        self._measured: dict[NetworkPlan | BlockPlan, Measurement] = {}

    def predictions(
        self, evidence: tuple[Target, ...], targets: Sequence[Target]
    ) -> list[tuple[Prediction | None, str]]:
        """Return the prediction of each target, or the reason why there is none."""
        broker = Broker(Settings(), targets, record=self._record, measure=self._measure, identify=_identity)
        answers = predict(Contention(evidence), targets, broker)
        return [(answer.prediction, answer.refusal or "") for answer in answers]

    def _record(self, spec: RunSpec) -> RunRecord:
        return measured_record(spec, self._times_s[spec.target])

    def _measure(self, plan: NetworkPlan | BlockPlan) -> Measurement:
        if plan not in self._measured:
            self._measured[plan] = carry_out(plan)
        return self._measured[plan]


def _identity(spec: RunSpec) -> dict[str, Any]:
    target = spec.target
    return {
        "source": "measurement",
        "problem": str(target.problem),
        "placement": target.placement,
        "platform": target.platform.content_hash,
    }
