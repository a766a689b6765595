"""Progress of a set of runs on standard error: a live line on a terminal, otherwise a line per minute at most."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from apps.spec.run_spec import RunSpec
from platforms.terminal.progress import Progress


class RunProgress:
    """Display of finished runs; its methods can be called from any thread, but ``check`` is for the main thread."""

    def __init__(self) -> None:
        self._display = Progress()
        self._lock = threading.Lock()
        self._total = 0
        self._done = 0
        self._has_waited = False
        self._write_error: OSError | None = None

    def start(self) -> None:
        """Show activity on a terminal from now on until ``close``."""
        with self._lock, self._write_errors_kept():
            if sys.stderr.isatty():
                self._display.go_live()

    def expect(self, runs: int) -> None:
        """Add ``runs`` to the number of expected runs."""
        with self._lock, self._write_errors_kept():
            self._total += runs
            if sys.stderr.isatty():
                self._display("", self._done, self._total)

    def __call__(self, spec: RunSpec, *, known: bool) -> None:
        """Count and show a finished run; ``known``: its record came from the store, which only a live line shows."""
        with self._lock, self._write_errors_kept():
            self._done += 1
            if self._display.is_live or not known:
                self._display(str(spec.target), self._done, self._total)

    def waits(self, spec: RunSpec) -> None:
        """Report, once and only without a live line, that this process waits for a run of another process."""
        with self._lock, self._write_errors_kept():
            if not self._has_waited and not self._display.is_live:
                what = f"{spec.target.problem} on {spec.target.platform.name}"
                print(f"waiting for another command that simulates {what}", file=sys.stderr, flush=True)
            self._has_waited = True

    def check(self) -> None:
        """Raise the OSError of an earlier failed write; the main thread calls this from time to time.

        When standard error is closed, runs do not fail, but the command has to end.

        Raises:
            OSError: A write to standard error has failed.
        """
        if self._write_error is not None:
            raise self._write_error

    @contextmanager
    def _write_errors_kept(self) -> Iterator[None]:
        try:
            yield
        except OSError as err:
            self._write_error = err

    def close(self) -> None:
        """Remove the live line, which leaves the terminal in order."""
        with self._write_errors_kept():
            self._display.close()
