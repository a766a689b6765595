"""How many iterations a method needs for a size N on P ranks: the table of runs with arithmetic beside a kernel."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from apps.catalog import app
from apps.errors import KernelError

if TYPE_CHECKING:
    from apps.catalog import Problem

FILE = "iterations.csv"  # columns: the parameters that decide, ranks, iterations


def table_iterations(problem: Problem, nranks: int) -> int:
    """The entry of the problem on so many ranks; raises KernelError where there is none."""
    kernel = app(problem.app)
    columns, rows = _table(kernel.folder / FILE)
    params = {**dict(problem.params), "ranks": nranks}
    try:
        return rows[tuple(str(params[column]) for column in columns)]
    except KeyError:
        raise KernelError(
            f"{problem} on {nranks} ranks",
            f"no run with arithmetic has told how many iterations it takes ({kernel.folder.name}/{FILE})",
            f"Give them: --param {kernel.iterations_parameter}=K",
        ) from None


@cache
def _table(path: Path) -> tuple[tuple[str, ...], dict[tuple[str, ...], int]]:
    """The columns that decide, and their values to the number of iterations."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = tuple(name for name in rows[0] if name != "iterations")
    return columns, {tuple(row[name] for name in columns): int(row["iterations"]) for row in rows}
