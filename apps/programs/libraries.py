"""The shared libraries of a binary, as the loader finds them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from apps.errors import KernelError
from platforms.simgrid.child import clean_environment
from platforms.simgrid.installed import library_folders

SYSTEM = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")  # libraries of packages, told apart by time and size
_TIME_LIMIT_S = 60.0
_LINE = re.compile(r"^\s*(?:(?P<name>\S.*?) => )?(?P<path>/.*?|not found)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)


def libraries(binary: Path) -> dict[str, str]:
    """Return the fingerprint of every shared library that the loader finds for a binary; "missing" for the others.

    It looks where it looks in a run: in RPATH, LD_LIBRARY_PATH and the system's folders, and for LD_PRELOAD.

    Raises:
        KernelError: The libraries cannot be listed.
    """
    where = f"--program {binary}"
    ldd = shutil.which("ldd")
    if ldd is None:
        raise KernelError(where, "the command ldd, which lists its libraries, is missing", "Install it (libc-bin)")
    own = os.environ.get("LD_LIBRARY_PATH")
    path = os.pathsep.join([*library_folders(), *([own] if own else [])])
    try:
        done = subprocess.run(
            [ldd, str(binary)], env={**clean_environment(), "LC_ALL": "C", "LD_LIBRARY_PATH": path},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape",
            timeout=_TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise KernelError(where, "its shared libraries cannot be listed: ldd does not end", "Build it anew") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "ldd says nothing").splitlines()[0]
        raise KernelError(where, f"its shared libraries cannot be listed: {said}", "Build it anew")
    found = {}
    for line in _LINE.finditer(done.stdout):
        if line["path"] == "not found":
            found[line["name"]] = "missing"
        else:
            found[line["path"]] = library_mark(Path(line["path"]))
    return found


def library_mark(path: Path) -> str:
    """Return time and size of a library of the system, and the hash of any other."""
    try:
        if str(path).startswith(SYSTEM):
            status = path.stat()
            return f"{status.st_mtime_ns} {status.st_size}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"
