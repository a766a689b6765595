"""The recorder for programs of a real MPI as a compiled library: its calls in C and Fortran, and its hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from apps.recording.recorder.library import files_hash, headers
from platforms.files.caching import cache_folder, write_atomically
from platforms.simgrid.compiling import compile_once

# Write the recorder's functions of MPI 4 with large counts (MPI_Send_c): each calls the one with counts of type int.
#
# mpi4py calls these if the library has them.  A count that does not fit an int ends the program with a one-line
# message.

_LARGE_HEAD = """#include "fortran.h"
#include <limits.h>
#include <stdlib.h>

#if MPI_VERSION >= 4
__attribute__((unused)) static int small(MPI_Count count)
{
  if (count > INT_MAX)
    fail("unsupported: a count of more than 2^31 - 1");
  return (int)count;
}
#define SMALL_ARRAY(name, type)                                       \\
  __attribute__((unused)) static int *name(const type *large, MPI_Comm comm) \\
  {                                                                   \\
    int size;                                                         \\
    PMPI_Comm_size(comm, &size);                                      \\
    int *made = large ? malloc((size_t)size * sizeof *made) : NULL;   \\
    for (int i = 0; made && i < size; i++)                            \\
      made[i] = small((MPI_Count)large[i]);                           \\
    return made;                                                      \\
  }
SMALL_ARRAY(small_counts, MPI_Count)
SMALL_ARRAY(small_starts, MPI_Aint)
"""
_C_TYPES = {
    "in": "const void *",
    "out": "void *",
    "Count": "MPI_Count ",
    "Counts": "const MPI_Count *",
    "Starts": "const MPI_Aint *",
    "int": "int ",
    "int*": "int *",
    "Type": "MPI_Datatype ",
}
_ARRAYS = {"Counts": "small_counts", "Starts": "small_starts"}
_LARGE_HANDLES = ("Comm", "Op", "Info", "Request*", "Status*", "Message*")


def large_functions(calls: Sequence[Call]) -> str:
    """Return the functions in C."""
    return "\n".join((_LARGE_HEAD, *(text for call in calls for text in _large_function(call)), "#endif\n"))


def _large_function(call: Call) -> Iterator[str]:
    known = {*_C_TYPES, *_LARGE_HANDLES}
    if not call.large or call.since > 3 or call.extension or call.file or {word for word, _ in call.arguments} - known:
        return
    parameters = ", ".join(f"{_large_type(word)}{name}" for word, name in call.arguments)
    comm = next((name for word, name in call.arguments if word == "Comm"), "")
    before, after, passed = [], [], []
    for word, name in call.arguments:
        if word in _ARRAYS:
            before.append(f"int *{name}_ = {_ARRAYS[word]}({name}, {comm});")
            after.append(f"free({name}_);")
            passed.append(f"{name}_")
        else:
            passed.append(f"small({name})" if word == "Count" else name)
    if call.name.startswith("I") or call.name.endswith("_init"):
        after = []  # the arrays belong to the operation, which may still run: they are never freed
    lines = [*before, f"int result = MPI_{call.name}({', '.join(passed)});", *after, "return result;"]
    body = "".join(f"  {line}\n" for line in lines)
    head = f"int large_{call.name}({parameters})"
    yield f'{head} __asm__("MPI_{call.name}_c");\n{head}\n{{\n{body}}}'


def _large_type(word: str) -> str:
    if word in _C_TYPES:
        return _C_TYPES[word]
    return f"MPI_{word[:-1]} *" if word.endswith("*") else f"MPI_{word} "


# Write the recorder's functions for Fortran under a real MPI: each calls the C function, which is recorded.
#
# Open MPI's functions for Fortran call the C functions by names that no other library can intercept (PMPI).  Functions
# with arrays of requests are in real/fortran.c.

_BY_HAND = {"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Startall"}
_NOT_RECORDED = ("Buffer_detach", "Publish_name", "Unpublish_name", "Lookup_name", "Close_port")
_FORTRAN_HANDLES = ("Type", "Comm", "Op", "Info", "Group", "Request", "Message")
_FORTRAN_HEAD = '#include "fortran.h"\n'
_ADDRESSES = {
    **dict.fromkeys(("in", "out"), "fortran_buffer({})"),
    **dict.fromkeys(("Counts", "Starts", "ints", "int*"), "(int *){}"),
    **dict.fromkeys(("Count", "int"), "*{}"),
}
_C_NAMES = {"Type": "Datatype"}  # of a word, without MPI_


def fortran_functions(calls: Sequence[Call]) -> str:
    """Return the functions in C, as a file to compile with the folder of fortran.h."""
    return "\n".join((_FORTRAN_HEAD, *(text for call in calls for text in _fortran_function(call))))


def _fortran_function(call: Call) -> Iterator[str]:
    if call.since > 3 or call.extension or call.name in (*_BY_HAND, *_NOT_RECORDED):
        return
    words = {word.removesuffix("*") for word, _ in call.arguments}
    if call.file or words - {"in", "out", "Counts", "Starts", "ints", "int", "Count", "Status", *_FORTRAN_HANDLES}:
        yield f'REFUSED({call.name.lower()}, "MPI_{call.name}")'  # windows, files, texts, arrays of types
        return
    parameters = ", ".join([f"{_fortran_type(word)} {name}" for word, name in call.arguments] + ["F *error"])
    before, after, passed = [], [], []
    for word, name in call.arguments:
        kind = word.removesuffix("*")
        if kind == "Status":
            before.append(f"MPI_Status {name}_; bool {name}_ignored = fortran_ignores({name});")
            passed.append(f"{name}_ignored ? MPI_STATUS_IGNORE : &{name}_")
            after.append(f"if (!{name}_ignored) PMPI_Status_c2f(&{name}_, {name});")
        elif kind in _FORTRAN_HANDLES and word != kind:
            before.append(f"MPI_{kind} {name}_ = PMPI_{kind}_f2c(*{name});")
            passed.append(f"&{name}_")
            after.append(f"*{name} = PMPI_{kind}_c2f({name}_);")
        elif kind in _FORTRAN_HANDLES:
            passed.append(f"PMPI_{kind}_f2c(*{name})")
        else:
            passed.append(_ADDRESSES[word].format(name))
    lines = [*before, f"int result = MPI_{call.name}({', '.join(passed)});", *after, "if (error) *error = result;"]
    body = "".join(f"  {line}\n" for line in lines)
    yield f"FORTRAN({call.name.lower()}, ({parameters}))\n{{\n{body}}}"


def _fortran_type(word: str) -> str:
    return "void *" if word in ("in", "out") else "F *"


_TABLE = Path(__file__).with_name("calls.txt")
_SECTIONS = ("calls", "persistent", "collectives", "files")
_ROW = re.compile(r"(?P<since>4 )?(?P<name>\w+)\((?P<arguments>.*)\) \|(?P<counted>.*)")
_BUFFERS = ("in", "out")
_LARGE = ("Count", "Counts", "Starts", "Unit")  # words whose type differs in the form for large counts


@dataclass(frozen=True)
class Call:
    """A function of MPI, in one of its forms."""

    name: str  # without MPI_
    arguments: tuple[tuple[str, str], ...]  # word of the type, and name
    counted: str  # a statement in the words of layer/counting.h; empty: nothing is counted
    since: int = 3  # version of MPI
    kept: bool = False  # the counted amount is stored with the request, and counted when the request is started
    file: bool = False
    extension: bool = False  # the function is MPIX_..., Open MPI 4's name for a function of MPI 4

    @property
    def buffers(self) -> bool:
        """True if an argument is a buffer of any type."""
        return any(word in _BUFFERS for word, _ in self.arguments)

    @property
    def large(self) -> bool:
        """True if the function has a form for large counts."""
        return any(word in _LARGE for word, _ in self.arguments)


def read_calls(text: str) -> list[Call]:
    """Return the functions in a table, collectives in all their forms.

    Raises:
        ValueError: A line is not a function.
    """
    calls: list[Call] = []
    section = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line[1:-1] in _SECTIONS:
            section = line[1:-1]
            continue
        match = _ROW.fullmatch(line)
        if match is None or not section:
            raise ValueError(f"not a function of MPI: {line}")
        arguments = tuple(_argument(word) for word in match["arguments"].split(", "))
        call = Call(
            match["name"], arguments, match["counted"].strip(), 4 if match["since"] else 3,
            kept=section == "persistent", file=section == "files",
        )  # fmt: skip
        calls += _forms(call) if section == "collectives" else [call]
    return calls


@cache
def mpi_calls() -> tuple[Call, ...]:
    """Return the functions of the table."""
    return tuple(read_calls(_TABLE.read_text()))


def _argument(text: str) -> tuple[str, str]:
    word, _, name = text.partition(" ")
    return word, name


def _forms(call: Call) -> Iterator[Call]:
    request, info = ("Request*", "r"), ("Info", "i")
    yield call
    yield replace(call, name=f"I{call.name[0].lower()}{call.name[1:]}", arguments=(*call.arguments, request))
    persistent = replace(call, name=f"{call.name}_init", arguments=(*call.arguments, info, request), kept=True)
    yield replace(persistent, since=4)
    yield replace(persistent, extension=True)


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
