"""Write the recorder's functions for Fortran under a real MPI: each calls the C function, which is recorded.

Open MPI's functions for Fortran call the C functions by names that no other library can intercept (PMPI).  Functions
with arrays of requests are in real/fortran.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.recording.recorder.real.calls import Call

_BY_HAND = {"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Startall"}
_NOT_RECORDED = ("Buffer_detach", "Publish_name", "Unpublish_name", "Lookup_name", "Close_port")
_HANDLES = ("Type", "Comm", "Op", "Info", "Group", "Request", "Message")
_HEAD = '#include "fortran.h"\n'
_ADDRESSES = {
    **dict.fromkeys(("in", "out"), "fortran_buffer({})"),
    **dict.fromkeys(("Counts", "Starts", "ints", "int*"), "(int *){}"),
    **dict.fromkeys(("Count", "int"), "*{}"),
}
_C_NAMES = {"Type": "Datatype"}  # of a word, without MPI_


def fortran_functions(calls: Sequence[Call]) -> str:
    """Return the functions in C, as a file to compile with the folder of fortran.h."""
    return "\n".join((_HEAD, *(text for call in calls for text in _function(call))))


def _function(call: Call) -> Iterator[str]:
    if call.since > 3 or call.extension or call.name in (*_BY_HAND, *_NOT_RECORDED):
        return
    words = {word.removesuffix("*") for word, _ in call.arguments}
    if call.file or words - {"in", "out", "Counts", "Starts", "ints", "int", "Count", "Status", *_HANDLES}:
        yield f'REFUSED({call.name.lower()}, "MPI_{call.name}")'  # windows, files, texts, arrays of types
        return
    parameters = ", ".join([f"{_type(word)} {name}" for word, name in call.arguments] + ["F *error"])
    before, after, passed = [], [], []
    for word, name in call.arguments:
        kind = word.removesuffix("*")
        if kind == "Status":
            before.append(f"MPI_Status {name}_; bool {name}_ignored = fortran_ignores({name});")
            passed.append(f"{name}_ignored ? MPI_STATUS_IGNORE : &{name}_")
            after.append(f"if (!{name}_ignored) PMPI_Status_c2f(&{name}_, {name});")
        elif kind in _HANDLES and word != kind:
            before.append(f"MPI_{kind} {name}_ = PMPI_{kind}_f2c(*{name});")
            passed.append(f"&{name}_")
            after.append(f"*{name} = PMPI_{kind}_c2f({name}_);")
        elif kind in _HANDLES:
            passed.append(f"PMPI_{kind}_f2c(*{name})")
        else:
            passed.append(_ADDRESSES[word].format(name))
    lines = [*before, f"int result = MPI_{call.name}({', '.join(passed)});", *after, "if (error) *error = result;"]
    body = "".join(f"  {line}\n" for line in lines)
    yield f"FORTRAN({call.name.lower()}, ({parameters}))\n{{\n{body}}}"


def _type(word: str) -> str:
    return "void *" if word in ("in", "out") else "F *"
