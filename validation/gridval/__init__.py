"""The project as a Python module: ``import gridval`` (docs/gridval.md).

Public faces: ``run``, ``predict``, ``blocks``, ``ask``, ``Results``, ``BlockResults``, ``Picture``, ``Prediction``,
``Settings``, ``UserError``, ``OutOfRange``, ``SimulationError``.

A name is imported when it is used for the first time, so that ``python -m gridval VERB --help`` loads no pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    face: object = getattr(importlib.import_module("validation.interactive"), name)
    globals()[name] = face
    return face


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
