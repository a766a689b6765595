"""Predictions and comparisons for scripts and notebooks; users import it as ``gridval``.

Public faces: ``run``, ``predict``, ``Results``, ``Picture``, ``Prediction``, ``Settings``, ``UserError``,
``OutOfRange``, ``SimulationError``.
"""

from apps.errors import SimulationError
from apps.spec.settings import Settings
from platforms.errors import UserError
from predictor.base import OutOfRange, Prediction
from validation.interactive.predicting import predict
from validation.interactive.results import Picture, Results
from validation.interactive.running import run

__all__ = [
    "OutOfRange",
    "Picture",
    "Prediction",
    "Results",
    "Settings",
    "SimulationError",
    "UserError",
    "predict",
    "run",
]
