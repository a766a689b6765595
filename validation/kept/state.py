"""State of the project's files: two equal states are the same code, and the same installed packages."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing takes longer than all that is here
if TYPE_CHECKING:
    from collections.abc import Iterator

# Files that are modules or are compiled, or that modules read.
_READ = (".py", ".c", ".h", ".cpp", ".hpp", ".f", ".f90", ".toml", ".csv", ".txt")


def files_state() -> dict[str, tuple[int, ...]]:
    """Return times of change, size and inode of all files of the project, and of the folders of installed packages.

    No user can set the time at which a file's inode changed, so that a file with other content has another state.
    """
    packages = ("gridval",) if __name__.startswith("gridval.") else ("platforms", "apps", "predictor", "validation")
    root = os.path.abspath(os.path.join(__file__, *[os.pardir] * len(__name__.split("."))))
    paths = [path for package in packages for path in _files(os.path.join(root, package))]
    paths += [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
    found = ((path, os.stat(path)) for path in paths)
    return {path: (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino) for path, status in found}


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_READ):
                yield entry.path
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path)
