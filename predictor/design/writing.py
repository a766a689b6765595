"""Files that are written after a long search: whether they can be is asked before it."""

from __future__ import annotations

from pathlib import Path

from platforms.errors import UserError


def check_writable(option: str, text: str) -> None:
    """Raises UserError for a place where no file can be written.  What is there stays as it is."""
    if not text:
        raise UserError(option, "an empty name", "Name a file")
    try:
        path = Path(text).resolve()
        if not path.exists():
            path.open("xb").close()
            path.unlink()
        elif path.is_file() or path.is_dir():  # a pipe would take this for its end
            path.open("ab").close()
    except (OSError, RuntimeError) as err:  # RuntimeError: links that go round in a circle
        raise _unwritable(option, text, err) from err


def write_text(option: str, path: str, text: str) -> None:
    """Raises UserError where it cannot be written."""
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as err:
        raise _unwritable(option, path, err) from err


def _unwritable(option: str, path: str, err: Exception) -> UserError:
    reason = getattr(err, "strerror", None) or err
    return UserError(f"{option} {path}", f"cannot be written: {reason}", "Choose another place")
