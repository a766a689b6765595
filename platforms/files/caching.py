"""The user's cache folder.

It keeps files that can be made again: compiled helper programs, generated platforms, descriptions of platforms.
"""

import hashlib
import os
from pathlib import Path

from platformdirs import user_cache_path

from platforms.errors import UserError
from platforms.files.scratch import scratch_file

FOLDER_NAME = "grid-prediction-validator"
_REMEDY = "Set GRID_VALIDATOR_CACHE to a writable folder"


def cache_folder() -> Path:
    """Return the user's cache folder of this project; make it if it is absent.

    It is ``$GRID_VALIDATOR_CACHE``, else ``$XDG_CACHE_HOME/grid-prediction-validator``, else
    ``~/.cache/grid-prediction-validator``.

    Raises:
        UserError: The folder cannot be made or is not writable.
    """
    folder = _wanted_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unusable(folder, "it is not writable")
    return folder


def write_atomically(path: Path, content: bytes, *, executable: bool = False) -> None:
    """Write a file so that no reader ever sees half of it.

    Several processes may write the same file at once.  An ``executable`` file may be run by everyone.

    Raises:
        UserError: The folder cannot be written (no permission, disk full).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch_file(path.parent) as (handle, temporary):
            with os.fdopen(handle, "wb", closefd=False) as file:
                file.write(content)
            os.chmod(temporary, 0o755 if executable else 0o644)  # other users may share the cache folder
            os.replace(temporary, path)
    except OSError as err:
        raise unusable(path.parent, err.strerror or str(err)) from err


def write_checked(path: Path, content: bytes) -> None:
    """Write a file with its checksum in the first line, as ``write_atomically``; ``read_checked`` reads it."""
    write_atomically(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def read_checked(path: Path) -> bytes | None:
    """Return what ``write_checked`` has written; None if the file is absent, unreadable or damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest().encode() == digest else None


def sync_folder(folder: Path) -> None:
    """Write the names of a folder's files to the disk, so that a file that got its name there keeps it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _wanted_folder() -> Path:
    cache_named = os.environ.get("GRID_VALIDATOR_CACHE")
    try:
        folder = Path(cache_named).expanduser() if cache_named else user_cache_path(FOLDER_NAME, appauthor=False)
    except RuntimeError as err:
        raise UserError("cache folder", "there is no home folder", _REMEDY) from err
    return folder.absolute()  # HOME may be relative


def unusable(folder: Path, reason: str) -> UserError:
    """Return the error for a cache folder that cannot be used."""
    return UserError(f"cache folder {folder}", f"cannot be used: {reason}", _REMEDY)
