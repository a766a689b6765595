"""Rows of a campaign, by model and size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from predictor.optimize.drivers import NptSettings

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

# The paper's models, as the column "model" has them.
LS, NNLS = (NptSettings(form="npt", method=method, weights="absolute").name for method in ("ls", "nnls"))
_STATIC = r"always \("  # names of static allocations begin so, as validation/optimize/campaign.py makes them
_FEWER = r", N to \d+$"  # names of models of fewer sizes end so


def is_static(model: str) -> bool:
    """Whether it is a static allocation: "always (4,1,0,0,0,0)"."""
    return re.match(_STATIC, model) is not None


def largest(model: str) -> int | None:
    """The largest N that the models are made of: 112 for "NP-T/NNLS, N to 112"; None: all."""
    found = re.search(_FEWER, model)
    return None if found is None else int(found[0].split()[-1])


def all_sizes(model: str) -> str:
    """The name of the same models of all sizes: "NP-T/NNLS" for "NP-T/NNLS, N to 112"."""
    return re.sub(_FEWER, "", model)


def models(rows: pd.DataFrame) -> list[str]:
    """Their names, in order of appearance."""
    return list(dict.fromkeys(rows["model"]))


def noises(rows: pd.DataFrame) -> list[float]:
    """The standard deviations of the noise, from the smallest."""
    return sorted(set(rows["noise"]))


def sizes(rows: pd.DataFrame) -> npt.NDArray[np.float64]:
    """All N, from the smallest."""
    return np.unique(rows["size"].to_numpy(float))


def over_seeds(
    rows: pd.DataFrame, column: str, where: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean, least and most of a column over the seeds, at each N of ``where``; NaN where there is none."""
    grouped = rows[column].astype(float).groupby(rows["size"].astype(float))
    return tuple(getattr(grouped, what)().reindex(where).to_numpy() for what in ("mean", "min", "max"))


def mean_text(rows: pd.DataFrame) -> str:
    """What is said of several seeds; empty for one."""
    seeds = rows["seed"].nunique()
    return f"mean of {seeds} seeds, band from the least to the most" if seeds > 1 else ""


def unanswered(rows: pd.DataFrame) -> str:
    """Says in brackets where a model chose nothing, with any seed; empty if it always chose."""
    missing = sizes(rows[rows["chosen"].isna()])
    if not len(missing):
        return ""
    where = ", ".join(f"{N:g}" for N in missing) if len(missing) <= 3 else f"{len(missing)} sizes"
    return f" (no answer at N = {where})" if len(missing) <= 3 else f" (no answer at {where})"
