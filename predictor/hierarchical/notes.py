"""Notes for this predictor in the file ``hierarchical.toml`` in the folder of a kernel.

``recorded = true``: the messages are counted in a recording, although they are declared.  ``[programs]``: the programs
of the paper's table that the kernel stands for, each with the power of the table's n that is the kernel's size.
``grid_rows``: the parameter with the rows of the grid of ranks, which is made as square as possible for these programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from apps.programs.kernel import kernels_with, named_kernel
from platforms.files.checked_toml import read_checked
from predictor.hierarchical.applications import applications

_FILE = "hierarchical.toml"


@dataclass(frozen=True)
class Notes:
    """The notes of a kernel."""

    recorded: bool = False
    programs: Mapping[str, int] = field(default_factory=dict, hash=False)  # powers by name
    grid_rows: str | None = None


@cache
def notes(name: str) -> Notes:
    """Return the notes of a kernel; those of a kernel without the file say nothing.

    Raises:
        PlatformError: Something in the file is wrong.
    """
    path = named_kernel(name).file(_FILE)
    if path is None:
        return Notes()
    names = table_programs_known()
    table = read_checked(path, {"": ("recorded", "programs", "grid_rows"), "programs": names}, _FILE)
    programs = table.table("programs", "programs")
    powers = {program: programs.integer(program) for program in names if programs.has(program)}
    return Notes(table.boolean("recorded", False), powers, table.text("grid_rows", "") or None)


def table_programs_known() -> tuple[str, ...]:
    """Return the names of the programs of the paper's table."""
    return tuple(applications())


@cache
def kernel_for() -> Mapping[str, tuple[str, int]]:
    """Return the kernel that stands for each program of the paper's table, and the power of n that is its size."""
    named = {program: (name, power) for name in kernels_with(_FILE) for program, power in notes(name).programs.items()}
    return {program: named[program] for program in table_programs_known() if program in named}
