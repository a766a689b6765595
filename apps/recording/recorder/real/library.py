"""The recorder for programs of a real MPI as a compiled library, and its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from apps.recording.recorder.library import files_hash, headers
from apps.recording.recorder.real.calls import mpi_calls
from apps.recording.recorder.real.fortran import fortran_functions
from apps.recording.recorder.real.large import large_functions
from platforms.files.caching import cache_folder, write_atomically
from platforms.simgrid.compiling import compile_once

_HERE = Path(__file__).parent
_REAL_FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC", f"-I{_HERE}")
SITES = "sites"  # the file with the addresses of calls
RECORDED = ("counts", "events", "communicators", SITES)  # files of a rank under a real MPI, after its number and a dot
THREADS = "threads"  # a rank's processor times: of all its threads, and of the one that calls MPI, s
READINGS = "readings"  # a rank's clock readings, if requested
INPUTS = "inputs"  # the inputs of all ranks
# Files for simulations only, like the folders; the files of this package replace them.
_SIMULATION = (
    "attach.c", "cartesian.c", "clocks.c", "compute.c", "files.c", "graphs.c", "lacking.c",
    "matched.c", "power.c", "smpi.c", "surroundings.c", "thread_clock.c",
)  # fmt: skip


def real_recorder_library(compiler: Sequence[str], folder: Path | None = None) -> Path:
    """Return the path of the recorder for programs of a real MPI, given its C compiler.

    It is kept in ``folder``; None: in the cache folder.
    """
    made = [_kept(name, text, folder) for name, text in (("fortran", _fortran()), ("large", _large()))]
    return compile_once(
        "real-recorder", [*_real_sources(), *made], compiler=compiler, flags=_REAL_FLAGS, libraries=["-ldl"],
        headers=[*headers(), *sorted((_HERE).glob("*.h"))], folder=folder,
    )  # fmt: skip


@cache
def real_recorder_hash() -> str:
    """Return the hash of the sources and compiler flags of the recorder for a real MPI, and of its files."""
    digest = files_hash(_REAL_FLAGS[:-1], [*_real_sources(), *headers(), *sorted((_HERE).glob("*.h"))])
    return hashlib.sha256(repr((digest, RECORDED)).encode() + _fortran() + _large()).hexdigest()


@cache
def _fortran() -> bytes:
    return fortran_functions(mpi_calls()).encode()


@cache
def _large() -> bytes:
    return large_functions(mpi_calls()).encode()


def _kept(name: str, text: bytes, folder: Path | None) -> Path:
    """Return the file of a generated source, in the folder or the cache folder."""
    path = (folder or cache_folder() / "compiled") / f"{name}-{hashlib.sha256(text).hexdigest()[:24]}.c"
    if not path.is_file() or path.read_bytes() != text:
        write_atomically(path, text)
    return path


def _real_sources() -> list[Path]:
    sources = [path for path in sorted(_HERE.parent.glob("*.c")) if path.name not in _SIMULATION]
    return [*sources, *sorted(_HERE.glob("*.c"))]
