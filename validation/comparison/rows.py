"""Rows of tables as dictionaries by column, for what is printed without pandas, which takes long to import.

A value that does not exist is None, as ``records`` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    import pandas as pd

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


_Table = TypeVar("_Table", bound="pd.DataFrame")
Column: TypeAlias = "Sequence[Any] | pd.Series[Any]"


# Numbers that all rows may lack, which pandas would not know as numbers then.
_MAYBE_NOWHERE = (
    *("true_low_s", "true_high_s", "interval_low_s", "interval_high_s"),
    *("feature_compute_share", "feature_ratio", "feature_fit_residual"),
)


def numbers_known(table: _Table) -> _Table:
    """Return a table of results in which columns that have no value at all are as a CSV reader would make them."""
    changed: Any = table.astype(dict.fromkeys(_MAYBE_NOWHERE, float))
    known = changed["in_repeats"]
    changed["in_repeats"] = known.where(known.notna(), float("nan"))
    return cast("_Table", changed)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as dictionaries by column; missing values are None, because JSON has no NaN."""
    rows: list[Any] = table.astype(object).where(table.notna(), None).to_dict("records")
    return rows


def rows_of(table: pd.DataFrame) -> Iterator[Any]:
    """Iterate over the rows; the columns are attributes of a row."""
    return iter(table.itertuples(index=False))


def grouped(
    table: pd.DataFrame, columns: str | list[str], *, dropna: bool = True
) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield each group with its key, in the order of first occurrence.

    Args:
        table: The rows.
        columns: The columns to group by; a list makes the key a tuple.
        dropna: Leave out the rows that have no value in one of the columns.
    """
    yield from table.groupby(columns, sort=False, dropna=dropna)
