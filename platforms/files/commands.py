"""Find commands, also those that pip installs in an environment of Python that is not activated, and run them."""

import os
import shutil
import sysconfig


def find_command(name: str) -> str | None:
    """Return the path of a command: on the PATH, else among the scripts of this environment; None if it is missing."""
    return shutil.which(name) or (None if os.path.dirname(name) else shutil.which(name, path=_scripts()))


def runs_programs(folder: str | os.PathLike[str]) -> bool:
    """Return whether programs and libraries in a folder that exists can be run: not on a file system with noexec."""
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC


def _scripts() -> str:
    return sysconfig.get_path("scripts")
