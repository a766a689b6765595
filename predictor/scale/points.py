"""One point of a curve: a program on one number of ranks, predicted, with the longest part of its critical path."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.options.runner import PoolOptions, RunnerOptions, checked_pool, runner_from_request, store_from_request
from apps.results.cautions import Cautions
from apps.runs.engines import run_identity
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.terminal.progress import doing
from predictor.answers.answers import complete, fit
from predictor.base import CallCertainty, Learning, Predictor
from predictor.evidence.broker import Broker
from predictor.families import VARIANTS
from predictor.plugins import is_own
from predictor.registry import predictor
from predictor.scale.critical_part import CriticalPart, critical_part
from predictor.series.pool import Failure, Kept, answers
from predictor.series.sources import sources_hash

KIND = "prediction"  # of apps.store.KINDS
_SOURCES = ("platforms", "apps/recording", "apps/results", "predictor")


@dataclass(frozen=True)
class Asked:
    """A point to predict; a process of the pool gets all that it needs with it."""

    target: Target
    settings: Settings
    predictor: str  # its name
    runs: RunnerOptions  # how the runs of the evidence are started and kept
    recorded: str | None = None  # as in LearningOptions, for predictors that learn
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Point:
    """The prediction of one point."""

    time_s: float
    low_s: float | None  # the 90 % interval
    high_s: float | None
    no_interval: str | None  # why there is none
    compute_s: float | None  # part of the time, where the model gives it
    energy_j: float | None
    critical_part: CriticalPart | None
    cautions: tuple[str, ...]
    remarks: tuple[str, ...]
    evidence_node_s: float
    wall_s: float  # elapsed time on this computer, gathering the evidence included
    calls: tuple[CallCertainty, ...] = ()  # how sure each is, where the program was learned
    communication_only: bool = False  # as in predictor.base.Prediction


def asked_predictor(name: str, recorded: str | None, known: Sequence[str]) -> Predictor:
    """Return a predictor, with the options of one that learns if it does.

    Raises:
        UserError: The name is not known, or an option cannot be read.
    """
    made = predictor(name)
    return made.with_options(recorded, known) if isinstance(made, Learning) and (recorded or known) else made


def predicted(asked: Asked) -> Point:
    """Return the prediction of a point.

    Raises:
        UserError: The point is out of the predictor's range, or its evidence cannot be had.
        SimulationError: A run of the evidence fails.
    """
    started = time.perf_counter()
    model, said, target = asked_predictor(asked.predictor, asked.recorded, asked.known), Cautions(), asked.target
    with runner_from_request(asked.runs, cautions=said, saying=False) as runner:
        fitted, evidence = fit(model, [target], Broker.of(asked.settings, [target], runner))
        prediction = complete(fitted.predict(target), model.name, target, evidence)
        held_by = critical_part(fitted, prediction, target)
    ends = prediction if prediction.interval is None and prediction.calls else prediction.interval
    return Point(
        time_s=prediction.time_s,
        low_s=None if ends is None else ends.low_s,
        high_s=None if ends is None else ends.high_s,
        no_interval=prediction.no_interval,
        compute_s=prediction.parts.get("compute_s"),
        energy_j=prediction.energy_j,
        critical_part=held_by,
        cautions=(*prediction.flags, *said.lines()),
        remarks=tuple(prediction.remarks),
        calls=prediction.calls,
        evidence_node_s=prediction.cost.node_s,
        communication_only=prediction.communication_only,
        wall_s=time.perf_counter() - started,
    )


def points(asked: Sequence[Asked], pool: PoolOptions, names: Sequence[str]) -> list[Point | Failure]:
    """Return the prediction of each point, or why there is none.

    Several are made at a time and stored; an interrupted command continues from the store.  What a predictor from
    outside the project says is not kept, because its sources are not known, and neither is what rests on computation
    that is timed; their runs are.

    Raises:
        UserError: An option is wrong, or a process was killed.
        KeyboardInterrupt: With the number of predictions that are kept.
    """
    jobs = checked_pool(pool)
    kept = [not is_own(one.predictor) or one.predictor in VARIANTS for one in asked]
    timed = any(one.settings.compute == "measured" for one in asked)
    with store_from_request(pool) as store, doing("predicting"):
        place = Kept(KIND, Point, store if all(kept) and not timed else None)
        return answers(asked, predicted, [_identity(one) for one in asked], place, jobs=jobs, names=names)


def _identity(asked: Asked) -> dict[str, Any]:
    """Return all that decides a prediction, as JSON values."""
    return {
        "predictor": asked.predictor,
        "recorded": asked.recorded,
        "known": list(asked.known),
        "run": run_identity(asked.settings.spec(asked.target)),
        "sources": sources_hash(*_SOURCES),
    }
