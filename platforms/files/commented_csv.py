"""CSV files with comment lines, which begin with #."""

from __future__ import annotations

import csv
from pathlib import Path

from platforms.files.reading import input_text


def commented_rows(path: str | Path) -> list[dict[str, str]]:
    """Return the rows of a UTF-8 file; the first line names the columns.

    Raises:
        OSError: The file cannot be read.
    """
    _, rows = numbered_rows(input_text(path))
    return [row for _, row in rows]


def numbered_rows(text: str) -> tuple[tuple[str, ...], list[tuple[int, dict[str, str]]]]:
    """Return the columns, and every row with the number of its last line.

    Empty lines are skipped.  A row with too few values has None for the missing ones.

    Raises:
        csv.Error: The text is not CSV.
    """
    lines = enumerate(text.splitlines(keepends=True), 1)
    kept = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    reader = csv.DictReader(line for _, line in kept)
    columns = tuple(reader.fieldnames or ())
    return columns, [(kept[reader.line_num - 1][0], row) for row in reader]
