"""The width of output, and whether there are colours."""

from __future__ import annotations

import os
import shutil
import sys

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
