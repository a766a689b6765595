"""The recorder as a compiled library that is loaded before SimGrid's, and its hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from apps.errors import check_still
from apps.recording.recorder.calls import mpi_calls
from apps.recording.recorder.fortran import fortran_functions
from platforms.files.caching import cache_folder, write_atomically
from platforms.simgrid.compiling import compile_once

_HERE = Path(__file__).parent
_COMMON = _HERE.parents[1] / "common"
_FLAGS = ("-O2", "-std=gnu11", "-pthread", "-DSMPI_NO_OVERRIDE_MALLOC")
_REAL_FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC", f"-I{_HERE / 'real'}")
RECORDED = ("counts", "events", "communicators")  # the files of a rank under a real MPI, after its number and a dot
THREADS = "threads"  # that of a rank with the processor times of all its threads and of the one that calls MPI, s
INPUTS = "inputs"  # that of all ranks with what they have read
# Files that know simulation alone; those in the folder real stand in their place.
_SIMULATION = (
    "apart.c", "attach.c", "cartesian.c", "clocks.c", "compute.c", "files.c", "graphs.c", "lacking.c", "matched.c",
    "neighbours.c", "onesided.c", "power.c", "smpi.c", "surroundings.c", "thread_clock.c", "work.c",
)  # fmt: skip


def recorder_library() -> Path:
    """Return the path of the recorder, which is compiled on first use and kept in the cache folder."""
    library = compile_once(
        "recorder", _sources(), compiler=["smpicc"], flags=_FLAGS, libraries=["-ldl"], headers=_headers()
    )
    check_still("the recorder", recorder_hash(), _hash(_FLAGS, [*_sources(), *_headers()]))
    return library


@cache
def recorder_hash() -> str:
    """Return the hash of the recorder's sources and compiler flags, as they are when it is first asked for."""
    return _hash(_FLAGS, [*_sources(), *_headers()])


def real_recorder_library(compiler: Sequence[str], folder: Path | None = None) -> Path:
    """Return the path of the recorder for the programs of a real MPI, whose compiler of C is given.

    It is kept in ``folder``; None: in the cache folder.
    """
    text = _fortran()
    functions = (folder or cache_folder() / "compiled") / f"fortran-{hashlib.sha256(text).hexdigest()[:24]}.c"
    if not functions.is_file() or functions.read_bytes() != text:
        write_atomically(functions, text)
    return compile_once(
        "real-recorder", [*_real_sources(), functions], compiler=compiler, flags=_REAL_FLAGS, libraries=["-ldl"],
        headers=[*_headers(), *sorted((_HERE / "real").glob("*.h"))], folder=folder,
    )  # fmt: skip


@cache
def real_recorder_hash() -> str:
    """Return the hash of the sources and compiler flags of the recorder for a real MPI."""
    digest = _hash(_REAL_FLAGS[:-1], [*_real_sources(), *_headers(), *sorted((_HERE / "real").glob("*.h"))])
    return hashlib.sha256(digest.encode() + _fortran()).hexdigest()


@cache
def _fortran() -> bytes:
    return fortran_functions(mpi_calls()).encode()


@cache
def lacking_functions() -> frozenset[str]:
    """Return the functions of MPI that SimGrid declares and does not have (lacking.c)."""
    return frozenset(re.findall(r"^LACKING\((\w+)\)", (_HERE / "lacking.c").read_text(), re.MULTILINE))


def _hash(flags: Sequence[str], files: Sequence[Path]) -> str:
    digest = hashlib.sha256(" ".join(flags).encode())
    for path in files:
        digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    return [*sorted(_HERE.glob("*.c")), _COMMON / "energy.c", _COMMON / "json.c"]


def _real_sources() -> list[Path]:
    sources = [path for path in sorted(_HERE.glob("*.c")) if path.name not in _SIMULATION]
    return [*sources, *sorted((_HERE / "real").glob("*.c"))]


def _headers() -> list[Path]:
    return [*sorted(_HERE.glob("*.h")), *(_COMMON / f"{name}.h" for name in ("checked", "energy", "json"))]
