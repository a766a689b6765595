"""How far a search of many predictions has come, on standard error: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Never

if TYPE_CHECKING:
    from tqdm import tqdm

_EVERY_S = 5.0  # between lines


class Progress:
    """Called with what is being done, how far, and of how many."""

    def __init__(self) -> None:
        self._started = self._said = time.perf_counter()
        self._bar: tqdm[Never] | None = None  # goes over nothing by itself

    def __call__(self, what: str, done: int, total: int) -> None:
        if sys.stderr.isatty():
            self._draw(what, done, total)
        elif (now := time.perf_counter()) - self._said >= _EVERY_S:
            self._said = now
            print(f"[{now - self._started:7.1f} s] {done} of {total}: {what}", file=sys.stderr, flush=True)

    def _draw(self, what: str, done: int, total: int) -> None:
        from tqdm import tqdm

        if self._bar is None:
            form = "{percentage:3.0f}%|{bar}| {elapsed} {desc}"
            self._bar = tqdm(total=total, dynamic_ncols=True, bar_format=form)
        self._bar.total = total
        self._bar.n = done
        self._bar.set_description_str(what)

    def close(self) -> None:
        """Leaves the terminal in order."""
        if self._bar is not None:
            self._bar.close()
