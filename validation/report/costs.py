"""Costs and emissions in a report, of runs with --price or --carbon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validation.report.gather import Gathered
from validation.report.sections import Progress, Section
from validation.report.tables import amount_cell, numbers, table, words

if TYPE_CHECKING:
    import pandas as pd


def steps(gathered: Gathered) -> int:
    """Return the number of steps that take long: none."""
    return 0


def script() -> str:
    """Return the JavaScript that the section needs, which is none."""
    return ""


def sections(gathered: Gathered, results: pd.DataFrame, progress: Progress) -> list[Section]:
    """Return the section of costs and emissions, if the rows have them (validation/costs.py)."""
    rows = [row for row in gathered.rows if "cost_predicted" in row or "carbon_predicted_g" in row]
    if not rows:
        return []
    columns = [
        *words("platform", "program", "predictor"),
        *numbers("cost predicted", "cost of the run"),
        *words("currency"),
        *numbers("predicted, g CO2e", "of the run, g CO2e", "least, g CO2e"),
        *words("its start", "unknown, and sources"),
    ]
    cells = [
        [
            row["scenario"], " ".join(filter(None, (row["app"], row["class"]))), row["predictor"],
            amount_cell(row["cost_predicted"]), amount_cell(row["cost_simulated"]), row["currency"] or "",
            amount_cell(row["carbon_predicted_g"]), amount_cell(row["carbon_simulated_g"]),
            amount_cell(row["least_carbon_g"]), row["least_carbon_start"] or "", row["bill_notes"] or "",
        ]
        for row in rows
    ]  # fmt: skip
    section = Section("bills", "Costs and emissions")
    section.tables.append(table("bills", "Costs and emissions of the predicted runs", columns, cells, wide=True))
    return [section]
