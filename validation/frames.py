"""What is in a DataFrame as plain rows, records and groups; pandas' types do not know the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = "Sequence[Any] | pd.Series[Any]"


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Row by row, the values by column; None where there is none: JSON has no NaN."""
    rows: list[Any] = table.astype(object).where(table.notna(), None).to_dict("records")
    return rows


def rows_of(table: pd.DataFrame) -> Iterator[Any]:
    """Row by row, with the columns as attributes."""
    return iter(table.itertuples(index=False))


def grouped(
    table: pd.DataFrame, columns: str | list[str], *, dropna: bool = True
) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The groups in the order in which they first occur, each with its key: of a list of columns, a tuple.

    ``dropna``: rows without a value in one of the columns are in no group.
    """
    yield from table.groupby(columns, sort=False, dropna=dropna)
