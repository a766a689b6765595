"""The processor that router and ranks of a grid have for themselves among all emulated grids."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from platforms.errors import UserError
from platforms.files.caching import cache_folder, unusable
from platforms.files.locks import try_lock


@contextmanager
def own_processor(wanted: int | None) -> Iterator[int]:
    """Keep other emulated grids of this user off a processor; yield its number.

    Ranks of two grids on one processor would wait for each other, and take up to a third longer.

    Args:
        wanted: Its number; None: the last one on which no grid runs.

    Raises:
        UserError: All of them, or the wanted one, are taken.
    """
    folder = cache_folder() / "emulation"
    numbers = sorted(os.sched_getaffinity(0), reverse=True) if wanted is None else [wanted]
    for number in numbers:
        try:
            folder.mkdir(exist_ok=True)
            handle = os.open(folder / f"processor-{number}", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as err:
            raise unusable(folder, err.strerror or str(err)) from err
        try:
            if try_lock(handle) is not False:
                yield number
                return
        finally:
            os.close(handle)
    which = "every processor" if wanted is None else f"processor {wanted}"
    raise UserError("emulated grid", f"another one runs on {which}", "Wait for its end, or take another with --cpu")
