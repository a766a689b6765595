"""The folder that a workbench opens, and the only paths in it that a page may name."""

from __future__ import annotations

import os
import secrets
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from platforms.errors import UserError, printable
from platforms.files.caching import cache_folder
from platforms.files.writing import usable_folder

PRIVATE = ".workbench"
MOST_NAME, _MOST_NAME_BYTES = 60, 200  # characters, and bytes as UTF-8: file systems allow 255 with what is added
_SECRET = "secret"


@dataclass(frozen=True)
class Project:
    """A project folder and how its runs are made."""

    folder: Path  # absolute, without symbolic links
    store: Path  # folder of the store of runs
    scheduler: tuple[str, ...] | None = None  # a Dask scheduler's address and certificates; None: this computer
    jobs: int = 1  # runs at a time on this computer
    allow_programs: bool = False  # suites may name code of the user
    webhooks: tuple[str, ...] = ()  # addresses that get a message when a suite ends

    @property
    def platforms(self) -> Path:
        """The folder of the platform files."""
        return self.folder / "platforms"

    @property
    def suites(self) -> Path:
        """The folder of the suites."""
        return self.folder / "suites"

    @property
    def applications(self) -> Path:
        """The folder of the applications of blocks."""
        return self.folder / "applications"

    @property
    def programs(self) -> Path:
        """The folder of the user's own programs."""
        return self.folder / "programs"

    @property
    def measured(self) -> Path:
        """The folder of measured run times, which the results are shown beside."""
        return self.folder / "measured"

    @property
    def private(self) -> Path:
        """The folder of the queue and of the suites as they were queued."""
        return self.folder / PRIVATE

    def secret(self) -> bytes:
        """Return the project's secret, from which tokens are made; it is drawn at the first use."""
        path = self.private / _SECRET
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            content = path.read_bytes()
            if len(content) < 32:
                raise UserError(str(path), "it is damaged", "Remove the file; a new one is made") from None
            return content
        with os.fdopen(handle, "wb") as file:
            made = secrets.token_hex(32).encode()
            file.write(made)
        return made


def open_project(
    folder: str | Path, store: str | None = None, *, scheduler: tuple[str, ...] | None = None, jobs: int = 1,
    allow_programs: bool = False, webhooks: tuple[str, ...] = (),
) -> Project:  # fmt: skip
    """Return the project in a folder; the folder and its parts are made where they are missing.

    Args:
        folder: The project folder.
        store: Folder of the store; None: the user's store in the cache folder.
        scheduler: Address of a Dask scheduler, and the names of the files of its certificates.
        jobs: Number of runs at a time.
        allow_programs: Suites may name code of the user.
        webhooks: Addresses that get a message when a suite ends.

    Raises:
        UserError: The folder or that of the store cannot be made or written.
    """
    path = Path(folder)
    kept = cache_folder() / "store" if store is None else usable_folder("--store", store).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        made = Project(path.resolve(), kept, scheduler, jobs, allow_programs, webhooks)
        for part in (made.platforms, made.suites, made.applications):
            part.mkdir(exist_ok=True)
        made.private.mkdir(mode=0o700, exist_ok=True)
        (made.private / "queued").mkdir(exist_ok=True)
    except OSError as err:
        raise UserError(
            str(folder), f"not a project folder: {err.strerror}", "Name a folder that you may write"
        ) from err
    return made


def checked_name(text: str, what: str) -> str:
    """Return a name that a user gave to a file, without surrounding blanks.

    Raises:
        UserError: The name is empty or too long, or has other characters than letters and digits of any script, ``+``,
            ``-`` and ``_``.
    """
    name = unicodedata.normalize("NFC", text.strip())
    if not _is_plain(name):
        shown = repr(printable(name)[: 2 * MOST_NAME]) if name else "no name"
        remedy = f"Give at most {MOST_NAME} letters, digits, + - or _, the first a letter or a digit"
        raise UserError(what, f"{shown} cannot be the name of a file", remedy)
    return name


def _is_plain(name: str) -> bool:
    """Return whether a name has letters with their marks and digits of any script, ``+``, ``-`` and ``_`` alone.

    >>> [_is_plain(name) for name in ("żółć", "नमस्ते", "a.b", "../x", "-a", "a\u202eb", "")]
    [True, True, False, False, False, False, False]
    """
    if not 0 < len(name) <= MOST_NAME or len(name.encode("utf-8", "surrogatepass")) > _MOST_NAME_BYTES:
        return False
    kinds = [unicodedata.category(letter)[0] for letter in name]
    return kinds[0] in "LN" and all(kind in "LMN" or letter in "_+-" for kind, letter in zip(kinds, name, strict=True))


def place_within(folder: Path, name: str) -> Path:
    """Return the path at which a file may be written: there is none yet, or one that lies in this folder.

    Raises:
        UserError: Something else is there, such as a link that leads elsewhere, which would be written through.
    """
    path = folder / name
    real = Path(os.path.realpath(path))
    if os.path.lexists(path) and not (path.is_file() and real.is_relative_to(folder.resolve())):
        raise UserError(
            f"file {name!r}", "a link that leads elsewhere, or no file", "Choose another name, or remove it"
        )
    return path


def file_within(folder: Path, name: str, endings: tuple[str, ...]) -> Path:
    """Return the path of a file that lies directly in a folder.

    Raises:
        UserError: There is no such file, its name is not plain, or it is a link that leads elsewhere.
    """
    path = folder / name
    plain = _is_plain(path.stem) and path.suffix in endings and path.name == name
    if not plain or not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"file {name!r}", f"not in the folder {folder.name}", "Choose one from the list")
    return path
