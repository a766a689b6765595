"""The folder and the environment of one child process."""

from __future__ import annotations

import os
from pathlib import Path

from platforms.simgrid.child import clean_environment


def working_folder(folder: Path) -> Path:
    """Make a folder inside the run's folder, with links to all entries of the current folder, and return it.

    Simultaneous runs then do not write the same files, and new files are removed with the run's folder.
    """
    work = folder / "work"
    work.mkdir()
    here = os.getcwd()
    with os.scandir(here) as entries:
        for entry in entries:
            (work / entry.name).symlink_to(os.path.join(here, entry.name))
    return work


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a run: this process's, without what steers SimGrid's scripts, and the run's TMPDIR."""
    return {**clean_environment(), "TMPDIR": str(folder), **more}
