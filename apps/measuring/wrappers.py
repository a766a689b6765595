"""Write the wrappers of MPI's functions, in C and for Fortran, from the table of apps/recording/recorder.

A wrapper times a call, counts the data sent, and calls the function of the MPI library.  In C that function has the
prefix PMPI_.  Fortran has no portable name for it, so its wrapper calls the next function of the same name (RTLD_NEXT):
``mpi_send_`` for mpif.h and the module mpi, ``mpi_send_f08_`` for the module mpi_f08, and in MPICH ``mpi_send_f08ts_``
for functions with buffers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from apps.recording.recorder.real.calls import Call

# The C type of an argument by its word in the table: in the usual form, and in the form for large counts.
_C_TYPES = {
    "in": "const void *",
    "out": "void *",
    "place": "void *",
    "Count": "int ",
    "Counts": "const int *",
    "Starts": "const int *",
    "Aints": "const MPI_Aint *",
    "Big": "MPI_Count ",
    "int": "int ",
    "int*": "int *",
    "ints": "const int *",
    "parts": "int *",
    "Unit": "int ",
    "text": "char *",
    "texts": "char **",
    "texts*": "char **",
    "textss": "char ***",
    "Types": "const MPI_Datatype *",
    "Type": "MPI_Datatype ",
    "Infos": "const MPI_Info *",
}
_LARGE = {"Count": "MPI_Count ", "Counts": "const MPI_Count *", "Starts": "const MPI_Aint *", "Unit": "MPI_Aint "}
# Expressions that read a value from the address passed by Fortran; other arguments stay addresses.
_READ = {
    "Count": "*{}",
    "Big": "*{}",
    "int": "*{}",
    "Type": "PMPI_Type_f2c(*{})",
    "Comm": "PMPI_Comm_f2c(*{})",
}
_FORTRAN_TYPES = {"Count": "const F *", "Counts": "const F *", "Types": "const F *", "Big": "const MPI_Count *"}
_BUFFERS = ("in", "out")
_POINTER_FORMS = ("Win_allocate", "Win_allocate_shared")  # Fortran has a second function for results of type C_PTR
_HEAD = '#define _GNU_SOURCE\n#include <dlfcn.h>\n\n#include "counting.h"\n#include "fortran.h"\n'


def wrappers(calls: Sequence[Call]) -> str:
    """Return the wrappers in C, as a file to compile in the folder of layer.h."""
    return "\n".join((_HEAD, *(text for call in calls for text in _guarded(call))))


def _guarded(call: Call) -> Iterator[str]:
    if call.extension:
        yield "#if MPI_VERSION < 4 && defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)"
    elif call.since > 3:
        yield f"#if MPI_VERSION >= {call.since}"
    yield _in_c(call, large=False)
    yield from (_in_fortran(call, large=False, f08=f08) for f08 in (False, True))
    if call.name in _POINTER_FORMS:
        second = replace(call, name=f"{call.name}_cptr")
        yield from ("#ifdef OPEN_MPI", _in_fortran(second, large=False, f08=False), "#endif")
    if call.since > 3 or call.extension:
        yield "#endif"
    if call.large and not call.extension:
        yield from ("#if MPI_VERSION >= 4", _in_c(call, large=True), _in_fortran(call, large=True, f08=True), "#endif")


def _in_c(call: Call, *, large: bool) -> str:
    prefix = "MPIX_" if call.extension else "MPI_"
    name = f"{call.name}{'_c' if large else ''}"
    parameters = ", ".join(f"{_c_type(word, large=large)}{argument}" for word, argument in call.arguments)
    passed = ", ".join(argument for _, argument in call.arguments)
    function = f"layer_{name}"
    return _function(
        call, head=f"int {function}({parameters})", symbol=f'"{prefix}{name}"', counted=call.counted,
        made=f"int done = P{prefix}{name}({passed});", request="*r", end="  return done;\n",
    )  # fmt: skip


def _in_fortran(call: Call, *, large: bool, f08: bool) -> str:
    prefix, name = "mpix_" if call.extension else "mpi_", call.name.lower()
    macro = f"{'F08TS' if call.buffers else 'F08'}{'_LARGE' if large else ''}"  # of layer/fortran.h
    symbol = f'{macro}("{prefix}{name}")' if f08 else f'"{prefix}{name}_"'
    types = [_fortran_type(word, large=large) for word, _ in call.arguments]
    lengths = [f"size_t length{number}" for number, (word, _) in enumerate(call.arguments) if word.startswith("text")]
    parameters = ", ".join([f"{kind}{argument}" for kind, (_, argument) in zip(types, call.arguments, strict=True)]
                           + ["F *error", *lengths])  # fmt: skip
    passed = ", ".join(
        [argument for _, argument in call.arguments] + ["error"] + [argument.split()[1] for argument in lengths]
    )
    function = f"layer_{prefix}{name}{'_f08' if f08 else ''}{'_large' if large else ''}"
    return _function(
        call, head=f"void {function}({parameters})", symbol=symbol, counted=_read_by_address(call, f08=f08),
        made=f"static void (*next)({parameters});\n  NEXT(next, {symbol});\n  next({passed});",
        request="PMPI_Request_f2c(*r)", end="",
    )  # fmt: skip


def _function(call: Call, *, head: str, symbol: str, counted: str, made: str, request: str, end: str) -> str:
    kept = f"  layer_kept({request});\n" if call.kept else ""
    prepare = "  layer_prepare();\n" if call.kept else ""
    counts = f"  {counted};\n" if counted else ""
    leave = "layer_leave_file" if call.file else "layer_leave"
    return (
        f"{head} __asm__({symbol});\n{head}\n{{\n"
        f"  layer_enter();\n{prepare}{counts}  {made}\n{kept}  {leave}();\n{end}}}\n"
    )


def _c_type(word: str, *, large: bool) -> str:
    if large and word in _LARGE:
        return _LARGE[word]
    if word in _C_TYPES:
        return _C_TYPES[word]
    return f"MPI_{word[:-1]} *" if word.endswith("*") else f"MPI_{word} "


def _fortran_type(word: str, *, large: bool) -> str:
    if large and word in ("Count", "Counts"):
        return "const MPI_Count *"
    if word in _FORTRAN_TYPES:
        return _FORTRAN_TYPES[word]
    return "void *" if word in _BUFFERS else "F *"


def _read_by_address(call: Call, *, f08: bool) -> str:
    """Return the counting statement with every argument read from the address passed by Fortran."""
    reads = {name: _READ[word].format(name) for word, name in call.arguments if word in _READ}
    place = "BUFFER_F08" if f08 else "BUFFER"
    reads |= {name: f"{place}({name})" for word, name in call.arguments if word in _BUFFERS}
    return re.sub(r"\b\w+\b", lambda match: reads.get(match[0], match[0]), call.counted)
