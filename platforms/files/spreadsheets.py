"""Texts in CSV files: spreadsheets must not take a name such as ``=cmd|calc`` for a formula.

Such a text gets a quotation mark in front, as OWASP recommends (owasp.org, "CSV Injection").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd

_STARTS = ("=", "+", "-", "@", "\t", "\r")
_MARK = "'"
Value = TypeVar("Value")


def cell(value: Value) -> Value | str:
    """Return a value for a cell of a CSV file: a text that a spreadsheet would evaluate gets a mark; others stay.

    >>> cell("=1+1"), cell("cg"), cell("-0.5"), cell(-0.5)
    ("'=1+1", 'cg', '-0.5', -0.5)
    """
    return f"{_MARK}{value}" if isinstance(value, str) and _evaluated(value) else value


def cell_text(cell: str) -> str:
    """Return the text of a cell without the mark that ``cell`` adds.

    >>> cell_text("'=1+1"), cell_text("'quoted'")
    ('=1+1', "'quoted'")
    """
    return cell[1:] if cell.startswith(_MARK) and _evaluated(cell[1:]) else cell


def safe_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with ``cell`` applied to its column names and texts."""
    texts = {name: table[name].map(cell) for name in table.columns if table[name].dtype.kind not in "biufcM"}
    return table.assign(**texts).rename(columns=cell)


def _evaluated(text: str) -> bool:
    if len(text) < 2 or not text.startswith(_STARTS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
