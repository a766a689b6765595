"""The runs behind the pictures: targets, answers of predictors, and simulated runs, kept in the store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from apps.programs.problem import Problem, problem
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.base import Evidence, Prediction
from predictor.evidence.broker import Broker
from predictor.registry import predictors

SETTINGS = Settings()


@dataclass(frozen=True)
class Case:
    """A target, its predictions by predictor with their evidence, and its simulated run."""

    target: Target
    predictions: Mapping[str, Prediction]
    evidence: Mapping[str, tuple[Evidence, ...]]
    truth: RunRecord

    def error_pct(self, name: str) -> float:
        """Return 100 (predicted - simulated) / simulated of a predictor."""
        return 100 * (self.predictions[name].time_s / self.truth.time_s - 1)


@contextmanager
def open_runner() -> Iterator[Runner]:
    """Return a runner with the user's store."""
    with Store() as store, Runner(jobs=os.cpu_count() or 1, store=store) as runner:
        yield runner


def target_on(asked: Problem, scenario: str, network: str | None = None, ranks: int | None = None) -> Target:
    """Return a problem on the first hosts of a scenario, by default on all."""
    platform = materialise(named_grid(scenario, network))
    return Target(asked, platform, block(platform, ranks or len(platform.hosts)))


def case(
    runner: Runner,
    names: Sequence[str],
    app: str,
    *,
    preset: str = "B",
    scenario: str = "grid4x8",
    network: str | None = "gigabit",
    ranks: int | None = None,
) -> Case:
    """Return a kernel on a scenario, predicted by these predictors and simulated."""
    return case_of(runner, names, target_on(problem(app, preset), scenario, network, ranks))


def case_of(runner: Runner, names: Sequence[str], target: Target) -> Case:
    """Return a target, predicted by these predictors and simulated.

    Raises:
        ValueError: A predictor has no answer.
    """
    broker = Broker.of(SETTINGS, [target], runner)
    predictions, evidence = {}, {}
    for model in predictors(names):
        (answer,) = predict(model, [target], broker)
        if answer.prediction is None:
            raise ValueError(f"{model.name} has no answer: {answer.refusal}")
        predictions[model.name], evidence[model.name] = answer.prediction, answer.evidence
    return Case(target, predictions, evidence, runner.record(SETTINGS.spec(target)))
