"""A compiler of a build: SimGrid's compiler under a common name, with additions for unchanged programs.

The scripts that stand first in the PATH of a build call this file by its path: COMPILER.py NAME ARGUMENTS.  It imports
nothing of the project, so that it starts quickly.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NOTES = "GRIDVAL_BUILD_NOTES"  # variable: a file to which the names of linked programs are added
BEHIND = "GRIDVAL_BUILD_PATH"  # variable: the PATH after these scripts

C, CXX, FORTRAN = "smpicc", "smpicxx", "smpif90"
NAMES = {  # names of compilers in Makefiles; SimGrid's compiler
    **dict.fromkeys(("mpicc", "mpigcc", "mpiclang", "mpiicc", "mpiicx", "smpicc"), C),
    **dict.fromkeys(("mpicxx", "mpic++", "mpiCC", "mpig++", "mpiclang++", "mpiicpc", "mpiicpx", "smpicxx"), CXX),
    **dict.fromkeys(("mpif90", "mpif77", "mpifort", "mpifc", "mpiifort", "mpiifx", "smpif90", "smpiff"), FORTRAN),
    # Objects of these become part of a program too, which is a shared object.
    **dict.fromkeys(("cc", "gcc", "c++", "g++", "gfortran"), ""),
}
PLAIN = {C: "cc", CXX: "c++", FORTRAN: "gfortran"}
# With these the compiler behaves as for an ordinary MPI (apps/programs/own_program.py).
_C_FLAGS = ("-DSMPI_NO_OVERRIDE_MALLOC", "-fno-semantic-interposition")
# Functions of MPI are weak in C, and a linker leaves out a library of which nothing else is needed.
_LINK_FLAGS = ("-Wl,--push-state,--no-as-needed", "-lsimgrid", "-Wl,--pop-state")
# They turn errors of gfortran 10 and later into warnings, and lift a limit of the length of lines.
_FORTRAN_FLAGS = ("-fallow-argument-mismatch", "-fallow-invalid-boz", "-ffree-line-length-none")
# A program is a shared object, whose main must be visible.
_DROPPED = {"-static", "-pie", "-no-pie", "-fpie", "-fPIE", "-fno-pie", "-fno-PIE", "-fvisibility=hidden", "-s"}
_QUERIES = {"--version", "-dumpversion", "-dumpmachine", "-dumpfullversion", "-v", "-V", "-qversion", "--help"}
_SHOWS = ("-show", "-compile-info", "-compile_info", "-link-info", "-link_info")
# Programs that CMake, configure and Meson compile, and may run, to learn about compilers and libraries.
_TESTED = re.compile(r"CMakeFiles/(CMakeTmp|CMakeScratch|[0-9.]+(-[\w.]+)?/CompilerId|ShowIncludes)|/meson-private/")
_CONFTEST = re.compile(r"conftest[\w.-]*")
_PREPROCESSED = re.compile(rb'^# \d+ "[^"\n]*smpi_helpers\.h"', re.MULTILINE)
_HEADER_IS_IN = "-DSMPI_HELPERS_H"  # the header's guard
_C_SOURCE = re.compile(r"\.(c|cc|cpp|cxx|C|c\+\+)$")
_FORTRAN_SOURCE = re.compile(r"\.([fF]|[fF]77|[fF]9[05]|[fF]0[38]|for|FOR|fpp|FPP|ftn|FTN)$")
_NO_LINK = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"}
_VARIABLES = (
    "SMPI_PRETEND_CC",
    "SMPI_NO_UNDEFINED_CHECK",
    "CFLAGS",
    "CXXFLAGS",
    "FFLAGS",
    "LINKARGS",
    "VERBOSE",
    "show",
)


def main(arguments: Sequence[str]) -> int:
    """Compile as a compiler of this name does, and return its exit status."""
    name, *words = arguments
    compiler = NAMES[name]
    if not compiler:
        return _run([name, *(word for word in words if word not in _DROPPED), "-fPIC"])
    if not words or any(word in _QUERIES for word in words):
        return _run([PLAIN[compiler], *words])
    if any(word.startswith("-showme") or word in _SHOWS for word in words):
        return _run([compiler, "-show"])
    words = [word for word in words if word not in _DROPPED]
    if is_test(words, os.getcwd()):
        return _run([compiler, *_named(compiler, words)], pretend=True)
    if compiler != FORTRAN and any(_C_SOURCE.search(word) and _is_preprocessed(word) for word in words):
        words.insert(0, _HEADER_IS_IN)
    if compiler == FORTRAN and not _output(words) and not {"-E", "-fsyntax-only"} & {*words}:
        status = _fortran_without_output(words)
    else:
        status = _run([compiler, *_flags(compiler, words), *_named(compiler, words)])
    if status == 0 and _links(words):
        _note(_output(words) or "a.out")
    return status


def is_test(words: Sequence[str], folder: str) -> bool:
    """Return whether CMake, configure or Meson runs a test: the result must run without SimGrid."""
    return _TESTED.search(folder + "/") is not None or any(
        _CONFTEST.fullmatch(os.path.basename(word)) for word in words
    )


def _links(words: Sequence[str]) -> bool:
    return not _NO_LINK & {*words} and "-shared" not in words


def _flags(compiler: str, words: Sequence[str]) -> tuple[str, ...]:
    if compiler == FORTRAN:
        return _FORTRAN_FLAGS
    return (*_C_FLAGS, *_LINK_FLAGS) if _links(words) else _C_FLAGS


def _fortran_without_output(words: Sequence[str]) -> int:
    """Compile to files named as by other compilers: SimGrid's calls the object of x.f, and each program, ``.o``."""
    ending = next((ending for option, ending in (("-c", ".o"), ("-S", ".s")) if option in words), None)
    if ending is None:
        return _run([FORTRAN, *_FORTRAN_FLAGS, *words, "-o", "a.out"])
    sources = [word for word in words if _is_source(word)]
    others = [word for word in words if word not in sources]
    for source in sources:
        made = os.path.splitext(os.path.basename(source))[0] + ending
        status = _run([FORTRAN, *_FORTRAN_FLAGS, *others, source, "-o", made])
        if status:
            return status
    return 0


def _named(compiler: str, words: Sequence[str]) -> list[str]:
    """Return the words with a file for the output of Fortran's preprocessor, which SimGrid's would name ``.o``."""
    to_output = compiler == FORTRAN and "-E" in words and not _output(words)
    return [*words, "-o", "/dev/stdout"] if to_output else [*words]


def _is_source(word: str) -> bool:
    return not word.startswith("-") and _FORTRAN_SOURCE.search(word) is not None


def _is_preprocessed(name: str) -> bool:
    """Return whether a source has been preprocessed with SimGrid's own header, which must not be included again."""
    try:
        return _PREPROCESSED.search(Path(name).read_bytes()) is not None
    except OSError:
        return False


def _output(words: Sequence[str]) -> str | None:
    for place, word in enumerate(words):
        if word == "-o" and place + 1 < len(words):
            return words[place + 1]
        if word.startswith("-o") and len(word) > 2:
            return word[2:]
    return None


def _run(command: Sequence[str], *, pretend: bool = False) -> int:
    """Run a command after these scripts in the PATH; with ``pretend`` SimGrid's compiler makes an ordinary program."""
    path = os.environ.get(BEHIND, os.defpath)
    program = shutil.which(command[0], path=path)
    if program is None:
        print(f"{command[0]}: not found", file=sys.stderr)
        return 127
    environment = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    if not pretend:
        return subprocess.run([program, *command[1:]], env=environment, check=False).returncode
    done = subprocess.run(
        [program, *command[1:]], env={**environment, "SMPI_PRETEND_CC": "1"}, stdout=subprocess.PIPE, check=False
    )
    warned, _, rest = done.stdout.partition(b"\n")
    sys.stdout.buffer.write(rest if warned.startswith(b"Warning: smpi") else done.stdout)
    return done.returncode


def _note(program: str) -> None:
    notes = os.environ.get(NOTES)
    if notes:
        with open(notes, "a") as file:
            file.write(os.path.abspath(program) + "\0")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
