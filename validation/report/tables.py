"""Tables of a report: what stands in them, how it is written, and by what it is sorted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

NOTHING = "\N{EN DASH}"  # where there is no number
MOST_ROWS = 1500  # of one table: a page of more is no pleasure


@dataclass(frozen=True)
class Column:
    """A column; its sort order is that of numbers or of words."""

    title: str
    number: bool = True


@dataclass(frozen=True)
class Cell:
    """A value as it is written."""

    text: str
    order: float | None = None  # that it is sorted by, where the text does not tell
    note: str = ""  # for those who point at it or listen
    mark: str = ""  # class of the page's style


@dataclass(frozen=True)
class Table:
    """The first column names the row."""

    name: str  # id in the page
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]
    left_out: int = 0  # rows
    wide: bool = field(default=False, kw_only=True)  # printed across

    @property
    def searchable(self) -> bool:
        return len(self.rows) > 30


def table(
    name: str, caption: str, columns: Iterable[Column], rows: Iterable[Sequence[Cell | str]], *, wide: bool = False
) -> Table:
    """Of the first MOST_ROWS of the rows; words become cells."""
    made = [tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows]
    return Table(name, caption, tuple(columns), made[:MOST_ROWS], max(0, len(made) - MOST_ROWS), wide=wide)


def words(*titles: str) -> list[Column]:
    """Columns of words."""
    return [Column(title, number=False) for title in titles]


def numbers(*titles: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(title) for title in titles]


def known(value: object) -> bool:
    """Whether there is a value: neither None nor NaN."""
    return value is not None and value == value


def number(value: float | None, form: str = "{:.4g}", *, mark: str = "", note: str = "") -> Cell:
    """A number as ``form`` writes it, sorted by all its digits; NOTHING for None and NaN."""
    if value is None or math.isnan(value):
        return Cell(NOTHING, note=note)
    if math.isinf(value):
        return Cell("∞" if value > 0 else "-∞", order=value, note=note)
    return Cell(written(value, form), float(f"{value:.6g}"), note, mark)


def interval(low: float | None, high: float | None, form: str, *, note: str = "") -> Cell:
    """From ``low`` to ``high``, sorted by where it begins; NOTHING where there is none."""
    if low is None or high is None or math.isnan(low):
        return Cell(NOTHING, note=note)
    return Cell(f"{written(low, form)} to {written(high, form)}", order=float(f"{low:.6g}"))


def written(value: float, form: str) -> str:
    """A number as ``form`` writes it, with signs of minus, and none before a zero."""
    text = form.format(value).replace("-", "\N{MINUS SIGN}")
    return text if re.search("[1-9]", text) else text.lstrip("+\N{MINUS SIGN}")


def either(value: object, form: Callable[[object], str] = str) -> str:
    """The value as words, or NOTHING."""
    return form(value) if known(value) else NOTHING
