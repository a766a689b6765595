"""Find commands, also those that pip installs in an environment of Python that is not activated."""

import os
import shutil
import sysconfig


def find_command(name: str) -> str | None:
    """Return the path of a command: on the PATH, else among the scripts of this environment; None if it is missing."""
    return shutil.which(name) or (None if os.path.dirname(name) else shutil.which(name, path=_scripts()))


def _scripts() -> str:
    return sysconfig.get_path("scripts")
