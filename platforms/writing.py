"""Files that are written after a long search or run: whether they can be is asked before it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.errors import UserError
from platforms.scratch import scratch_file

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PICTURES = ("png", "svg", "pdf")  # endings of the pictures that are written


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


def usable_folder(option: str, text: str) -> Path:
    """The folder, made if absent.  Raises UserError for a place that is none and where none can be written."""
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
    """Raises UserError where what goes on within cannot write a file into the folder."""
    try:
        yield
    except OSError as err:
        raise UserError(f"{option} {folder}", _refused(err), "Choose another folder") from err


def write_text(option: str, path: str, text: str) -> None:
    """Raises UserError where it cannot be written."""
    try:
        write_whole(path, text.encode())
    except OSError as err:
        raise _unwritable(option, path, err) from err


def write_whole(path: str | Path, content: bytes) -> None:
    """In place of what is there: all of it, or where that fails (disk full, kill -9) nothing.  Raises OSError."""
    place = Path(os.path.realpath(path))  # a link stays one
    # A pipe, a terminal, or a file in a folder that takes no others.
    if place.exists() and not (place.is_file() and os.access(place.parent, os.W_OK)):
        with open(place, "wb") as stream:
            stream.write(content)
        return
    with scratch_file(place.parent) as (handle, temporary):
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(content)
        if place.exists():
            os.chmod(temporary, stat.S_IMODE(place.stat().st_mode))
        os.replace(temporary, place)


def write_csv(table: pd.DataFrame, path: str | Path) -> None:
    """A table without its index, as ``write_whole``."""
    write_whole(path, table.to_csv(index=False).encode())


def check_picture(option: str, text: str) -> None:
    """Raises UserError for a name whose ending is not of PICTURES, or for a place where no file can be written."""
    if text and _ending(text) not in PICTURES:
        known = ", ".join(f".{name}" for name in PICTURES)
        raise UserError(f"{option} {text}", f"no format for the ending {_ending(text)!r}", f"Write one of {known}")
    check_writable(option, text)


def write_picture(option: str, path: str | Path, figure: Figure, *, dpi: int = 150) -> None:
    """As its ending says; dots per inch count for .png.  Raises UserError as check_picture, or where it fails."""
    check_picture(option, str(path))
    try:
        save_figure(figure, path, dpi=dpi)
    except OSError as err:
        raise _unwritable(option, str(path), err) from err


def save_figure(figure: Figure, path: str | Path, *, dpi: int = 150) -> None:
    """The same figure gives the same bytes: an SVG file is without its date.  Raises OSError where it fails."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "figure"}):  # else its identifiers are drawn at random
        content, kind = BytesIO(), _ending(path)
        figure.savefig(content, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    write_whole(path, content.getvalue())


def _ending(path: str | Path) -> str:
    return Path(path).suffix.lstrip(".").lower()


def _unwritable(option: str, path: str, err: Exception) -> UserError:
    return UserError(f"{option} {path}", _refused(err), "Choose another place")


def _refused(err: Exception) -> str:
    return f"cannot be written: {getattr(err, 'strerror', None) or err}"
