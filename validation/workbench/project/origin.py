"""The commit of the software that a workbench runs, which files of figures name."""

from __future__ import annotations

import functools
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIMIT_S = 10.0


@functools.cache
def commit(folder: Path = Path(__file__).parents[3]) -> str:
    """Return the commit of a checkout, and whether its files differ from it; of an installed package, its version.

    Args:
        folder: The folder that holds the packages.
    """
    if (folder / ".git").exists():
        head = _git(folder, "rev-parse", "HEAD")
        if head:
            return f"{head} with changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else head
    try:
        return f"gridval {version('gridval')}"
    except PackageNotFoundError:
        return "unknown"


def _git(folder: Path, *words: str) -> str:
    """Return what git says, without the end of the line; empty: it is not there, or it refuses."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
