"""Progress on standard error: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Never

if TYPE_CHECKING:
    from tqdm import tqdm

_FORM = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}] {desc}"
SEARCH_LINES_S = 5.0  # time between the lines of a search


class Progress:
    """Progress display of a long search: call it with a description, the number of steps done, and their total number.

    ``every_s`` is the least time between two lines, where there is no bar.
    """

    def __init__(self, *, every_s: float = SEARCH_LINES_S) -> None:
        self._every_s = every_s
        self._started_s = self._latest_line_s = time.perf_counter()
        self._bar: tqdm[Never] | None = None  # has no iterable; show sets its position

    @property
    def has_bar(self) -> bool:
        """True if a bar is drawn; other lines on the terminal would break it."""
        return self._bar is not None

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps are done."""
        if sys.stderr.isatty():
            self.draw(what, done, total)
        elif (now_s := time.perf_counter()) - self._latest_line_s >= self._every_s:
            self._latest_line_s = now_s
            print(f"[{now_s - self._started_s:7.1f} s] {done} of {total}: {what}", file=sys.stderr, flush=True)

    def draw(self, what: str, done: int, total: int) -> None:
        """Draw the bar, whatever standard error is."""
        # Imported here for a quick start: it is slow to import.
        from tqdm import tqdm

        if self._bar is None:
            self._bar = tqdm(total=total, dynamic_ncols=True, bar_format=_FORM)
        self._bar.total = total
        self._bar.n = done
        self._bar.set_description_str(what)

    def close(self) -> None:
        """Close the bar, so that later output starts on a new line."""
        if self._bar is not None:
            self._bar.close()
