"""The file of calibration cases: predictions, their features and their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from platforms.simgrid.installed import simgrid_version
from predictor.intervals.cases import CASE_COLUMNS, CalibrationCase
from validation.comparison.coverage import features_of_row
from validation.comparison.rows import records


def cases_of(results: pd.DataFrame) -> list[CalibrationCase]:
    """Return the cases of results: every prediction with a positive time."""
    usable = results[results["predicted_s"] > 0]
    return [
        CalibrationCase(
            str(row["predictor"]),
            _grid(row),
            features_of_row(row),
            math.log(float(row["simulated_s"]) / float(row["predicted_s"])),
        )
        for row in records(usable)
    ]


def _grid(row: Mapping[str, Any]) -> str:
    """Return the name of a result's grid, with its network if that is a named one."""
    name, network = str(row["scenario"]), row.get("network")
    return name if network is None or name.startswith("random-") else f"{name} {network}"


def cases_text(results: pd.DataFrame, command: str) -> str:
    """Return the contents of a file of cases: comments on its origin, then the rows.

    Args:
        results: The results of campaigns.
        command: The command that made the file.
    """
    programs = dict.fromkeys(f"{row['app']} {row['class']}" for row in records(results[["app", "class"]]))
    rows = [
        (
            case.predictor,
            case.features.app,
            case.features.surroundings,
            case.grid,
            *_numbers(case),
            f"{case.log_error:.6g}",
        )
        for case in cases_of(results)
    ]
    lines = [
        "# Calibration cases of intervals: features of predictions, and ln(simulated time / predicted time).",
        f"# Made by: {command}",
        f"# From the simulated runs of {', '.join(programs)}; SimGrid {simgrid_version()}.",
        pd.DataFrame(rows, columns=list(CASE_COLUMNS)).to_csv(index=False).rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"


def _numbers(case: CalibrationCase) -> tuple[str, ...]:
    features = case.features
    values = (features.compute_share, features.ratio, features.fit_residual)
    return tuple("" if value is None else f"{value:.5g}" for value in values)
