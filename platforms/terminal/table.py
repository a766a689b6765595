"""Tables of text, laid out by rich."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from platforms.terminal.prose import coloured, prose_lines, table_width

_GAP = 2  # blanks between columns
_LEAST = 12  # to which width words are folded
_LONGEST_NAME = 40  # a longer word without a blank, such as the path of a file, is broken where a table is too wide


@dataclass(frozen=True)
class Cell:
    """A cell with a style of rich's, such as ``red`` or ``dim``, which is seen only on a terminal."""

    text: str
    style: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Group:
    """A line between the rows of a table: the title of those that follow."""

    title: str


Cells: TypeAlias = Sequence[str | Cell]


def table_lines(rows: Sequence[Cells | Group], *, left: Collection[int] = (), wide: bool = False) -> list[str]:
    """Return the lines of a table: columns two blanks apart, each as wide as its widest cell.

    A table that is wider than the terminal, or than 80 columns without one, is made narrower by folding the headings
    of its numbers, and then its left-aligned cells, between words.  Numbers and names are neither folded nor cut off,
    so that a table of many columns stays wider.

    Args:
        rows: Cells by row, all rows of one length; the first row has the headings.
        left: Numbers of the columns that are left-aligned; all others are right-aligned.
        wide: The table may be wider than the terminal.

    >>> for line in table_lines([("node", "s"), ("c1-0", "12.5"), ("c2-10", "3")], left={0}):
    ...     print(line)
    node      s
    c1-0   12.5
    c2-10     3
    """
    headings = rows[0]
    assert not isinstance(headings, Group)
    blank = ("",) * len(headings)  # in the place of a title; no row of a table is blank
    cells = [blank if isinstance(row, Group) else row for row in rows]
    widths = _natural_widths(cells)
    gaps = _GAP * (len(widths) - 1)
    excess = sum(widths) + gaps - table_width()
    if excess > 0 and not wide:
        cells = [_folded(headings, cells[1:], left, excess), *cells[1:]]
        widths = _natural_widths(cells)
    total = sum(widths) + gaps
    least = [
        _least(column) if number in left else width
        for number, (column, width) in enumerate(zip(zip(*cells, strict=True), widths, strict=True))
    ]
    width = max(total, 1) if wide else max(table_width(), sum(least) + gaps)
    one_line = not any("\n" in str(heading) for heading in cells[0])
    if total <= width and one_line and not coloured():  # much quicker, and the same lines
        lines = [_joined(row, widths, left) for row in cells]
    else:
        lines = _laid_out(cells, left, width, least)
    titles = (row.title for row in rows if isinstance(row, Group))
    return list(chain.from_iterable([line] if line else ["", *prose_lines(next(titles))] for line in lines))


def _natural_widths(rows: Sequence[Cells]) -> list[int]:
    # Imported here because it is slow to import.
    from rich.cells import cell_len

    def width(cell: str | Cell) -> int:
        return max(map(cell_len, str(cell).split("\n")))

    return [max(map(width, column)) for column in zip(*rows, strict=True)]


def _folded(headings: Cells, rows: Sequence[Cells], left: Collection[int], excess: int) -> list[str | Cell]:
    """Return the headings with those above numbers folded between words, until the table is narrower by ``excess``.

    The headings that save most are folded first.
    """
    # Imported here because it is slow to import.
    from textwrap import fill

    made, saved = list(headings), {}
    for number, heading in enumerate(map(str, headings)):
        if number not in left and rows:
            widest = max(len(str(row[number])) for row in rows)
            width = max(widest, *map(len, heading.split()), 1)
            saved[number] = max(len(heading), widest) - width, width
    for number, (saving, width) in sorted(saved.items(), key=lambda item: -item[1][0]):
        if excess <= 0 or saving == 0:
            break
        folded, cell = (
            fill(str(headings[number]), width, break_long_words=False, break_on_hyphens=False),
            headings[number],
        )
        made[number] = Cell(folded, cell.style) if isinstance(cell, Cell) else folded
        excess -= saving
    return made


def _least(column: Cells) -> int:
    """Return the width to which a left-aligned column may be folded: no name in it is broken."""
    # Imported here because it is slow to import.
    from rich.cells import cell_len

    longest = max(cell_len(word) for cell in column for word in ("", *str(cell).split()))
    widest = max(cell_len(str(cell)) for cell in column)
    return min(widest, max(_LEAST, min(longest, _LONGEST_NAME)))


def _joined(row: Cells, widths: Sequence[int], left: Collection[int]) -> str:
    # Imported here because it is slow to import.
    from rich.cells import cell_len

    made = []
    for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
        blanks = " " * (width - cell_len(str(cell)))
        made.append(f"{cell}{blanks}" if number in left else f"{blanks}{cell}")
    return (" " * _GAP).join(made).rstrip()


def _laid_out(rows: Sequence[Cells], left: Collection[int], width: int, least: Sequence[int]) -> list[str]:
    # Imported here because they are slow to import.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def text(cell: str | Cell) -> Text:
        return Text(cell.text, style=cell.style) if isinstance(cell, Cell) else Text(cell)

    headings, *body = rows
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    for number, heading in enumerate(headings):
        words = number in left
        table.add_column(
            text(heading), justify="left" if words else "right",
            no_wrap=not words, overflow="fold", min_width=least[number],
        )  # fmt: skip
    for row in body:
        table.add_row(*map(text, row))
    colours = coloured()
    drawn = io.StringIO()
    Console(
        file=drawn, width=width, force_terminal=colours, color_system="standard" if colours else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    ).print(table)  # fmt: skip
    return [line.rstrip() for line in drawn.getvalue().splitlines()]
