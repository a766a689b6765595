"""Evaluations of many points: pooled, kept in the store, and known by all that decides their result."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from apps.errors import SimulationError
from apps.options.runner import PoolOptions, checked_pool, store_from_request
from platforms.errors import UserError
from platforms.terminal.progress import doing
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.options import machine_from_request, setting_from_request
from predictor.blocks.series.points import ApplicationOptions, Point
from predictor.series.pool import Kept, answers
from predictor.series.sources import sources_hash

if TYPE_CHECKING:
    from apps.store import Store

KIND = "evaluation"  # of apps.store.KINDS
_SOURCES = (
    *("platforms", "apps/recording", "apps/results", "predictor/base.py"),
    *("predictor/blocks", "predictor/dpgraph", "predictor/graph", "predictor/network", "predictor/native"),
)
_OPTIONS = ("policy", "failure_rate", "evaluator", "power", "power_law", "shapes", "p_counts", "parts")

Answer = TypeVar("Answer")


def evaluations(points: Sequence[Point], store: Store | None, jobs: int) -> list[Result | UserError]:
    """Return the result of each point, or the reason why it has none, as ``made_and_kept`` does."""
    return made_and_kept(points, evaluated, Result, store, jobs)


def made_from_request(
    request: PoolOptions,
    points: Sequence[Point],
    make: Callable[[Any], Answer],
    answer_type: type[Answer],
    what: str,
    also: Mapping[str, Any] | None = None,
) -> list[Answer | UserError]:
    """Return what is made of each point as ``made_and_kept`` does, with the jobs and the store that are asked for.

    ``what`` is shown while it is made.
    """
    jobs = checked_pool(request)
    with store_from_request(request) as store, doing(what):
        return made_and_kept(points, make, answer_type, store, jobs, also)


def made_and_kept(
    points: Sequence[Point],
    make: Callable[[Any], Answer],
    answer_type: type[Answer],
    store: Store | None,
    jobs: int,
    also: Mapping[str, Any] | None = None,
) -> list[Answer | UserError]:
    """Return what is made of the options of each point, or the reason why it cannot be made.

    Args:
        points: The points.
        make: A function of a module, whose answer is decided by ``identity`` of the options.
        answer_type: The type of its answers, a dataclass.
        store: Where answers are looked up and kept; None: nowhere.
        jobs: Number of processes.
        also: All that decides the answers beside ``identity``, as JSON values.

    Raises:
        UserError: A process was killed.
        KeyboardInterrupt: With the number of results that are kept.
    """
    made_answers: list[Answer | UserError | None] = [None] * len(points)
    identities = {}
    for at, point in enumerate(points):
        try:
            identities[at] = _identity_of(answer_type, point, also)
        except UserError as err:
            made_answers[at] = err
    made = answers(
        [points[at].request for at in identities], make, list(identities.values()), Kept(KIND, answer_type, store),
        jobs=jobs, names=[str(points[at]) or points[at].request.application for at in identities],
    )  # fmt: skip
    for at, answer in zip(identities, made, strict=True):
        if isinstance(answer, SimulationError):  # evaluations simulate nothing
            raise answer
        made_answers[at] = answer
    return [answer for answer in made_answers if answer is not None]


def model_cautions(point: Point) -> list[str]:
    """Return the cautions about the model of a point; only a calibration file has some."""
    model = point.request.model
    return setting_from_request(point.request).cautions(model) if os.path.isfile(model) else []


def is_kept(point: Point, store: Store | None) -> bool:
    """Return whether the store has the result of a point, which ``evaluations`` would take from it.

    Raises:
        UserError: An option or a file is wrong.
    """
    return Kept(KIND, Result, store).get(_identity_of(Result, point)) is not None


def _identity_of(answer_type: type[Any], point: Point, also: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"answer": answer_type.__name__, **(also or {}), **identity(point.request)}


def evaluated(request: ApplicationOptions) -> Result:
    """Return the result of evaluating the application that the options of a command name.

    Raises:
        UserError: An option or a file is wrong, or the application cannot be evaluated.
    """
    setting = setting_from_request(request)
    machine = machine_from_request(request, setting)
    return evaluate(setting.application, machine, evaluator=request.evaluator, power=request.power, parts=request.parts)


def identity(request: ApplicationOptions) -> dict[str, Any]:
    """Return all that decides the result, as JSON values.

    Raises:
        UserError: An option or a file is wrong.
    """
    setting = setting_from_request(request)
    application = setting.application
    given = (application.name, application.given, application.steps, application.variables, application.functions)
    files = [request.model, *(text.partition("=")[2] for text in request.component)]
    return {
        "application": _digest(repr(given)),
        "system": _digest(repr(replace(setting.system, source=""))),
        "models": [_digest(Path(name).read_bytes()) if os.path.isfile(name) else name for name in files],
        "component": [text.partition("=")[0] for text in request.component],
        **{name: getattr(request, name) for name in _OPTIONS},
        "sources": sources_hash(*_SOURCES),
        "numpy": np.__version__,
    }


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:32]
