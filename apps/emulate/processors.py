"""The processor reserved for the router and ranks of one emulated grid."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platforms.errors import UserError
from platforms.files.caching import cache_folder, unusable
from platforms.files.scratch import try_lock

PATIENCE_S = 60.0  # time to wait for the end of another grid


@contextmanager
def own_processor(wanted: int | None) -> Iterator[int]:
    """Keep other emulated grids of this user off a processor; yield its number.

    Ranks of two grids on one processor would wait for each other, and take up to a third longer.

    Args:
        wanted: Its number; None: the last one on which no grid runs.

    Raises:
        UserError: All of them, or the requested one, are in use for longer than PATIENCE_S.
    """
    folder = cache_folder() / "emulation"
    numbers = sorted(os.sched_getaffinity(0), reverse=True) if wanted is None else [wanted]
    ends_s = time.monotonic() + PATIENCE_S
    while True:
        for number in numbers:
            handle = _opened(folder, number)
            try:
                if try_lock(handle) is not False:
                    yield number
                    return
            finally:
                os.close(handle)
        if time.monotonic() >= ends_s:
            break
        time.sleep(0.2)
    which = "every processor" if wanted is None else f"processor {wanted}"
    raise UserError("emulated grid", f"another one runs on {which}", "Wait for its end, or take another with --cpu")


def _opened(folder: Path, number: int) -> int:
    try:
        folder.mkdir(exist_ok=True)
        return os.open(folder / f"processor-{number}", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
