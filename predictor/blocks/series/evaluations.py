"""Evaluations of many points: pooled, kept in the store, and known by all that decides their result."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.errors import UserError
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.options import machine_from_arguments, setting_from_arguments
from predictor.blocks.series.points import Point
from predictor.series.pool import Kept, answers
from predictor.series.sources import sources_hash

if TYPE_CHECKING:
    from apps.store import Store

KIND = "evaluation"  # of apps.store.KINDS
_SOURCES = (
    *("platforms", "apps/recording", "apps/results", "predictor/base.py"),
    *("predictor/blocks", "predictor/dpgraph", "predictor/network", "predictor/native"),
)
_OPTIONS = ("policy", "failure_rate", "evaluator", "power", "power_law", "shapes", "p_counts", "parts")


def evaluations(points: Sequence[Point], store: Store | None, jobs: int) -> list[Result | UserError]:
    """Return the result of each point, or the reason why it has none.

    Args:
        points: The points.
        store: Where results are looked up and kept; None: nowhere.
        jobs: Number of processes.

    Raises:
        UserError: A process was killed.
        KeyboardInterrupt: With the number of results that are kept.
    """
    found: list[Result | UserError | None] = [None] * len(points)
    identities = {}
    for at, point in enumerate(points):
        try:
            identities[at] = identity(point.args)
        except UserError as err:
            found[at] = err
    made = answers(
        [points[at].args for at in identities], evaluated, list(identities.values()), Kept(KIND, Result, store),
        jobs=jobs, names=[str(points[at]) for at in identities],
    )  # fmt: skip
    for at, answer in zip(identities, made, strict=True):
        found[at] = answer
    return [one for one in found if one is not None]


def evaluated(args: argparse.Namespace) -> Result:
    """Return the result of evaluating the application that the options of a command name.

    Raises:
        UserError: An option or a file is wrong, or the application cannot be evaluated.
    """
    setting = setting_from_arguments(args)
    machine = machine_from_arguments(args, setting)
    return evaluate(setting.application, machine, evaluator=args.evaluator, power=args.power, parts=args.parts)


def identity(args: argparse.Namespace) -> dict[str, Any]:
    """Return all that decides the result, as JSON values.

    Raises:
        UserError: An option or a file is wrong.
    """
    setting = setting_from_arguments(args)
    application = setting.application
    given = (application.name, application.given, application.steps, application.variables, application.functions)
    files = [args.model, *(text.partition("=")[2] for text in args.component)]
    return {
        "application": _digest(repr(given)),
        "system": _digest(repr(replace(setting.system, source=""))),
        "models": [_digest(Path(name).read_bytes()) if os.path.isfile(name) else name for name in files],
        "component": [text.partition("=")[0] for text in args.component],
        **{name: getattr(args, name) for name in _OPTIONS},
        "sources": sources_hash(*_SOURCES),
        "numpy": np.__version__,
    }


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:32]
