"""The recorder as a library that is loaded before SimGrid's, and what it says when it stops a program."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from apps.errors import KernelError, SimulationError
from apps.process import Finished
from apps.user_program import UserProgram
from platforms.compiling import compile_once

_HERE = Path(__file__).parent / "recorder"
_COMMON = Path(__file__).parent / "common"  # of the kernels
_FLAGS = ("-O2", "-std=gnu11", "-pthread", "-DSMPI_NO_OVERRIDE_MALLOC")
_SAID = re.compile(r"^recorder: (?:(unsupported|sampled): )?(.*)$", re.MULTILINE)


def recorder_library() -> Path:
    """The compiled recorder, made on first use and kept in the cache folder."""
    return compile_once(
        "recorder", _sources(), compiler=["smpicc"], flags=_FLAGS, libraries=["-ldl"], headers=_headers()
    )


@cache
def recorder_hash() -> str:
    """Identity of the recorder: its sources and how they are compiled."""
    digest = hashlib.sha256(" ".join(_FLAGS).encode())
    for path in (*_sources(), *_headers()):
        digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def user_program_hash(program: UserProgram) -> str:
    """Identity of a program and of the recorder that makes its record."""
    return f"{program.content_hash}-{recorder_hash()[:16]}"


def check_recorded(done: Finished, what: str) -> None:
    """Raises KernelError for what cannot be recorded, and SimulationError where the recorder could not do its work."""
    said = _SAID.search(done.log)
    if said is None:
        return
    how, text = said.groups()
    if how == "unsupported":
        raise KernelError(what, f"the program calls {text}, which cannot be recorded", "Do without that call")
    if how == "sampled":
        raise KernelError(what, text, "Such times are real ones: give --compute measured")
    raise SimulationError(f"{what}: the recorder stopped: {text}", done.log)


def _sources() -> list[Path]:
    return [*sorted(_HERE.glob("*.c")), _COMMON / "energy.c", _COMMON / "json.c"]


def _headers() -> list[Path]:
    return [_HERE / "recorder.h", *(_COMMON / f"{name}.h" for name in ("checked", "energy", "json"))]
