"""Recognise files of other tools by their content, and read them as tables of measured runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from platforms.errors import UserError
from platforms.perflogs import caliper, extrap_files, reframe

Row = Mapping[str, Any]
_HEAD = 65536  # characters, by which a file is known: tables may be large
_REMEDY = "Give a CSV file, or one of ReFrame, Caliper or Extra-P"


def table_of(text: str, where: str) -> tuple[tuple[str, ...], list[tuple[int, dict[str, str]]]] | None:
    """Return the columns and numbered rows of a file of another tool; None: it is none, so a CSV file.

    Args:
        text: The content of the file.
        where: Its name, for errors.

    Raises:
        UserError: It is such a file, but it is damaged, or has no times.
    """
    head = text[:_HEAD].lstrip("\ufeff")
    start, first = head.lstrip()[:1], head.partition("\n")[0]
    try:
        if start in ("{", "["):
            rows = _from_json(text, where)
        elif first.startswith("__rec="):
            rows = caliper.rows_of_cali(text, where)
        elif reframe.is_log(first):
            rows = reframe.rows_of_log(text)
        elif extrap_files.is_text(head):
            rows = extrap_files.rows_of_text(text)
        else:
            return None
        made = [(line, {name: _shown(value) for name, value in row.items() if value is not None}) for line, row in rows]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as err:
        raise UserError(where, f"not a file that can be read ({err!r:.100})", _REMEDY) from err
    if not made:
        raise UserError(where, "no runs with a time", _REMEDY)
    columns = tuple(dict.fromkeys(name for _, row in made for name in row))
    return columns, [(line, {name: row.get(name, "") for name in columns}) for line, row in made]


def _from_json(text: str, where: str) -> Iterable[tuple[int, Row]]:
    try:
        content = json.loads(text)
    except ValueError:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        return extrap_files.rows_of_lines(lines)
    if isinstance(content, dict):
        if "session_info" in content:
            return reframe.rows_of_report(content)
        if "measurements" in content and "parameters" in content:
            return extrap_files.rows_of_json(content)
        if {"data", "columns", "nodes"} <= content.keys():
            return caliper.rows_of_split(content)
        if {"params", "value"} <= content.keys():  # JSON Lines with one line
            return extrap_files.rows_of_lines([content])
    raise UserError(where, "JSON of an unknown form", _REMEDY)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
