"""Interrupts held back while a process makes or removes files that it would otherwise leave behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let signals whose handlers raise an exception wait until the end of the context, which should be near.

    Nothing changes for signals without a handler in Python, nor in other threads than the main one, to which Python
    gives all signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    waiting: list[tuple[int, FrameType | None]] = []
    over = False

    def note(number: int, frame: FrameType | None) -> None:
        if over:  # while the handlers are put back
            before[number](number, frame)
        else:
            waiting.append((number, frame))

    try:
        for signal_number in _SIGNALS:
            handler = signal.getsignal(signal_number)
            if callable(handler):
                before[signal_number] = handler
                signal.signal(signal_number, note)
        yield
    finally:
        over = True
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            before[number](number, frame)
