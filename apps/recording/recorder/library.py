"""The recorder as a compiled library that is loaded before SimGrid's, and its hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from apps.errors import check_still
from platforms.simgrid.compiling import compile_once

_HERE = Path(__file__).parent
_ADD_ONS = ("timing", "windows", "neighbours", "own", "waiting")  # folders with more of its files
_COMMON, _HARNESS = (_HERE.parents[1] / place for place in ("common", "kernels/harness"))
_FLAGS = ("-O2", "-pthread", "-DSMPI_NO_OVERRIDE_MALLOC")


def recorder_library() -> Path:
    """Return the path of the recorder, which is compiled on first use and kept in the cache folder."""
    library = compile_once(
        "recorder", _sources(), compiler=["smpicc"], flags=_FLAGS, libraries=["-ldl", "-lstdc++"], headers=headers()
    )
    check_still("the recorder", recorder_hash(), files_hash(_FLAGS, [*_sources(), *headers()]))
    return library


@cache
def recorder_hash() -> str:
    """Return the hash of the recorder's sources and compiler flags at the time of the first call."""
    return files_hash(_FLAGS, [*_sources(), *headers()])


@cache
def lacking_functions() -> frozenset[str]:
    """Return the functions of MPI that SimGrid declares but does not implement (lacking.c)."""
    return frozenset(re.findall(r"^LACKING\((\w+)\)", (_HERE / "lacking.c").read_text(), re.MULTILINE))


def files_hash(flags: Sequence[str], files: Sequence[Path]) -> str:
    """Return a hash of compiler flags, and of the names and contents of files."""
    digest = hashlib.sha256(" ".join(flags).encode())
    for path in files:
        digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    return [
        *(path for folder in _ADD_ONS for path in sorted((_HERE / folder).glob("*.c*"))),
        *sorted(_HERE.glob("*.c")),  # after them: SimGrid's mpi.h makes all functions of MPI weak, and the first counts
        _COMMON / "energy.c",
        _COMMON / "json.c",
        _HARNESS / "memory.c",
    ]


def headers() -> list[Path]:
    """Return the recorder's headers."""
    common = (_COMMON / f"{name}.h" for name in ("checked", "energy", "json"))
    return [*sorted(_HERE.glob("*.h")), *common, _HARNESS / "memory.h"]
