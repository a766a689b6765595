"""Sentences on a terminal, wrapped at its width, and whether it has colours."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

DEFAULT = 80  # columns of tables and sentences without a terminal, so that a pipe and a file always get the same text
LONGEST = 100  # columns; longer lines of sentences are hard to read
UNLIMITED = 1_000_000


def table_width(*, wide: bool = False) -> int:
    """Return the width to which tables are folded: that of the terminal, or DEFAULT; with ``wide`` there is none."""
    if wide:
        return UNLIMITED
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else DEFAULT


def prose_width() -> int:
    """Return the width of sentences."""
    return max(40, min(table_width(), LONGEST))


def coloured() -> bool:
    """Return whether standard output is a terminal with colours, and NO_COLOR (https://no-color.org) is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_UNIT = re.compile(r"(?<=\d) (?=(?:%|s|ms|us|min|h|days|years|J|Wh|W|bytes?)(?!\w))")  # blank between number and unit
_JOINT = "\0"  # stands for that blank while lines are broken


def prose_lines(text: str, *, indent: str = "", first: str | None = None) -> list[str]:
    """Return a text in lines of the terminal's width; words that are longer, such as file names, stay whole.

    A number and its unit stay together.

    Args:
        text: The text, of one paragraph.
        indent: Stands before every line.
        first: Stands before the first line instead; None: the same as ``indent``.
    """
    lines = textwrap.wrap(
        _UNIT.sub(_JOINT, text),
        prose_width(),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_JOINT, " ") for line in lines]


def folded_lines(lines: Iterable[str]) -> list[str]:
    """Return lines of sentences with those folded that are longer than the terminal; they keep their indentation.

    >>> folded_lines(["  chosen: all nodes", "  of 404 configurations"])
    ['  chosen: all nodes', '  of 404 configurations']
    """
    made = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        short = len(line) <= prose_width()
        made += [line] if short else prose_lines(line.lstrip(), indent=f"{indent}    ", first=indent)
    return made


def numbered_lines(texts: Sequence[str]) -> list[str]:
    """Return the texts as a numbered list, as tables refer to it.

    >>> numbered_lines(["outside the model's regime", "the platform changes"])
    ["1  outside the model's regime", '2  the platform changes']
    """
    width = len(str(len(texts)))
    return [
        line
        for number, text in enumerate(texts, 1)
        for line in prose_lines(text, indent=" " * (width + 2), first=f"{number:>{width}}  ")
    ]
