"""The shared libraries of a binary, as the loader finds them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from apps.errors import KernelError
from apps.programs.elf import DynamicNames, dynamic_names
from platforms.simgrid.child import clean_environment
from platforms.simgrid.installed import library_folders

SYSTEM = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")  # libraries of packages, identified by time and size
_TIME_LIMIT_S = 60.0
_SHARED = ("libsimgrid.so", "ld-linux", "libc.so", "libm.so", "libgcc_s.so", "libstdc++.so")
_LINE = re.compile(r"^\s*(?:(?P<name>\S.*?) => )?(?P<path>/.*?|not found)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)


def libraries(binary: Path) -> dict[str, str]:
    """Return the fingerprint of every shared library that the loader finds for a binary; "missing" for the others.

    It searches the same places as in a run: RPATH, LD_LIBRARY_PATH and the system's folders, and for LD_PRELOAD.

    Raises:
        KernelError: The libraries cannot be listed.
    """
    where = f"--program {binary}"
    ldd = shutil.which("ldd")
    if ldd is None:
        raise KernelError(where, "the command ldd, which lists its libraries, is missing", "Install it (libc-bin)")
    folders = os.environ.get("LD_LIBRARY_PATH")
    path = os.pathsep.join([*library_folders(), *([folders] if folders else [])])
    try:
        done = subprocess.run(
            [ldd, str(binary)], env={**clean_environment(), "LC_ALL": "C", "LD_LIBRARY_PATH": path},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape",
            timeout=_TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise KernelError(where, "its shared libraries cannot be listed: ldd does not end", "Build it again") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "ldd says nothing").splitlines()[0]
        raise KernelError(where, f"its shared libraries cannot be listed: {said}", "Build it again")
    needed_libraries = {}
    for line in _LINE.finditer(done.stdout):
        if line["path"] == "not found":
            needed_libraries[line["name"]] = "missing"
        else:
            needed_libraries[line["path"]] = library_mark(Path(line["path"]))
    return needed_libraries


def exported_names(binary: Path) -> frozenset[str]:
    """Return the names in a binary's dynamic symbol table that it defines itself.

    Raises:
        KernelError: The table cannot be read.
    """
    return _dynamic_names(binary).defined


def referred_names(binary: str | Path) -> frozenset[str]:
    """Return the names in a binary's dynamic symbol table that other libraries define.

    Raises:
        KernelError: The table cannot be read.
    """
    return _dynamic_names(Path(binary)).undefined


def needed_names(binary: Path) -> set[str]:
    """Return the names of the libraries that a binary itself names.

    Raises:
        KernelError: They cannot be listed.
    """
    # A library that has no name of its own is needed by its path.
    return set(map(os.path.basename, _dynamic_names(binary).needed))


def _dynamic_names(binary: Path) -> DynamicNames:
    try:
        return dynamic_names(binary)
    except (OSError, ValueError) as err:
        raise KernelError(f"--program {binary}", f"cannot be read: {err}", "Build it again") from err


def private_libraries(binary: Path) -> tuple[str, ...]:
    """Return the libraries of which each rank needs its own copy, because they have global variables.

    Among those that the binary names itself they are the user's own ones, and Fortran's, whose open files they are.

    Raises:
        KernelError: The libraries cannot be listed.
    """
    named = needed_names(binary)
    if all(name.startswith(_SHARED) for name in named):  # as in most programs in C, which need no search
        return ()
    return tuple(path for path in libraries(binary) if os.path.basename(path) in named and _is_private(path))


def _is_private(path: str) -> bool:
    name = os.path.basename(path)
    if not path.startswith("/") or name.startswith(_SHARED):
        return False
    return name.startswith("libgfortran.so") or not path.startswith(SYSTEM)


def library_mark(path: Path) -> str:
    """Return time and size of a library of the system, and the hash of any other."""
    try:
        if str(path).startswith(SYSTEM):
            status = path.stat()
            return f"{status.st_mtime_ns} {status.st_size}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"
