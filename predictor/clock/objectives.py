"""The values that a choice of frequencies minimises, and the default limit of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

EVALUATIONS = 250  # default limit of evaluations where there are more choices

_Value = TypeVar("_Value", float, "npt.NDArray[np.float64]")


class Objective(Protocol):
    """Function of the time T, s, and the energy E, J, that a search minimises."""

    def __call__(self, T: _Value, E: _Value, /) -> _Value:
        """Return the value for time T and energy E."""


def _energy(T: _Value, E: _Value, /) -> _Value:
    return E


def _edp(T: _Value, E: _Value, /) -> _Value:
    product: _Value = T * E
    return product


OBJECTIVES: dict[str, Objective] = {"energy": _energy, "edp": _edp}
