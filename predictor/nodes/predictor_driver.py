"""Estimates of the configurations of a space by any predictor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from apps.errors import SimulationError
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.terminal.progress import Progress
from predictor.allocation.space import Space
from predictor.answers.answers import predict
from predictor.base import Cost, Evidence, EvidenceRequest, Prediction, Predictor
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.nodes.drivers import Estimates, Gathered
from predictor.nodes.study import Study

if TYPE_CHECKING:
    from apps.runs.runner import Runner

Brokers = Callable[[Sequence[Target]], Broker]  # returns a broker that refuses runs of these targets

Error: TypeAlias = UserError | SimulationError


def brokers(settings: Settings, runner: Runner) -> Brokers:
    """Return a function that makes brokers which gather evidence through a runner."""
    return lambda targets: Broker.of(settings, targets, runner)


@dataclass(eq=False)
class PredictorDriver:
    """Estimates by a predictor, which is asked for every configuration."""

    predictor: Predictor
    study: Study
    brokers: Brokers
    _evidence: dict[str, Evidence] = field(default_factory=dict)  # by id
    _gather_s: float = 0.0

    def estimate(self, space: Space, size: int) -> Estimates:
        """Predict every configuration of the space at N = ``size``."""
        targets = [self.study.target(space.configuration(row), size) for row in range(len(space))]
        progress = Progress()
        try:
            answers = self._answers(targets, progress)
        finally:
            progress.close()
        times_s = [np.nan if prediction is None else prediction.time_s for prediction, _ in answers]
        energies_j = [
            np.nan if prediction is None or prediction.energy_j is None else prediction.energy_j
            for prediction, _ in answers
        ]
        flags = {
            row: prediction.flags
            for row, (prediction, _) in enumerate(answers)
            if prediction is not None and prediction.flags
        }
        return Estimates(
            np.array(times_s),
            energies_j=None if np.isnan(energies_j).all() else np.array(energies_j),
            own_flags=flags,
            refusals=tuple(_reason(why) for _, why in answers if why is not None),
        )

    @property
    def gathered(self) -> Gathered:
        """Cost of all evidence so far."""
        evidence = self._evidence.values()
        runs_s = sum(piece.record.time_s for piece in evidence if piece.request.kind == "run")
        return Gathered(sum((piece.cost for piece in evidence), Cost()), runs_s, self._gather_s)

    def _answers(self, targets: Sequence[Target], progress: Progress) -> list[tuple[Prediction | None, Error | None]]:
        """Return the prediction of each target, or the reason why there is none.

        No prediction uses a run of its own target.  Evidence is gathered for all targets at once if it contains no run
        of any of them; otherwise for one target after another, so that only targets whose evidence would be a run of
        themselves get no answer.
        """
        try:
            answers = predict(self.predictor, targets, self._gatherer(targets), progress=progress)
        except RefusedEvidence:
            return self._one_by_one(targets, progress)
        return [(answer.prediction, answer.error) for answer in answers]

    def _one_by_one(
        self, targets: Sequence[Target], progress: Progress
    ) -> list[tuple[Prediction | None, Error | None]]:
        answers: list[tuple[Prediction | None, Error | None]] = []
        for target in targets:
            try:
                (answer,) = predict(self.predictor, [target], self._gatherer([target]))
            except RefusedEvidence as err:
                answers.append((None, err))
            else:
                answers.append((answer.prediction, answer.error))
            progress(f"{self.predictor.name}, {target.problem}", len(answers), len(targets))
        return answers

    def _gatherer(self, targets: Sequence[Target]) -> _Gatherer:
        return _Gatherer(self, self.brokers(targets))


@dataclass(frozen=True, eq=False)
class _Gatherer:
    """A broker that adds its evidence and gathering time to a driver's account."""

    driver: PredictorDriver
    broker: Broker

    def gather(self, requests: Sequence[EvidenceRequest]) -> list[Evidence]:
        started = time.perf_counter()
        try:
            evidence = self.broker.gather(requests)
        finally:
            self.driver._gather_s += time.perf_counter() - started
        self.driver._evidence |= {piece.id: piece for piece in evidence}
        return evidence


def _reason(error: Error) -> str:
    """Return the error without its target, so that equal reasons are counted together."""
    return f"{error.problem}. {error.remedy}." if isinstance(error, UserError) else str(error)
