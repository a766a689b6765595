"""The project as a Python module: ``import gridval`` (docs/commands.md).

Public faces: ``run``, ``predict``, ``blocks``, ``ask``, ``connect``, ``Results``, ``BlockResults``, ``Answer``,
``Picture``, ``Prediction``, ``Settings``, ``UserError``, ``OutOfRange``, ``SimulationError``.

Every other verb is a function or a group of functions too: ``gridval.plan.clock``.

A name is imported when it is used for the first time, so that ``python -m gridval VERB --help`` loads no pandas.

The packages are ``gridval.platforms``, ``gridval.apps``, ``gridval.predictor`` and ``gridval.validation``.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

TYPE_CHECKING = False  # the module typing takes longer to import than this one
if TYPE_CHECKING:
    from validation.interactive import (
        Answer,
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
        connect,
        predict,
        run,
    )

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "platforms")):  # a checkout
    from .checkout import join_packages

    join_packages()

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
]


def __getattr__(name: str) -> object:
    if name not in __all__ and name not in _verbs():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    faces = importlib.import_module("validation.interactive")
    face: object = getattr(faces, name) if name in __all__ else faces.verb_named(name)
    globals()[name] = face
    return face


class _Face(ModuleType):
    """Keeps verbs where a module of the same name is imported: gridval.predictor, gridval.run."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and (name in __all__ or name in _GROUPS)):
            super().__setattr__(name, value)


_GROUPS = frozenset({"predictor"})  # groups of verbs that have the name of a package; they have its modules too
sys.modules[__name__].__class__ = _Face


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_verbs()})


def _verbs() -> frozenset[str]:
    names: frozenset[str] = frozenset(importlib.import_module("validation.entrance.verbs").VERBS)
    return names
