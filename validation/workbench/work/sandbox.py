"""A sandbox for workers that run code of users: bubblewrap (bwrap) hides what is not theirs where it is installed."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from platforms.files.caching import cache_folder
from platforms.simgrid.installed import find_program
from validation.workbench.project.folder import Project

# Folders that may have anything of anybody; what a worker needs in them is shown again.
_HIDDEN = ("/home", "/root", "/tmp", "/var/tmp", "/run", "/mnt", "/media", "/srv")
_TRIAL_S = 20.0


@functools.cache
def sandbox_trouble() -> str:
    """Return why there is no sandbox here; empty: there is one."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed"
    apart = ["--unshare-pid", "--unshare-ipc", "--unshare-net"]
    trial = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *apart, "true"]
    try:
        done = subprocess.run(trial, capture_output=True, text=True, timeout=_TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as err:
        return f"bubblewrap does not start: {err}"
    said = done.stderr.strip().partition("\n")[0]
    return "" if done.returncode == 0 else f"bubblewrap is not allowed to make namespaces: {said}"


def sandboxed(project: Project, words: Sequence[str]) -> list[str]:
    """Return the command of a worker within a sandbox, if its server runs code of users and the system has one.

    The worker sees the system read-only, and none of the homes and temporary folders of others.  It writes to the
    store, the cache and the folder of reports, and to a ``/tmp`` of its own.  Of the project it sees everything but the
    private folder.  It has no network, unless it hands runs to a scheduler.
    """
    if not project.allow_programs or sandbox_trouble():
        return list(words)
    reports = project.private / "reports"
    for folder in (reports, project.store, cache_folder()):
        folder.mkdir(parents=True, exist_ok=True)
    shown = {str(Path(path).resolve()): None for path in _needed()}
    options = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for hidden in (*_HIDDEN, str(Path.home())):
        if Path(hidden).is_dir() and not Path(hidden).is_symlink():
            options += ["--tmpfs", hidden]
    for path in shown:
        options += ["--ro-bind", path, path]
    options += ["--ro-bind", str(project.folder), str(project.folder), "--tmpfs", str(project.private)]
    for folder in (reports, project.store, cache_folder()):
        options += ["--bind", str(folder), str(folder)]
    options += ["--unshare-pid", "--unshare-ipc", "--die-with-parent", "--chdir", str(project.folder)]
    options += [] if project.scheduler is not None else ["--unshare-net"]
    return [shutil.which("bwrap") or "bwrap", *options, *words]


def _needed() -> list[str]:
    """Return the folders that a worker reads wherever they are: Python's, this project's and SimGrid's."""
    simgrid = find_program("smpirun")
    prefix = [] if simgrid is None else [str(Path(simgrid).resolve().parents[1])]
    return [sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[3]), *prefix]
