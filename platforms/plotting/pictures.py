"""Pictures that a user names: what can be written, and writing it."""

from __future__ import annotations

from pathlib import Path

from platforms.errors import UserError
from platforms.files.writing import check_writable, unwritable
from platforms.plotting.charts import Figure, save_figure

PICTURES = ("png", "svg", "pdf")  # formats of pictures, by their endings


def check_picture(option: str, text: str) -> None:
    """Check that a picture can be written at this place.

    Raises:
        UserError: The ending of the name is not one of PICTURES, or no file can be written there.
    """
    ending = Path(text).suffix.lstrip(".").lower()
    if text and ending not in PICTURES:
        known = ", ".join(f".{name}" for name in PICTURES)
        raise UserError(f"{option} {text}", f"no format for the ending {ending!r}", f"Write one of {known}")
    check_writable(option, text)


def write_picture(option: str, path: str | Path, figure: Figure, *, dpi: int = 150) -> None:
    """Write a figure in the format of the file's ending; ``dpi`` (dots per inch) applies to .png.

    Raises:
        UserError: As check_picture, or the file cannot be written.
    """
    check_picture(option, str(path))
    try:
        save_figure(figure, path, dpi=dpi)
    except OSError as err:
        raise unwritable(option, str(path), err) from err
