"""IS on cluster 1, simulated and predicted by Li's method: the paper's Figure 7, in simulated time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.placement import block
from platforms.model.platform import Platform
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.registry import predictors
from predictor.sends.components import percentage_error

CLUSTER = "li-1"
CLASSES = ("A", "B")
NODES = (2, 4, 6, 8, 10, 12, 14, 16)
# The printed formula and the variant in which sends and receives overlap; each from the class itself on fewer nodes,
# and from smaller classes.
PREDICTORS = ("dpgraph:li", "dpgraph:li-duplex", "dpgraph:li-size", "dpgraph:li-size-duplex")


def targets(platform: Platform, classes: Sequence[str] = CLASSES, nodes: Sequence[int] = NODES) -> list[Target]:
    """Return IS of each class on each number of nodes."""
    return [Target(problem("is", name), platform, block(platform, P)) for name in classes for P in nodes]


def integer_sort(platform: Platform, asked: Sequence[Target], runner: Runner) -> pd.DataFrame:
    """Return one row per target and predictor: class, nodes, predictor, simulated_s, predicted_s and error_pct.

    Args:
        platform: The cluster.
        asked: The targets, of ``targets``.
        runner: Makes the runs.

    Raises:
        SimulationError: A run failed.
    """
    settings = Settings()
    runner.start(settings.spec(target) for target in asked)
    broker = Broker.of(settings, asked, runner)
    answers = {model.name: predict(model, asked, broker) for model in predictors(PREDICTORS)}
    records = [runner.record(settings.spec(target)) for target in asked]

    def rows() -> Iterator[dict[str, Any]]:
        for at, (target, record) in enumerate(zip(asked, records, strict=True)):
            for name, of_predictor in answers.items():
                prediction = of_predictor[at].prediction
                assert prediction is not None  # ``predict`` raises otherwise
                predicted_s = prediction.time_s
                yield {
                    "class": target.problem.preset,
                    "nodes": target.nranks,
                    "predictor": name,
                    "simulated_s": record.time_s,
                    "predicted_s": predicted_s,
                    "error_pct": percentage_error(predicted_s, record.time_s),
                }

    return pd.DataFrame(rows())
