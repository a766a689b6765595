"""The project as a Python module: ``import gridval`` (docs/gridval.md).

Public faces: ``run``, ``predict``, ``Results``, ``Picture``, ``Prediction``, ``Settings``, ``UserError``,
``OutOfRange``, ``SimulationError``.
"""

from validation.interactive import (
    OutOfRange,
    Picture,
    Prediction,
    Results,
    Settings,
    SimulationError,
    UserError,
    predict,
    run,
)

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
