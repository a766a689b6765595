"""Places in programs from which they call MPI: file, line and function, from the program's debug information.

The recorder notes a path of calls for each event (apps/recording/recorder/sites.c).  Its place is the innermost call of
the path that is not in the common code of the kernels.  Without debug information a place is the name of a function, or
an address.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from apps.programs.compile import kernel_program
from apps.programs.kernel import named_kernel
from apps.programs.own_program import executable
from apps.programs.problem import Problem
from platforms.errors import UserError

_COMMON = ("apps/kernels/harness/", "apps/common/")  # folders of code that all kernels share
_UNKNOWN = "??"
_PATIENCE_S = 60.0
_FORTRAN_COPY = re.compile(r"(\.[fF]\w*)_\w{10}\.f90$")  # smpif90 compiles a copy, halo.f90_GuXfcSp88V.f90


class _Frame(NamedTuple):
    function: str
    file: str  # "??" if it is not known
    line: str


def places_of(problem: Problem, paths: Sequence[Sequence[int]]) -> tuple[str | None, ...]:
    """Return the place of each path of calls, such as ``is.c:126 send_keys``.

    None stands for a place that is not known: a recording that the user gives, or a program in Python.

    Args:
        problem: The problem whose program was recorded.
        paths: Recording.paths.

    Raises:
        UserError: addr2line, a part of the compiler's binutils, is missing or fails.
    """
    program = _binary(problem)
    if program is None or not paths:
        return (None,) * len(paths)
    addresses = sorted({address for path in paths for address in path})
    frames = dict(zip(addresses, _frames(program, addresses), strict=True))
    common = _COMMON if problem.program is None else ()
    return tuple(_place(path, [frame for address in path for frame in frames[address]], common) for path in paths)


Call = tuple[str, int, str]  # file, line and function; of a call that is not known "", its address and ""


def calls_of(problem: Problem, paths: Sequence[Sequence[int]]) -> tuple[tuple[Call, ...], ...]:
    """Return the calls of each path, the outermost first: copies of a call that the compiler made are equal.

    Args:
        problem: The problem whose program was recorded.
        paths: Recording.paths.

    Raises:
        UserError: As places_of.
    """
    program = _binary(problem)
    if program is None or not paths:
        return tuple(tuple(("", address, "") for address in reversed(path)) for path in paths)
    addresses = sorted({address for path in paths for address in path})
    calls: dict[int, tuple[Call, ...]] = {}
    for address, frames in zip(addresses, _frames(program, addresses), strict=True):
        known = all(_is_known(frame) for frame in frames)
        inlined = tuple((frame.file, int(frame.line), frame.function) for frame in reversed(frames)) if known else ()
        calls[address] = inlined or (("", address, ""),)
    return tuple(tuple(call for address in reversed(path) for call in calls[address]) for path in paths)


def _is_known(frame: _Frame) -> bool:
    return frame.file != _UNKNOWN and frame.line not in ("0", "?")


def _binary(problem: Problem) -> Path | None:
    """Return the executable that was recorded; None if there is none."""
    if problem.program is None:
        return kernel_program(named_kernel(problem.name))
    if problem.program.recorded or problem.program.is_python:
        return None
    return executable(problem.program)


def _frames(program: Path, addresses: Sequence[int]) -> Iterator[list[_Frame]]:
    """Yield the functions around each return address, the innermost first: several where functions were inlined."""
    # A call returns behind itself, perhaps to the next line or function: the address before belongs to the call.
    asked = "".join(f"{address - 1:#x}\n" for address in addresses)
    command = ["addr2line", "--exe", str(program), "--functions", "--inlines", "--addresses", "--demangle"]
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    except (OSError, subprocess.SubprocessError) as err:
        problem = f"addr2line cannot read its lines: {err}"
        raise UserError(str(program), problem, "Install binutils, which belong to the compiler") from err
    lines = done.stdout.splitlines()
    begins = [at for at, line in enumerate(lines) if line.startswith("0x")]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        pairs = zip(lines[begin + 1 : end : 2], lines[begin + 2 : end : 2], strict=True)
        yield [_frame(function, place) for function, place in pairs]


def _frame(function: str, place: str) -> _Frame:
    file, _, line = re.sub(r" \(discriminator \d+\)$", "", place).rpartition(":")
    return _Frame(function, file, line)


def _place(path: Sequence[int], frames: Sequence[_Frame], common: Sequence[str]) -> str | None:
    if not path:
        return None
    frames_of_program = [frame for frame in frames if not any(folder in frame.file for folder in common)]
    known = next((frame for frame in frames_of_program if _is_known(frame)), None)
    if known is not None:
        name = _FORTRAN_COPY.sub(lambda match: match[1], Path(known.file).name)
        return f"{name}:{known.line} {known.function}"
    named = next((frame for frame in frames_of_program if frame.function != _UNKNOWN), None)
    return named.function if named is not None else f"{path[0] - 1:#x}"
