"""Tables of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table_lines(rows: Sequence[Sequence[str]], *, left: Collection[int] = ()) -> list[str]:
    """Return the lines of a table: columns two blanks apart, each as wide as its widest cell.

    Args:
        rows: Cells by row, all rows of one length; the first row has the headings.
        left: Numbers of the columns that are left-aligned; all others are right-aligned.

    >>> for line in table_lines([("node", "s"), ("c1-0", "12.5"), ("c2-10", "3")], left={0}):
    ...     print(line)
    node      s
    c1-0   12.5
    c2-10     3
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
