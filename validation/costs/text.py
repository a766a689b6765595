"""Costs and emissions of runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from platforms.prices.bill import UNKNOWN
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import significant
from platforms.terminal.table import table_lines
from validation.comparison.rows import Row
from validation.presentation.tables import truth_name


def costs_text(rows: Sequence[Row]) -> str:
    """Return a table of predicted and true costs and emissions, and below it what is unknown and the sources."""
    truth = truth_name(row["truth"] for row in rows)
    currency = next((row["currency"] for row in rows if row["currency"] is not None), None)
    emits = any(row["carbon_simulated_g"] is not None or "kWh" in row["bill_notes"] for row in rows)
    emits = emits or any(row["carbon_predicted_g"] is not None for row in rows)
    later = any(row["least_carbon_g"] is not None for row in rows)
    head = ["platform", "program", "predictor"]
    head += [f"predicted {currency}", truth] if currency is not None else []
    head += ["predicted g CO2e", truth] if emits else []
    head += ["least g CO2e", "start"] if later else []
    lines = [head]
    for row in rows:
        cells = [str(row["scenario"]), " ".join(filter(None, (row["app"], row["class"]))), str(row["predictor"])]
        cells += [_shown(row[f"cost_{of}"], row) for of in ("predicted", "simulated")] if currency is not None else []
        cells += [_shown(row[f"carbon_{of}_g"], row) for of in ("predicted", "simulated")] if emits else []
        cells += [_shown(row["least_carbon_g"], row), row["least_carbon_start"] or "-"] if later else []
        lines.append(cells)
    notes = dict.fromkeys(row["bill_notes"] for row in rows if row["bill_notes"])
    table = table_lines(lines, left={0, 1, 2})
    return "\n".join(["Costs and emissions", "", *table, *(line for note in notes for line in prose_lines(note))])


def _shown(value: float | None, row: Row) -> str:
    if value is not None:
        return significant(value, 4)
    return "-" if row["predicted_s"] is None else UNKNOWN
