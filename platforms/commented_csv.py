"""CSV files whose lines may be comments, which begin with #."""

from __future__ import annotations

import csv
from pathlib import Path

from platforms.reading import input_text


def commented_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a file in UTF-8 by the columns of its first line.  Raises OSError."""
    _, rows = numbered_rows(input_text(path))
    return [row for _, row in rows]


def numbered_rows(text: str) -> tuple[tuple[str, ...], list[tuple[int, dict[str, str]]]]:
    """The columns, and every row with the number of the line that it ends on; empty lines are none.

    A row with too few values has None for those that are missing.  Raises csv.Error for what is not CSV.
    """
    lines = enumerate(text.splitlines(keepends=True), 1)
    kept = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    reader = csv.DictReader(line for _, line in kept)
    columns = tuple(reader.fieldnames or ())
    return columns, [(kept[reader.line_num - 1][0], row) for row in reader]
