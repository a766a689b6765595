"""Compile C files to a library, and call its functions."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from platforms.files.caching import unusable
from platforms.simgrid.compiling import compile_once

# Results must be the same on every machine: no fused multiply-add, no reordering of operations.  Calls between files
# are inlined, and nothing here looks at floating-point exceptions or errno.
_SAME, _FAST = ("-ffp-contract=off",), ("-fno-semantic-interposition", "-fno-trapping-math", "-fno-math-errno")
FLAGS = ("-O3", "-flto", "-std=gnu11", *_SAME, *_FAST, "-shared", "-fPIC")
NO_MEMORY, BAD_INPUT = -1, -2  # results of the functions, as in the headers


@dataclass(frozen=True)
class Library:
    """The C files of a folder as one library, with those of other folders.

    It is compiled at first use and kept in the cache folder; it is recompiled when a file, the compiler or its flags
    change.
    """

    name: str
    folder: Path
    others: tuple[Path, ...] = ()

    def call(self, function: str, *arguments: Any) -> int:
        """Call a function and return its result, which is at least 0.

        Other threads run meanwhile, but Ctrl-C takes effect only when the function ends.

        Args:
            function: Name of the function, which returns an int.
            arguments: Numbers, passed as int64_t; structures, passed as pointers; anything else, passed unchanged to
                ctypes.

        Raises:
            UserError: The library cannot be compiled or loaded.
            MemoryError: The function runs out of memory.
            ValueError: The function refuses its arguments.
        """
        result: int = getattr(_loaded(self), function)(*map(_passed, arguments))
        if result == NO_MEMORY:
            raise MemoryError(f"{function} of {self.name}")
        if result == BAD_INPUT:
            raise ValueError(f"{function} of {self.name} refuses its arguments")
        return result

    def compiled(self) -> Path:
        """Return the library's file, which is compiled on first use.

        Raises:
            UserError: The library cannot be compiled.
        """
        folders = [self.folder, *self.others]
        sources, headers = (sorted(path for folder in folders for path in folder.glob(end)) for end in ("*.c", "*.h"))
        return compile_once(self.name, sources, compiler=["gcc"], flags=FLAGS, libraries=["-lm"], headers=headers)


def _passed(argument: Any) -> Any:
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    return ctypes.byref(argument) if isinstance(argument, ctypes.Structure) else argument


@cache
def _loaded(library: Library) -> ctypes.CDLL:
    path = library.compiled()
    try:
        return ctypes.CDLL(str(path))
    except OSError as err:  # for example on a file system mounted noexec
        raise unusable(path.parent, str(err)) from err
