"""Rows of tables as dictionaries by column, for what is printed without pandas, which takes long to import.

A value that does not exist is None, as ``dataframes.records`` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]


# Columns that identify a case.
CASE = ("scenario", "platform_hash", "network", "app", "class", "ranks", "mapping", "clusters", "efficiency")


def column(rows: Iterable[Row], name: str) -> list[Any]:
    """Return the values of a column.

    >>> column([{"app": "cg"}, {"app": "mg"}], "app")
    ['cg', 'mg']
    """
    return [row[name] for row in rows]


def known(rows: Iterable[Row], *names: str) -> list[Row]:
    """Return the rows that have a value in each of these columns."""
    return [row for row in rows if all(row[name] is not None for name in names)]


def rows_by(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows grouped by the values of some columns, in the order of first occurrence.

    >>> {key: len(part) for key, part in rows_by([{"app": "cg"}, {"app": "mg"}, {"app": "cg"}], "app").items()}
    {('cg',): 2, ('mg',): 1}
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def distinct(rows: Iterable[Row], name: str) -> list[Any]:
    """Return the different values of a column, in the order of first occurrence."""
    return list(dict.fromkeys(row[name] for row in rows))


def without_nan(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the rows with None in the place of NaN, which JSON does not have."""
    return [{name: None if _is_nan(value) else value for name, value in row.items()} for row in rows]


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
