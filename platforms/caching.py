"""Where things that can be made again are kept: compiled helpers, generated platforms, what was read from them."""

import os
from pathlib import Path

from platforms.errors import UserError
from platforms.scratch import scratch_file

FOLDER_NAME = "grid-prediction-validator"
_REMEDY = "Set GRID_VALIDATOR_CACHE to a writable one"


def cache_folder() -> Path:
    """The user's cache folder of this project, made if absent.

    ``$GRID_VALIDATOR_CACHE``, else ``$XDG_CACHE_HOME/grid-prediction-validator``, else
    ``~/.cache/grid-prediction-validator``.  Raises UserError where it cannot be written.
    """
    folder = _wanted_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unusable(folder, "it is not writable")
    return folder


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that no reader ever sees half of it; several writers at once do no harm.

    Raises UserError where the folder cannot be written (no permission, disk full).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch_file(path.parent) as (handle, temporary):
            with os.fdopen(handle, "wb", closefd=False) as file:
                file.write(content)
            os.chmod(temporary, 0o644)  # a shared cache folder is of use to all
            os.replace(temporary, path)
    except OSError as err:
        raise unusable(path.parent, err.strerror or str(err)) from err


def _wanted_folder() -> Path:
    own = os.environ.get("GRID_VALIDATOR_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared and Path(shared).is_absolute():  # the XDG specification: relative paths are to be ignored
        return Path(shared) / FOLDER_NAME
    try:
        return Path.home() / ".cache" / FOLDER_NAME
    except RuntimeError as err:
        raise UserError("cache folder", "there is no home folder", _REMEDY) from err


def unusable(folder: Path, reason: str) -> UserError:
    """The error for a cache folder that cannot be used."""
    return UserError(f"cache folder {folder}", f"cannot be used: {reason}", _REMEDY)
