"""Predictions and comparisons for scripts and notebooks; users import it as ``gridval``.

Public faces: ``run``, ``predict``, ``blocks``, ``ask``, ``connect``, ``verb_named``, ``Results``, ``BlockResults``,
``Answer``, ``Picture``, ``Prediction``, ``Settings``, ``UserError``, ``OutOfRange``, ``SimulationError``.
"""

from apps.errors import SimulationError
from apps.spec.settings import Settings
from platforms.errors import UserError
from predictor.base import OutOfRange, Prediction
from validation.interactive.answer import Answer
from validation.interactive.blocks import BlockResults, blocks
from validation.interactive.remote import connect
from validation.interactive.results import Picture, Results
from validation.interactive.running import predict, run
from validation.interactive.verbs import ask, verb_named

__all__ = [
    "Answer",
    "BlockResults",
    "OutOfRange",
    "Picture",
    "Prediction",
    "Results",
    "Settings",
    "SimulationError",
    "UserError",
    "ask",
    "blocks",
    "connect",
    "predict",
    "run",
    "verb_named",
]
