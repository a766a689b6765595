"""Write the recorder's functions of MPI 4 with large counts (MPI_Send_c): each calls the one with counts of type int.

mpi4py calls these if the library has them.  A count that does not fit an int ends the program with a one-line message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.recording.recorder.real.calls import Call

_HEAD = """#include "fortran.h"
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
_HANDLES = ("Comm", "Op", "Info", "Request*", "Status*", "Message*")


def large_functions(calls: Sequence[Call]) -> str:
    """Return the functions in C."""
    return "\n".join((_HEAD, *(text for call in calls for text in _function(call)), "#endif\n"))


def _function(call: Call) -> Iterator[str]:
    known = {*_C_TYPES, *_HANDLES}
    if not call.large or call.since > 3 or call.extension or call.file or {word for word, _ in call.arguments} - known:
        return
    parameters = ", ".join(f"{_type(word)}{name}" for word, name in call.arguments)
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


def _type(word: str) -> str:
    if word in _C_TYPES:
        return _C_TYPES[word]
    return f"MPI_{word[:-1]} *" if word.endswith("*") else f"MPI_{word} "
