"""Programs of the user's own: a source file in C, C++ or Fortran, or what smpicc, smpicxx or smpif90 made of one; or a
source file in Python, which runs on S4U (apps/s4u)."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from apps.errors import KernelError
from apps.s4u import program as python_program
from platforms.compiling import compile_once
from platforms.reading import input_bytes

PLACEHOLDER = "{iterations}"
FLAGS = ("-O2",)
_COMPILERS = {  # by the ending of a source file
    **dict.fromkeys((".c",), "smpicc"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".C"), "smpicxx"),
    **dict.fromkeys((".f90", ".F90", ".f", ".F"), "smpif90"),
}
_HEADERS = (".h", ".hh", ".hpp", ".inc")  # beside a source, they belong to it
_UNPASSABLE = set("*?[]\\'\"$`|&;<>()")  # smpirun is a shell script, and does not quote
_MOST_BYTES = 512 << 20
_ELF, _SHARED_OBJECT = b"\x7fELF", 3


@dataclass(frozen=True)
class UserProgram:
    """A program and its arguments.  Two that are equal do the same."""

    name: str  # for tables and messages
    content_hash: str  # of the source with the headers beside it, or of the binary, and how it is compiled
    arguments: tuple[str, ...]  # PLACEHOLDER, where the number of iterations goes
    iterations: int | None  # what goes there in a full run; None: the arguments do not tell
    path: Path = field(compare=False)  # absolute

    @property
    def is_python(self) -> bool:
        return self.path.suffix == python_program.SUFFIX

    @property
    def is_source(self) -> bool:
        return self.path.suffix in _COMPILERS

    def arguments_for(self, iterations: int) -> tuple[str, ...]:
        """The arguments that make it do so many iterations; the only ones, where they do not tell."""
        return tuple(one.replace(PLACEHOLDER, str(iterations)) for one in self.arguments)


def read_program(path: str | Path, arguments: str = "", iterations: int | None = None) -> UserProgram:
    """The program in a file, checked as far as can be without compiling or running it.

    ``arguments`` are taken apart as a shell would, and may contain ``{iterations}``; ``iterations`` is the value of
    that in a full run.  Raises KernelError.
    """
    path = Path(path)
    where = f"--program {path}"
    if not os.path.isfile(path):
        problem = "it is a folder" if os.path.isdir(path) else "no such file"
        raise KernelError(where, problem, "Name a source file or a program built by smpicc, smpicxx or smpif90")
    try:
        content = input_bytes(path, most_bytes=_MOST_BYTES)
    except OSError as err:
        raise KernelError(where, f"cannot be read: {err.strerror}", "Make it readable") from err
    if path.suffix == python_program.SUFFIX:
        python_program.check_program(path)
    elif path.suffix not in _COMPILERS:
        _check_binary(content, where)
    program = UserProgram(
        name=path.stem,
        content_hash=_content_hash(path, content),
        arguments=_split(arguments, any_word=path.suffix == python_program.SUFFIX),
        iterations=iterations,
        path=path.absolute(),
    )
    _check_iterations(program)
    return program


def executable(program: UserProgram) -> Path:
    """What smpirun is given: the file itself, or the source, compiled on first use and kept in the cache folder.

    Raises UserError where compiling fails.
    """
    if not program.is_source:
        return program.path
    compiler = _COMPILERS[program.path.suffix]
    return compile_once(
        program.name, [program.path], compiler=[compiler], flags=FLAGS, headers=_headers_beside(program.path)
    )


def _split(arguments: str, *, any_word: bool) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(arguments))
    except ValueError as err:
        raise KernelError(f"--program-args {arguments!r}", str(err).lower(), "Close the quotation") from err
    for word in () if any_word else words:
        if not word or set(word) & _UNPASSABLE or any(character.isspace() for character in word):
            problem = f"smpirun cannot pass the argument {word!r}"
            raise KernelError("--program-args", problem, "Leave out blanks inside words, quotes and shell characters")
    return words


def _check_iterations(program: UserProgram) -> None:
    told = any(PLACEHOLDER in word for word in program.arguments)
    if told and program.iterations is None:
        problem = f"{PLACEHOLDER} stands there, but not how many a full run has"
        raise KernelError("--program-args", problem, "Give --program-iterations N too")
    if program.iterations is not None:
        where = f"--program-iterations {program.iterations}"
        if not told:
            raise KernelError(where, "the program is not told", f"Write {PLACEHOLDER} in --program-args")
        if program.iterations < 1:
            raise KernelError(where, "not positive", "Give at least 1")


def _check_binary(content: bytes, where: str) -> None:
    remedy = "Build it with smpicc, smpicxx or smpif90, or give the source"
    if not content.startswith(_ELF):
        endings = ", ".join((*_COMPILERS, python_program.SUFFIX))
        raise KernelError(where, "neither a program for this system nor a known kind of source", f"Known: {endings}")
    own = Path(sys.executable).read_bytes()[:20]
    # ELF header: class and byte order at 4 and 5, type at 16, machine at 18.
    if (content[4:6], content[18:20]) != (own[4:6], own[18:20]):
        raise KernelError(where, "it is for another processor", "Build it on this machine")
    if b"libsimgrid.so" not in content:
        problem = "it was built for another MPI" if b"libmpi" in content else "it does not use SimGrid's MPI"
        raise KernelError(where, problem, remedy)
    entry = b"\0main\0" in content or b"\0user_main_\0" in content
    kind = int.from_bytes(content[16:18], "little" if content[5] == 1 else "big")
    if kind != _SHARED_OBJECT or not entry:
        raise KernelError(where, "not an SMPI program: it has no main that SimGrid could load", remedy)


def _content_hash(path: Path, content: bytes) -> str:
    if path.suffix == python_program.SUFFIX:
        return python_program.content_hash(path)
    digest = hashlib.sha256(content)
    if path.suffix in _COMPILERS:
        digest.update(" ".join((_COMPILERS[path.suffix], *FLAGS)).encode())
        for header in _headers_beside(path):
            digest.update(b"\0" + header.name.encode() + b"\0" + header.read_bytes())
    return digest.hexdigest()


def _headers_beside(path: Path) -> list[Path]:
    folder = path.absolute().parent
    return sorted(one for one in folder.iterdir() if one.suffix in _HEADERS and one.is_file())
