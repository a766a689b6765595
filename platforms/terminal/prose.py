"""Sentences on a terminal, wrapped at its width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from platforms.terminal.width import prose_width

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
