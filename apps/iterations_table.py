"""How many iterations a method needs for a size N on P ranks: the table of runs with arithmetic beside a kernel."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from apps.catalog import app
from apps.errors import KernelError
from apps.rank_rules import RANK_RULES
from apps.wording import number_of

if TYPE_CHECKING:
    from apps.catalog import Problem

FILE = "iterations.csv"  # columns: the parameters that decide, ranks, iterations; in that order


def table_iterations(problem: Problem, nranks: int) -> int:
    """The entry of the problem on so many ranks; raises KernelError where there is none.

    A number of ranks that the benchmark's own rule excludes is told apart: no run could add it to the table.
    """
    kernel = app(problem.app)
    where = f"{problem} on {number_of(nranks, 'rank')}"
    if not problem.allows(nranks):
        raise KernelError(where, RANK_RULES[kernel.rank_rule].text, "Choose other ranks, or another size")
    columns, rows = _table(kernel.folder / FILE)
    params = {**dict(problem.params), "ranks": nranks}
    usual = all(params[name] == value for name, value in kernel.parameters.items() if name not in columns)
    entry = tuple(int(params[column]) for column in columns)
    if not usual or entry not in rows:
        raise KernelError(
            where,
            f"no run with arithmetic has told how many iterations it takes ({kernel.folder.name}/{FILE})",
            f"Give them: --param {kernel.iterations_parameter}=K",
        )
    return rows[entry]


def read_table(path: Path) -> tuple[tuple[str, ...], dict[tuple[int, ...], int]]:
    """The names of the columns that decide, and their values to the number of iterations."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        columns = tuple(name for name in reader.fieldnames or () if name != "iterations")
        return columns, {tuple(int(row[name]) for name in columns): int(row["iterations"]) for row in reader}


_table = cache(read_table)
