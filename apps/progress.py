"""How far a set of runs has come, on standard error: one bar on a terminal, a line per run elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from apps.spec import RunSpec
from apps.wording import number_of

if TYPE_CHECKING:
    from tqdm import tqdm


class Progress:
    """Called with every finished run, from any thread."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._lock = threading.Lock()
        self._total = 0
        self._done = 0
        self._bar: tqdm[NoReturn] | None = None
        self._has_waited = False
        self._gone: OSError | None = None  # what writing has come to

    def expect(self, runs: int) -> None:
        """So many more runs are to come."""
        with self._lock, self._reader_looked_after():
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
        with self._lock, self._reader_looked_after():
            self._done += 1
            if self._bar is not None:
                self._bar.set_postfix_str(what, refresh=False)
                self._bar.update()
            if self._bar is not None or known:
                return
            passed_s = time.perf_counter() - self._started
            print(f"[{passed_s:7.1f} s] {self._done} of {self._total}: {what}", file=sys.stderr, flush=True)

    def waits(self, spec: RunSpec) -> None:
        """Another process is making this run.  Said once, where there is no bar."""
        with self._lock, self._reader_looked_after():
            if not self._has_waited and self._bar is None:
                what = f"{spec.target.problem} on {spec.target.platform.name}"
                print(f"waiting for what another command is simulating: {what}", file=sys.stderr, flush=True)
            self._has_waited = True

    def check(self) -> None:
        """To be called by the main thread now and then.  Raises OSError where nobody reads standard error any more: a
        run does not fail by that, but the command is to end."""
        if self._gone is not None:
            raise self._gone

    @contextmanager
    def _reader_looked_after(self) -> Iterator[None]:
        try:
            yield
        except OSError as err:
            self._gone = err

    def close(self) -> None:
        """Leaves the terminal in order."""
        if self._bar is not None:
            with self._reader_looked_after():
                self._bar.close()
