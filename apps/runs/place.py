"""Identity of the place of a simulation: this project's code, SimGrid, the compiler and the processor."""

from __future__ import annotations

import hashlib
import platform as machine
import subprocess
from functools import cache
from pathlib import Path

import apps
import platforms
from platforms.simgrid.compiling import find_compiler, real_compiler
from platforms.simgrid.repairs import simgrid_identity

_CODE = {".py", ".c", ".h", ".cpp", ".hpp", ".toml", ".csv"}


@cache
def place() -> dict[str, str]:
    """Return what determines results here, by names for messages; equal places give equal results.

    Raises:
        UserError: SimGrid or its compiler is missing.
    """
    return {
        "version of this project's code": _code_hash(),
        "SimGrid": simgrid_identity(),
        "C compiler": _compiler_version(),
        "kind of processor": machine.machine(),
    }


def difference(here: dict[str, str], there: dict[str, str]) -> str | None:
    """Return how another place differs, as words for a message, or None."""
    for name in {**here, **there}:
        first, other = here.get(name, "none"), there.get(name, "none")
        if first != other:
            return f"another {name} ({other}, here {first})"
    return None


def _code_hash() -> str:
    """Return a hash of the files of the two simulating packages, independent of their folder."""
    digest = hashlib.sha256()
    for package in (platforms, apps):
        folder = Path(str(package.__file__)).parent
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _CODE and path.is_file()):
            digest.update(f"\0{package.__name__}/{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _compiler_version() -> str:
    done = subprocess.run(
        [real_compiler(find_compiler("smpicc")), "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.partition("\n")[0] or "unknown"
