"""The project as a Python module: ``import gridval`` (docs/gridval.md).

Public faces: ``run``, ``predict``, ``blocks``, ``ask``, ``Results``, ``BlockResults``, ``Picture``, ``Prediction``,
``Settings``, ``UserError``, ``OutOfRange``, ``SimulationError``.
"""

from validation.interactive import (
    BlockResults,
    OutOfRange,
    Picture,
    Prediction,
    Results,
    Settings,
    SimulationError,
    UserError,
    ask,
    blocks,
    predict,
    run,
)

__all__ = [
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
    "predict",
    "run",
]
