"""Iterations that a method needs for a size N on P ranks: the table of runs with arithmetic beside a kernel."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from apps.errors import KernelError
from apps.programs.kernel import Kernel, Value

FILE = "iterations.csv"  # columns: the parameters that decide, ranks, iterations; in that order


def table_iterations(kernel: Kernel, params: Mapping[str, Value], nranks: int, *, where: str) -> int:
    """Return the number of iterations that the kernel's table has for these parameters and ranks.

    Args:
        kernel: A kernel with a table.
        params: All parameters of the problem.
        nranks: Number of ranks.
        where: The problem and its ranks, for the error.

    Raises:
        KernelError: The table has no such entry.
    """
    columns, rows = _table(kernel.folder / FILE)
    values = {**params, "ranks": nranks}
    usual = all(values[name] == value for name, value in kernel.parameters.items() if name not in columns)
    entry = tuple(int(values[column]) for column in columns)
    if not usual or entry not in rows:
        raise KernelError(
            where,
            f"no run with arithmetic has given its number of iterations ({kernel.folder.name}/{FILE})",
            f"Give the number: --param {kernel.iterations_parameter}=K",
        )
    return rows[entry]


def read_table(path: Path) -> tuple[tuple[str, ...], dict[tuple[int, ...], int]]:
    """Return the names of the columns that decide, and the number of iterations for each of their values."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        columns = tuple(name for name in reader.fieldnames or () if name != "iterations")
        return columns, {tuple(int(row[name]) for name in columns): int(row["iterations"]) for row in reader}


_table = cache(read_table)
