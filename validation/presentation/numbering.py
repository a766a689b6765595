"""Numbers of predictors, which give each the same style in all figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def predictor_numbers(results: pd.DataFrame) -> dict[str, int]:
    """Return the number of each predictor, which gives its style in all figures of these results."""
    return {name: number for number, name in enumerate(dict.fromkeys(results["predictor"]))}
