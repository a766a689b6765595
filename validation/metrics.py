"""Errors over several scenarios."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.scenario import SCENARIOS, named_grid

if TYPE_CHECKING:
    import pandas as pd

SUMMARY_COLUMNS = (
    *("predictor", "app", "n", "mean_error_pct", "mean_abs_error_pct", "max_abs_error_pct"),
    *("mean_abs_energy_error_pct", "max_abs_energy_error_pct"),
)


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Per predictor and app: number of predictions, mean error, mean absolute error and largest absolute error, in %;
    of the energy, where it is known, the last two.

    The mean absolute error is the mean percentage error of the HCF paper: mean of |predicted - simulated| / simulated.
    Targets outside a predictor's range are not counted; a predictor with none left has n = 0 and no errors.
    """
    results = results.assign(abs_energy_error_pct=results["energy_error_pct"].astype(float).abs())
    groups = results.groupby(["predictor", "app"], sort=False)
    table = groups.agg(
        n=("error_pct", "count"),
        mean_error_pct=("error_pct", "mean"),
        mean_abs_error_pct=("abs_error_pct", "mean"),
        max_abs_error_pct=("abs_error_pct", "max"),
        mean_abs_energy_error_pct=("abs_energy_error_pct", "mean"),
        max_abs_energy_error_pct=("abs_energy_error_pct", "max"),
    )
    return table.reset_index()[list(SUMMARY_COLUMNS)]


def published_errors(results: pd.DataFrame) -> dict[str, float]:
    """The HCF paper's mean percentage error by app, where the results are of its cases: class B on all nodes of each of
    the six scenarios."""
    if set(results["class"]) != {"B"} or set(results["scenario"]) != set(SCENARIOS):
        return {}
    nodes = {name: sum(cluster.nodes for cluster in named_grid(name).clusters) for name in SCENARIOS}
    if any(nodes[name] != ranks for name, ranks in zip(results["scenario"], results["ranks"], strict=True)):
        return {}
    with open(Path(__file__).with_name("published.csv"), newline="") as file:
        return {row["app"]: float(row["mean_abs_error_pct"]) for row in csv.DictReader(file)}
