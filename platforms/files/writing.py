"""Write output files whole or not at all, check that they can be written, and CSV that spreadsheets read as text."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from platforms.errors import UserError
from platforms.files.reading import PATIENCE_S
from platforms.files.scratch import scratch_file

if TYPE_CHECKING:
    import pandas as pd

_STARTS = ("=", "+", "-", "@", "\t", "\r")
_MARK = "'"
Value = TypeVar("Value")


# Such a text gets a quotation mark in front, as OWASP recommends (owasp.org, "CSV Injection").
def cell(value: Value) -> Value | str:
    """Return a value for a cell of a CSV file: a text that a spreadsheet would evaluate gets a mark; others stay.

    >>> cell("=1+1"), cell("cg"), cell("-0.5"), cell(-0.5)
    ("'=1+1", 'cg', '-0.5', -0.5)
    """
    return f"{_MARK}{value}" if isinstance(value, str) and _evaluated(value) else value


def cell_text(cell: str) -> str:
    """Return the text of a cell without the mark that ``cell`` adds.

    >>> cell_text("'=1+1"), cell_text("'quoted'")
    ('=1+1', "'quoted'")
    """
    return cell[1:] if cell.startswith(_MARK) and _evaluated(cell[1:]) else cell


def safe_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with ``cell`` applied to its column names and texts."""
    texts = {name: table[name].map(cell) for name in table.columns if table[name].dtype.kind not in "biufcM"}
    return table.assign(**texts).rename(columns=cell)


def _evaluated(text: str) -> bool:
    if len(text) < 2 or not text.startswith(_STARTS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


_PAUSE_S = 0.05  # interval between two checks for the reader of a pipe


def check_writable(option: str, text: str) -> None:
    """Check that a file can be written at this place; an existing file is not changed.

    Raises:
        UserError: No file can be written there.
    """
    if not text:
        raise UserError(option, "an empty name", "Name a file")
    try:
        path = Path(text).resolve()
        if not path.exists():
            path.open("xb").close()
            path.unlink()
        elif path.is_file() or path.is_dir():  # opening and closing a pipe would end it for its reader
            path.open("ab").close()
    except (OSError, RuntimeError) as err:  # RuntimeError: a loop of symbolic links
        raise unwritable(option, text, err) from err


def usable_folder(option: str, text: str) -> Path:
    """Return the folder; make it if it is absent.

    Raises:
        UserError: The place is not a folder, or no file can be written in it.
    """
    if not text:
        raise UserError(option, "an empty name", "Name a folder")
    folder = Path(text)
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as err:
        problem = "not a folder" if os.path.exists(folder) and not os.path.isdir(folder) else _refused(err)
        raise UserError(f"{option} {text}", problem, "Choose another folder") from err
    return folder


@contextmanager
def written_into(option: str, folder: str | Path) -> Iterator[None]:
    """Turn errors of writing into the folder within the context into errors for the user.

    Raises:
        UserError: The context raised OSError.
    """
    try:
        yield
    except OSError as err:
        raise UserError(f"{option} {folder}", _refused(err), "Choose another folder") from err


def write_text(option: str, path: str, text: str) -> None:
    """Write a text file, whole or not at all; ``option`` names it in error messages.

    Raises:
        UserError: The file cannot be written.
    """
    write_lines(option, path, [text])


def write_lines(option: str, path: str, lines: Iterable[str]) -> None:
    """Write a text file from its parts, which are taken one by one, whole or not at all; ``option`` as in write_text.

    Raises:
        UserError: The file cannot be written.
    """
    try:
        _write_parts(path, (line.encode() for line in lines))
    except OSError as err:
        raise unwritable(option, path, err) from err


def write_whole(path: str | Path, content: bytes) -> None:
    """Replace a file whole or not at all: if writing fails (disk full, kill -9), the old file stays.

    A pipe, a terminal, or a file in a folder that is not writable is written in place.

    Raises:
        OSError: The file cannot be written.
    """
    _write_parts(path, [content])


def _write_parts(path: str | Path, parts: Iterable[bytes]) -> None:
    place = Path(os.path.realpath(path))  # a symbolic link is kept
    if place.exists() and not (place.is_file() and os.access(place.parent, os.W_OK)):
        with _opened_in_place(place) as stream:
            stream.writelines(parts)
        return
    with scratch_file(place.parent) as (handle, temporary):
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.writelines(parts)
        if place.exists():
            os.chmod(temporary, stat.S_IMODE(place.stat().st_mode))
        os.replace(temporary, place)


def _opened_in_place(place: Path) -> BinaryIO:
    """Open a pipe, device or file for writing, but do not wait forever for a reader of a pipe."""
    if not place.is_fifo():
        return open(place, "wb")
    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            handle = os.open(place, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as err:
            if err.errno != errno.ENXIO:
                raise
        else:
            os.set_blocking(handle, True)
            return os.fdopen(handle, "wb")
        if time.monotonic() >= end_s:
            raise OSError(errno.ENXIO, f"a pipe that nobody reads for {PATIENCE_S:g} s", str(place))
        time.sleep(_PAUSE_S)


def write_csv(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table without its index, as ``write_whole``; its texts are safe in spreadsheets."""
    write_whole(path, safe_table(table).to_csv(index=False).encode())


def unwritable(option: str, path: str, err: Exception) -> UserError:
    """Return what a user reads about a file that cannot be written."""
    return UserError(f"{option} {path}", _refused(err), "Choose another place")


def _refused(err: Exception) -> str:
    return f"cannot be written: {getattr(err, 'strerror', None) or err}"
