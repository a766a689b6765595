"""Rows, records and groups of a DataFrame with simple types, since pandas' types do not know the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    import pandas as pd

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
