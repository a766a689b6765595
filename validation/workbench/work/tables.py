"""Requests to a worker that write tables of results in other formats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from platforms.errors import UserError

# Columns whose values are texts even where all of them look like numbers.
_TEXTS = ("scenario", "network", "platform_hash", "app", "class", "mapping", "predictor", "flags", "truth", "clusters")


def parquet(folder: Path, path: str, to: str) -> Iterator[dict[str, Any]]:
    """Write a CSV file of results as Parquet and yield the number of rows.

    Args:
        folder: The project folder.
        path: The CSV file.
        to: The file to write.

    Raises:
        UserError: pyarrow is not installed.
    """
    try:
        # Imported here for a quick start: they are slow to import.
        import pyarrow.csv
        from pyarrow import parquet as files
    except ImportError:
        remedy = "Install the extra parquet: pip install 'gridval[parquet]'; or take CSV"
        raise UserError("Parquet", "pyarrow is not installed", remedy) from None
    kinds = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(_TEXTS, pyarrow.string()), strings_can_be_null=True)
    table = pyarrow.csv.read_csv(path, convert_options=kinds)
    files.write_table(table, to)
    yield {"rows": table.num_rows}
