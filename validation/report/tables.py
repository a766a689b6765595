"""Tables of a report: cells with their text and sort order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from platforms.terminal.quantities import duration, percent, significant

NOTHING = "\N{EN DASH}"  # text of a missing value
_TIME_DIGITS = 4
MOST_ROWS = 1500  # rows of a table, so that the page stays usable


@dataclass(frozen=True)
class Column:
    """A column, sorted as numbers or as words."""

    title: str
    number: bool = True


@dataclass(frozen=True)
class Cell:
    """A value as text."""

    text: str
    order: float | None = None  # sort key; None: the text
    note: str = ""  # tooltip, also read by screen readers
    mark: str = ""  # CSS class


@dataclass(frozen=True)
class Table:
    """A table whose first column names the row."""

    name: str  # id in the page
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]
    left_out: int = 0  # number of rows that are not shown
    wide: bool = field(default=False, kw_only=True)  # printed in landscape format

    @property
    def searchable(self) -> bool:
        """True if the page offers a search field for the table."""
        return len(self.rows) > 30


def table(
    name: str, caption: str, columns: Iterable[Column], rows: Iterable[Sequence[Cell | str]], *, wide: bool = False
) -> Table:
    """Return a table of the first MOST_ROWS rows; strings become cells."""
    made = [tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows]
    return Table(name, caption, tuple(columns), made[:MOST_ROWS], max(0, len(made) - MOST_ROWS), wide=wide)


def words(*titles: str) -> list[Column]:
    """Return columns of words."""
    return [Column(title, number=False) for title in titles]


def numbers(*titles: str) -> list[Column]:
    """Return columns of numbers."""
    return [Column(title) for title in titles]


def known(value: object) -> bool:
    """Return whether the value is neither None nor NaN."""
    return value is not None and value == value


def number(value: float | None, form: str = "{:.4g}", *, mark: str = "", note: str = "") -> Cell:
    """Return the cell of a number formatted by ``form``, sorted to six digits; NOTHING for None and NaN."""
    if value is None or math.isnan(value):
        return Cell(NOTHING, note=note)
    if math.isinf(value):
        return Cell("∞" if value > 0 else "-∞", order=value, note=note)
    return Cell(number_text(value, form), float(f"{value:.6g}"), note, mark)


def interval(low: float | None, high: float | None, form: str, *, note: str = "") -> Cell:
    """Return the cell of an interval, sorted by its lower end; NOTHING for None and NaN."""
    if low is None or high is None or math.isnan(low):
        return Cell(NOTHING, note=note)
    return Cell(f"{number_text(low, form)} to {number_text(high, form)}", order=float(f"{low:.6g}"))


def time_cell(time_s: float | None, *, like_s: float | None = None, mark: str = "") -> Cell:
    """Return the cell of a time with four digits and its unit, sorted by its seconds; NOTHING for None and NaN.

    Args:
        time_s: The time, s.
        like_s: The unit is the one that suits this time; None: the time itself.
        mark: CSS class.
    """
    if time_s is None or math.isnan(time_s):
        return Cell(NOTHING)
    suited_s = like_s if like_s and not math.isnan(like_s) else time_s
    return Cell(duration(time_s, like_s=suited_s, digits=_TIME_DIGITS), float(f"{time_s:.6g}"), mark=mark)


def amount_cell(value: float | None, digits: int = 4) -> Cell:
    """Return the cell of a number without an exponent where it reads well without; NOTHING for None and NaN."""
    if value is None or math.isnan(value):
        return Cell(NOTHING)
    return Cell(significant(value, digits).replace("-", "\N{MINUS SIGN}"), float(f"{value:.6g}"))


def error_cell(error_pct: float | None, *, signed: bool = True, mark: str = "") -> Cell:
    """Return the cell of an error in % with three digits; NOTHING for None and NaN."""
    if error_pct is None or math.isnan(error_pct):
        return Cell(NOTHING)
    text = percent(error_pct, signed=signed).replace("-", "\N{MINUS SIGN}")
    return Cell(text, float(f"{error_pct:.6g}"), mark=mark)


def number_text(value: float, form: str) -> str:
    """Return the formatted number with typographic minus signs, and without a sign before zero."""
    text = form.format(value).replace("-", "\N{MINUS SIGN}")
    return text if re.search("[1-9]", text) else text.lstrip("+\N{MINUS SIGN}")


def text_or_nothing(value: object, form: Callable[[object], str] = str) -> str:
    """Return the formatted value, or NOTHING for None and NaN."""
    return form(value) if known(value) else NOTHING
