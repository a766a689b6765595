"""CSV files with comment lines, which begin with #; tables may come from files of other tools."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from platforms.addons import is_there, provided
from platforms.errors import UserError
from platforms.files.reading import input_text

_OTHER_TOOLS = "platforms.perflogs:table_of"  # an add-on
NumberedRow: TypeAlias = tuple[int, dict[str, str]]  # the number of its last line, and its values by column


def checked_rows(
    path: str | Path, columns: Sequence[str], remedy: str, *, where: str | None = None
) -> list[NumberedRow]:  # fmt: skip
    """Return the rows of a user's file, as ``numbered_rows``; it may have more columns than these.

    Args:
        path: The file, in UTF-8.
        columns: The columns that it has to have.
        remedy: Advice for another kind of file, such as "Give a CSV file of measured runs".
        where: Its place in error messages; None: its path.

    Raises:
        UserError: It cannot be read, is not CSV, or lacks a column.
    """
    where = str(path) if where is None else where
    columns_found, rows = read_table(path, remedy, where=where)
    check_columns(columns_found, columns, where)
    return rows


def read_table(path: str | Path, remedy: str, *, where: str) -> tuple[tuple[str, ...], list[NumberedRow]]:
    """Return the columns and rows of a user's file with any columns, as ``numbered_rows``.

    Raises:
        UserError: It cannot be read or is not CSV.
    """
    try:
        text = input_text(path, encoding="utf-8-sig")
    except OSError as err:
        raise UserError(where, f"cannot be read: {err.strerror or err}", remedy) from err
    except UnicodeDecodeError as err:
        raise UserError(where, "not text in UTF-8", remedy) from err
    other = provided(_OTHER_TOOLS)(text, where) if is_there(_OTHER_TOOLS.partition(":")[0]) else None
    return parsed_table(text, remedy, where=where) if other is None else other


def parsed_table(text: str, remedy: str, *, where: str) -> tuple[tuple[str, ...], list[NumberedRow]]:
    """Return the columns and rows of a text, as ``numbered_rows``.

    Raises:
        UserError: It is not CSV.
    """
    try:
        return numbered_rows(text)
    except csv.Error as err:
        raise UserError(where, f"not CSV: {err}", remedy) from err


def check_columns(columns_found: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Refuse a table that lacks a column.

    Raises:
        UserError: The first one that it lacks.
    """
    missing = [name for name in columns if name not in columns_found]
    if missing:
        raise UserError(where, f"no column {missing[0]}", f"Name the columns {', '.join(columns)} in the first line")


def commented_rows(path: str | Path) -> list[dict[str, str]]:
    """Return the rows of a UTF-8 file; the first line names the columns.

    Raises:
        OSError: The file cannot be read.
    """
    _, rows = numbered_rows(input_text(path))
    return [row for _, row in rows]


def numbered_rows(text: str) -> tuple[tuple[str, ...], list[NumberedRow]]:
    """Return the columns, and every row with the number of its last line.

    Empty lines are skipped.  A row with too few values has None for the missing ones.

    Raises:
        csv.Error: The text is not CSV.
    """
    lines = enumerate(text.splitlines(keepends=True), 1)
    kept = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    reader = csv.DictReader(line for _, line in kept)
    columns = tuple(name.strip() for name in reader.fieldnames or ())
    reader.fieldnames = columns
    return columns, [(kept[reader.line_num - 1][0], row) for row in reader]
