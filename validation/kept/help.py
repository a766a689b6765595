"""Help texts of earlier commands, shown again while the code, the terminal and all variables are the same."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from platforms.errors import UserError
from platforms.files.caching import cache_folder, read_checked, write_checked
from validation.kept.state import files_state


def shown(words: Sequence[str], run: Callable[[], int]) -> int:
    """Show what ``run`` shows for a command line that asks for help, and return its exit status.

    The text of an equal command line is taken from the cache folder, where code, words, variables and terminal are the
    same.
    """
    try:
        path = cache_folder() / "help" / _hash(words)[:16]
        known = read_checked(path)
    except (OSError, UserError):
        return run()
    key = _key(words).encode() + b"\n"
    if known is not None and known.startswith(key):
        print(known.removeprefix(key).decode(), end="")
        return 0
    noted = _Noting(sys.stdout)
    status, sys.stdout = 1, noted
    try:
        status = run()
    except SystemExit as err:
        status = err.code if isinstance(err.code, int) else 0 if err.code is None else 1
        raise
    finally:
        sys.stdout = noted.stream
        if status == 0 and _key(words).encode() + b"\n" == key:
            with suppress(UserError, UnicodeEncodeError):
                write_checked(path, key + "".join(noted.texts).encode())
    return status


class _Noting:
    """A stream that also notes what is written to it."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.texts = stream, list[str]()

    def write(self, text: str) -> int:
        self.texts.append(text)
        written: int = self.stream.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _key(words: Sequence[str]) -> str:
    """Return a hash of all that a help text depends on."""
    sizes = []
    for number in range(3):
        try:
            sizes.append(tuple(os.get_terminal_size(number)))
        except OSError:
            sizes.append((0, 0))
    python = (sys.version, sys.executable, sys.argv, sys.orig_argv, sys.path, sys.stdout.encoding, sys.stdout.errors)
    return _hash((words, sizes, [os.isatty(number) for number in range(3)], python, sorted(os.environ.items()),
                  sorted(files_state().items())))  # fmt: skip


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogateescape")).hexdigest()
