"""How far a set of runs has come, on standard error: one bar on a terminal, a line per run elsewhere."""

from __future__ import annotations

import sys
import threading
import time

from apps.spec import RunSpec
from apps.wording import number_of


class Progress:
    """Called with every finished run, from any thread."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._lock = threading.Lock()
        self._total = 0
        self._done = 0
        self._bar = None

    def expect(self, runs: int) -> None:
        """So many more runs are to come."""
        with self._lock:
            self._total += runs
            if sys.stderr.isatty():
                from tqdm import tqdm

                if self._bar is None:
                    self._bar = tqdm(total=self._total, unit="run", dynamic_ncols=True)
                self._bar.total = self._total
                self._bar.refresh()

    def __call__(self, spec: RunSpec, *, known: bool) -> None:
        """A run is there; ``known``: it did not have to be simulated."""
        target = spec.target
        what = f"{target.problem} on {number_of(target.nranks, 'rank')} of {target.platform.name}"
        with self._lock:
            self._done += 1
            if self._bar is not None:
                self._bar.set_postfix_str(what, refresh=False)
                self._bar.update()
            if self._bar is not None or known:
                return
            passed_s = time.perf_counter() - self._started
            print(f"[{passed_s:7.1f} s] {self._done} of {self._total}: {what}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves the terminal in order."""
        if self._bar is not None:
            self._bar.close()
