"""Results that a command has kept: results.csv of --out, or what --json printed."""

from __future__ import annotations

import json
import math
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.errors import UserError
from platforms.files.reading import input_text
from predictor.families import current_name
from validation.comparison.compare import COLUMNS
from validation.comparison.rows import records

if TYPE_CHECKING:
    import pandas as pd

# Columns without which results are of no use; those after the first four hold numbers.
_NEEDED = (
    *("predictor", "app", "class", "scenario", "predicted_s", "simulated_s", "interval_low_s", "interval_high_s"),
    *("feature_compute_share", "feature_ratio", "feature_fit_residual"),
)
_NUMBERS = 4
REMEDY = (
    "Name a results.csv that gridval run, series campaign or series league has written, or a file of what they "
    "print with --json"
)


def read_results(path: str | Path) -> pd.DataFrame:
    """Return the results in a file, or in results.csv of a folder; predictors have their names of today.

    Raises:
        UserError: The file cannot be read, or lacks columns.
    """
    # Imported here because it is slow to import.
    import pandas as pd

    file = Path(path) / "results.csv" if Path(path).is_dir() else Path(path)
    try:
        text = input_text(file)
        table = pd.DataFrame(_json_rows(text)) if text.lstrip().startswith("{") else _csv(text)
    except (OSError, ValueError) as err:  # pandas' and json's errors of the format are ValueErrors
        raise UserError(str(file), _one_line(err), REMEDY) from err
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise UserError(str(file), f"no columns {', '.join(missing)}", REMEDY)
    if table.empty:
        raise UserError(str(file), "no results", REMEDY)
    for name in _NEEDED[_NUMBERS:]:  # a column that has no value at all is one of numbers
        if table[name].isna().all():
            table[name] = table[name].astype(float)
        if not pd.api.types.is_numeric_dtype(table[name]):
            raise UserError(str(file), f"column {name} has values that are no numbers", REMEDY)
    table["predictor"] = table["predictor"].map(current_name)
    for name in ("simulated_s", "feature_ratio"):
        known = table[name].dropna()
        if not ((known > 0) & (known < math.inf)).all():
            raise UserError(str(file), f"column {name} has values that are not positive", REMEDY)
    return table


def rows_of_results(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows with all columns of results of today; what an older version did not keep is None."""
    whole = table.reindex(columns=[*COLUMNS, *(name for name in table if name not in COLUMNS)])
    return [row | {"flags": row["flags"] or ""} for row in records(whole)]


def _csv(text: str) -> pd.DataFrame:
    # Imported here because it is slow to import.
    import pandas as pd

    return pd.read_csv(StringIO(text), dtype={"class": str})


def _json_rows(text: str) -> list[dict[str, Any]]:
    results = json.loads(text).get("results")
    if not isinstance(results, list) or not all(isinstance(row, dict) for row in results):
        raise ValueError("there is no list of results in it")
    return results


def _one_line(err: Exception) -> str:
    if isinstance(err, OSError) and err.strerror:
        return err.strerror
    return str(err).strip().splitlines()[-1] if str(err).strip() else "cannot be read"
