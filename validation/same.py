"""Command line: compare the results in two folders, except machine times."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.command.command import Command
from platforms.command.request import Request, argument
from platforms.errors import UserError, printable
from platforms.files.reading import input_text
from platforms.wording import number_of

if TYPE_CHECKING:
    import pandas as pd

_WALL = "wall_s"
MACHINE_TIMES = frozenset({
    # results.csv (validation/comparison/compare.py)
    "simulation_wall_s", "evidence_wall_s", "prediction_wall_s",
    # league.csv and decisions.csv (validation/league)
    _WALL, "wall_rank",
    # choices.csv and choices-summary.csv (validation/nodes)
    "gather_s", "fit_s", "search_s",
    # the store's export (apps/store/export.py)
    "timed_wall_s", "peak_memory_bytes",
})  # fmt: skip


def without_machine_times(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table without MACHINE_TIMES and without the rows of pareto.csv that compare errors to wall seconds."""
    if {"cost", "value"} <= set(table.columns):
        table = table[table["cost"] != _WALL]
    return table[[name for name in table.columns if name not in MACHINE_TIMES]].reset_index(drop=True)


_SHOWN = 3  # differences that are printed per file


@dataclass(frozen=True, kw_only=True)
class SameRequest(Request):
    """Request of ``gridval store same``."""

    first: str = argument("DIR1", "folder that --out of a command has written", parse=Path)
    second: str = argument("DIR2", "folder of the command to compare it with", parse=Path)


def differences(first: Path, second: Path) -> dict[str, list[str]]:
    """Return the differences of each CSV file that is in either folder, one printable line per difference.

    A file without differences has an empty list.

    Raises:
        UserError: A folder does not exist or has no CSV files, or a file is not a table.
    """
    names = {path.name for folder in (first, second) for path in _tables(folder)}
    return {name: [*map(printable, _file_differences(first / name, second / name))] for name in sorted(names)}


def _tables(folder: Path) -> list[Path]:
    if not folder.is_dir():
        problem = "not a folder" if folder.exists() else "no such folder"
        raise UserError(str(folder), problem, "Name a folder that --out of a command has filled")
    files = list(folder.glob("*.csv"))
    if not files:
        raise UserError(str(folder), "no CSV files", "Name a folder that --out of a command has filled")
    return files


def _file_differences(first: Path, second: Path) -> list[str]:
    for path in (first, second):
        if not path.exists():
            return [f"not in {path.parent}"]
    mine, other = _read(first), _read(second)
    if list(mine.columns) != list(other.columns):
        alone = (sorted(set(mine.columns) - set(other.columns)), sorted(set(other.columns) - set(mine.columns)))
        said = [
            f"columns only in {path.parent}: {', '.join(names)}"
            for path, names in zip((first, second), alone, strict=True)
            if names
        ]
        return said or ["the columns are in another order"]
    if len(mine) != len(other):
        return [f"{number_of(len(mine), 'row')} and {len(other)}"]
    mine, other = (table.sort_values(list(table.columns), ignore_index=True) for table in (mine, other))
    differ = mine != other
    said = []
    for row in differ.index[differ.any(axis=1)]:
        where = ", ".join(str(value) for value in mine.loc[row][:8] if value)
        odd = [f"{name} {mine.at[row, name]!s} and {other.at[row, name]!s}" for name in mine if differ.at[row, name]]
        said.append(f"{where}: {'; '.join(odd)}")
    return said


def _read(path: Path) -> pd.DataFrame:
    """Read all values as text, so that numbers are compared digit by digit."""
    # Imported here because it is slow to import.
    import pandas as pd

    try:
        text = StringIO(input_text(path))
        return without_machine_times(pd.read_csv(text, dtype=str, keep_default_na=False))
    except (ValueError, OSError) as err:
        problem = f"not a table: {getattr(err, 'strerror', None) or err}"
        raise UserError(str(path), problem, "Name a folder that --out of a command has filled") from err


def _run(request: SameRequest) -> int:
    by_table = differences(Path(request.first), Path(request.second))
    for name, said in by_table.items():
        print(f"{printable(name)}: {number_of(len(said), 'difference') if said else 'the same'}")
        for line in said[:_SHOWN]:
            print(f"  {line}")
    return 1 if any(by_table.values()) else 0


COMMAND = Command(
    "store same",
    SameRequest,
    _run,
    "Compare the CSV files in two folders to the last digit. Columns that measure the speed of the "
    "computer and the order of the rows are ignored.",
    epilog="Exit status: 0 the files are the same; 1 they differ; 2 bad input.",
)
main = COMMAND.main
