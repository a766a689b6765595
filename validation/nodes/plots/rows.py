"""Properties of a campaign's rows: models, noises and sizes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from predictor.nodes.drivers import NptSettings

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

# Names of the paper's models in column "model".
LS, NNLS = (NptSettings(form="npt", method=method, weights="absolute").name for method in ("ls", "nnls"))
_STATIC = r"(always|best constant) \("  # start of the names of static allocations (validation/nodes/campaign.py)
_FEWER = r", N to \d+$"  # end of the names of models fitted to fewer sizes


def is_static(model: str) -> bool:
    """Return whether the name is that of a static allocation, such as "always (4,1,0,0,0,0)", or of the best."""
    return re.match(_STATIC, model) is not None


def largest(model: str) -> int | None:
    """Return the largest N that the models are fitted to: 112 for "NP-T/NNLS, N to 112"; None: all sizes."""
    match = re.search(_FEWER, model)
    return None if match is None else int(match[0].split()[-1])


def all_sizes(model: str) -> str:
    """Return the name of the models fitted to all sizes: "NP-T/NNLS" for "NP-T/NNLS, N to 112"."""
    return re.sub(_FEWER, "", model)


def models(rows: pd.DataFrame) -> list[str]:
    """Return the names of the models, in order of appearance."""
    return list(dict.fromkeys(rows["model"]))


def noises(rows: pd.DataFrame) -> list[float]:
    """Return the standard deviations of the noise, in ascending order."""
    return sorted(set(rows["noise"]))


def sizes(rows: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return all N, in ascending order."""
    return np.unique(rows["size"].to_numpy(float))


def over_seeds(
    rows: pd.DataFrame, column: str, where: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return mean, least and most of a column over the seeds at each N of ``where``; NaN: no value at this N."""
    grouped = rows[column].astype(float).groupby(rows["size"].astype(float))
    return tuple(getattr(grouped, what)().reindex(where).to_numpy() for what in ("mean", "min", "max"))


def mean_text(rows: pd.DataFrame) -> str:
    """Return a note on mean and band of several seeds; empty for one seed."""
    seeds = rows["seed"].nunique()
    return f"mean of {seeds} seeds, band from the least to the most" if seeds > 1 else ""


def unanswered(rows: pd.DataFrame) -> str:
    """Return a note in brackets on the sizes where a model has no choice with some seed; empty if there are none."""
    missing = sizes(rows[rows["chosen"].isna()])
    if not len(missing):
        return ""
    where = ", ".join(f"{N:g}" for N in missing) if len(missing) <= 3 else f"{len(missing)} sizes"
    return f" (no answer at N = {where})" if len(missing) <= 3 else f" (no answer at {where})"
