"""The project as a Python module: ``import gridval`` (docs/gridval.md).

Public faces: ``run``, ``predict``, ``blocks``, ``ask``, ``Results``, ``BlockResults``, ``Picture``, ``Prediction``,
``Settings``, ``UserError``, ``OutOfRange``, ``SimulationError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Return a public face, importing what it needs when it is first used: `python -m gridval` needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported here for a quick start: it is slow to import.
    import validation.interactive

    return getattr(validation.interactive, name)


def __dir__() -> list[str]:
    return sorted(__all__)
