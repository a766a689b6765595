"""The folder and the environment of one child process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from apps.child.process import Finished
from platforms.errors import UserError
from platforms.simgrid.child import clean_environment

_CATEGORIES = (
    *("LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_TIME", "LC_ADDRESS", "LC_IDENTIFICATION"),
    *("LC_MEASUREMENT", "LC_NAME", "LC_PAPER", "LC_TELEPHONE"),
)
# SimGrid allocates and frees objects for every message: these limits, in items and bytes, save an eighth of a run's
# processor time.
_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in {"tcache_count": 16000, "trim_threshold": 1 << 30, "top_pad": 1 << 24}.items()
)


MOST_ENTRIES = 100_000  # of the current folder
WORK = "work"  # the working folder of a run, inside the run's own


def working_folder(folder: Path, files: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Make a folder inside the run's folder, with links to all entries of the current folder, and return it.

    ``files``, given by name and text, replace links.  Simultaneous runs then do not write the same files, and new files
    are removed with the run's folder.

    Raises:
        UserError: The current folder has too many entries.
    """
    work = folder / WORK
    work.mkdir()
    here = os.getcwd()
    with os.scandir(here) as entries:
        for number, entry in enumerate(entries):
            if number == MOST_ENTRIES:
                problem = f"it has more than {MOST_ENTRIES:,} entries, to which every run needs links"
                raise UserError(
                    "the current folder", problem, "Start the command in a parent folder, or in one with fewer entries"
                )
            if entry.name in files:
                continue
            (work / entry.name).symlink_to(os.path.join(here, entry.name))
    for name, text in files.items():
        (work / name).write_text(text, "utf-8", "surrogateescape")
    return work


def keep_output(folder: Path, done: Finished, work: Path) -> None:
    """Copy the output of a run, and the files created in its working folder, to a folder.

    Raises:
        UserError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stdout.txt").write_text(done.output, errors="surrogateescape")
        (folder / "stderr.txt").write_text(done.log, errors="surrogateescape")
        for made in work.iterdir():
            if made.is_symlink():  # a file of the current folder
                continue
            if made.is_dir():
                shutil.copytree(made, folder / "files" / made.name, symlinks=True, dirs_exist_ok=True)
            else:
                (folder / "files").mkdir(exist_ok=True)
                shutil.copy2(made, folder / "files" / made.name)
    except (OSError, shutil.Error) as err:
        reason = getattr(err, "strerror", None) or "its files cannot be copied"
        raise UserError(f"--keep-output {folder}", f"cannot be written: {reason}", "Name another folder") from err


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a run: that of this process without variables for SimGrid's scripts, and its TMPDIR.

    Unless the user has set other values, the C library keeps freed memory, and OpenMP has one thread for each rank:
        more threads would compute outside simulated time.
    """
    usual = {"GLIBC_TUNABLES": _MEMORY, "OMP_NUM_THREADS": "1"}
    return {**usual, **_with_plain_numbers(clean_environment()), "TMPDIR": str(folder), **more}


def _with_plain_numbers(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables with a locale in which numbers have a point.

    A program may call ``setlocale(LC_ALL, "")``, and SimGrid, in the same process, could not read its own options if
    they then had a comma.
    """
    everywhere = variables.pop("LC_ALL", "")
    if everywhere:
        variables |= dict.fromkeys(_CATEGORIES, everywhere)
    return {**variables, "LC_NUMERIC": "C"}
