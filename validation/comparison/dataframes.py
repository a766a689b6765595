"""Rows, records and groups of a DataFrame with simple types, since pandas' types do not know the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = "Sequence[Any] | pd.Series[Any]"


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
