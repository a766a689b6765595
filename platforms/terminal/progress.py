"""Progress on standard error: a live line on a terminal, a line per minute elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress

LINES_S = 60.0  # least time between two lines of a search where there is no terminal
ACTIVITY_LINES_S = 60.0  # the same of activities
_PATIENCE_S = 0.5  # an activity that ends sooner is not shown
_REDRAWN_PER_S = 8


class _LiveLine:
    """The only live line of the process: a clock, a bar where the number of steps is known, and what is being done."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._shown: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None
        self._users = 0
        self._activities: list[str] = []
        self._steps: tuple[str, int, int] | None = None

    @property
    def is_shown(self) -> bool:
        """True while there is a line."""
        return self._shown is not None

    def open(self) -> None:
        """Show the line until as many calls of ``close``."""
        with self._lock:
            self._users += 1
            if self._shown is None:
                self._show()

    def close(self) -> None:
        """Remove the line after the last call."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._shown is not None:
                shown, self._shown, self._task, self._steps = self._shown, None, None, None
                shown.stop()

    def step(self, what: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps are done."""
        with self._lock:
            self._steps = (what, done, total)
            self._draw()

    @contextmanager
    def activity(self, what: str) -> Iterator[None]:
        """Show what is being done in this context, beside the steps."""
        with self._lock:
            self._activities.append(what)
            self._draw()
        try:
            yield
        finally:
            with self._lock:
                self._activities.remove(what)
                self._draw()

    def _show(self) -> None:
        # Imported here because they are slow to import.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._shown = Progress(
            SpinnerColumn(),
            TimeElapsedColumn(),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[steps]}", markup=False),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=Console(file=sys.stderr, highlight=False, markup=False, emoji=False),
            refresh_per_second=_REDRAWN_PER_S,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # else it is another file
        )
        self._task = self._shown.add_task("", total=None, steps="")
        self._draw()
        self._shown.start()

    def _draw(self) -> None:
        if self._shown is None or self._task is None:
            return
        what, done, total = self._steps or ("", 0, 0)
        now = self._activities[-1] if self._activities else what
        steps = f"{done} of {total}" if total else ""
        self._shown.update(self._task, description=now, completed=done, total=total or None, steps=steps)


_LINE = _LiveLine()
_activities: list[str] = []  # under way where there is no terminal, the innermost last
_latest_line_s = -ACTIVITY_LINES_S  # date of the latest line of an activity
_heard: Callable[[str], AbstractContextManager[object]] | None = None  # in place of what this process shows


def be_quiet(heard: Callable[[str], AbstractContextManager[object]] = nullcontext) -> None:
    """Let this process show no progress from now on: its parent does, or ``heard``, entered for each activity."""
    global _heard
    _heard = heard


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Tell on a terminal what is being done, for as long as it takes; elsewhere in a line after each minute.

    Args:
        what: A phrase such as ``drawing the figures``.
    """
    if _heard is not None:
        with _heard(what):
            yield
        return
    if not sys.stderr.isatty():
        with _said_each_minute(what):
            yield
        return
    with _LINE.activity(what):
        if _LINE.is_shown:
            yield
            return
        opened = threading.Event()
        timer = threading.Timer(_PATIENCE_S, _open_into, (opened,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            if opened.is_set():
                _LINE.close()


@contextmanager
def _said_each_minute(what: str) -> Iterator[None]:
    """Print a line after each minute of an activity: the innermost one that is under way, and the time so far."""
    started_s, ended = time.monotonic(), threading.Event()

    def say() -> None:
        global _latest_line_s
        while not ended.wait(ACTIVITY_LINES_S):
            now_s = time.monotonic()
            if _heard is not None or now_s - _latest_line_s < ACTIVITY_LINES_S / 2:  # that of another activity
                continue
            _latest_line_s = now_s
            _print_line(now_s - started_s, (_activities or [what])[-1])

    speaker = threading.Thread(target=say, daemon=True)
    _activities.append(what)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        _activities.remove(what)
        speaker.join()


def _print_line(elapsed_s: float, text: str) -> None:
    # With its end in one piece: a signal may arrive in between, or another thread may print.
    print(f"[{elapsed_s:7.1f} s] {text}\n", end="", file=sys.stderr, flush=True)


def _open_into(opened: threading.Event) -> None:
    _LINE.open()
    opened.set()


class Progress:
    """Progress display of a long search: call it with a description, the number of steps done, and their total number.

    On a terminal there is a live line.  Elsewhere a line is printed once a minute at most, and after a longer search
    one for its end.
    """

    def __init__(self) -> None:
        self._started_s = self._latest_line_s = time.perf_counter()
        self._latest: tuple[str, int, int] | None = None  # the latest step; None: it has been printed
        self._has_lines = False
        self._is_live = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps are done."""
        if _heard is not None:
            return
        if sys.stderr.isatty():
            self.go_live()
            _LINE.step(what, done, total)
            return
        self._latest = (what, done, total)
        if time.perf_counter() - self._latest_line_s >= LINES_S:
            self._print()

    @property
    def is_live(self) -> bool:
        """True if a live line is shown."""
        return self._is_live

    def go_live(self) -> None:
        """Show the live line, before the first step too."""
        if not (self._is_live or _heard is not None):
            self._is_live = True
            _LINE.open()

    def close(self) -> None:
        """Remove the live line; elsewhere print the end of a search that earlier lines reported."""
        if self._is_live:
            self._is_live = False
            _LINE.close()
        elif self._has_lines and self._latest is not None:
            self._print()

    def _print(self) -> None:
        assert self._latest is not None
        what, done, total = self._latest
        self._latest_line_s, self._latest, self._has_lines = time.perf_counter(), None, True
        _print_line(self._latest_line_s - self._started_s, f"{done} of {total}: {what}")
