"""Functions of MPI to which a program refers and which SimGrid lacks, such as those of dynamic processes."""

from __future__ import annotations

from pathlib import Path

from apps.programs.libraries import referred_names
from apps.recording.recorder.library import lacking_functions


def lacked_functions(binary: Path) -> tuple[str, ...]:
    """Return these functions of a binary, in order of their names; in Fortran they end with an underscore.

    Raises:
        KernelError: The binary's names cannot be read.
    """
    asked = {name.removesuffix("_").casefold() for name in referred_names(binary)}
    return tuple(sorted(name for name in lacking_functions() if name.casefold() in asked))
