"""Tables of measured runs of any programs, and of times of MPI_Allreduce."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from platforms.errors import UserError
from platforms.files import commented_csv
from platforms.files.commented_csv import check_columns
from predictor.few_terms.model import Allreduces
from validation.few_terms.columns import ALLREDUCE_KEYS, KEYS, PART, PART_END, SIZE

_SMALL_BYTES = 8  # of an MPI_Allreduce: one number
Name = tuple[str, ...]  # of a series: the values of its columns


@dataclass(frozen=True)
class Run:
    """Measured runs of one series on one number of nodes."""

    nodes: int
    ranks: int
    time_s: float  # median
    least_s: float
    repeats: int
    work: float = 1.0
    allreduces: float = 0.0
    parts_s: Mapping[str, float] = field(default_factory=dict)  # of the median run; what is left of it is no part


@dataclass(frozen=True)
class Table:
    """The runs by series, each ascending by nodes."""

    series: Mapping[Name, Sequence[Run]]
    columns: tuple[str, ...]  # those that distinguish series
    allreduces: Mapping[Name, Allreduces]  # of the series for which there are any


def renamed(text: str) -> dict[str, str]:
    """Return the columns that ``KEY=NAME,...`` names, by key.

    Raises:
        UserError: A word has another form.
    """
    names = {}
    for word in filter(None, text.split(",")):
        key, equals, name = (piece.strip() for piece in word.partition("="))
        known = (*KEYS, ALLREDUCE_KEYS[1], SIZE)
        if not equals or not name or not (key in known or key.startswith(PART)):
            raise UserError(
                f"--columns {text}", f"{word!r} names no column", f"Write KEY=NAME; keys: {', '.join(known)}"
            )
        names[key] = name
    return names


def read_table(path: str, columns: Sequence[str], names: Mapping[str, str], allreduces: str | None = None) -> Table:
    """Return the runs of a CSV file.

    Args:
        path: The file.
        columns: Columns whose values distinguish series.
        names: Names of other columns by key, where they are not the key itself.
        allreduces: CSV file of times of MPI_Allreduce; rows belong to the series whose columns they share.

    Raises:
        UserError: A file cannot be read, or a value is wrong; the error names the line.
    """
    found, rows = commented_csv.read_table(path, "Give a CSV file of measured runs", where=path)
    needed = [names.get(key, key) for key, is_needed in KEYS.items() if is_needed or key in names]
    check_columns(found, [*columns, *needed], path)
    parts = {name: name.removeprefix(PART).removesuffix(PART_END) for name in found if name.startswith(PART)}
    parts |= {name: key.removeprefix(PART) for key, name in names.items() if key.startswith(PART)}
    kept: dict[tuple[Name, int, int], list[Run]] = {}
    for line, row in rows:
        where = f"{path}:{line}"
        run = _run(where, row, {key: names.get(key, key) for key in KEYS}, parts)
        name = tuple((row[column] or "").strip() for column in columns)
        kept.setdefault((name, run.nodes, run.ranks), []).append(run)
    series: dict[Name, list[Run]] = {}
    for (name, _, _), same in sorted(kept.items(), key=lambda item: item[0][1:]):
        series.setdefault(name, []).append(_together(same))
    if not series:
        raise UserError(path, "no runs", "Give at least one row")
    known = {}
    if allreduces is not None:
        known = _allreduces(allreduces, columns, series, names, {name for name in found if name not in columns})
    return Table({name: series[name] for name in sorted(series)}, tuple(columns), known)


def _run(where: str, row: Mapping[str, str], of: Mapping[str, str], parts: Mapping[str, str]) -> Run:
    def number(key: str, otherwise: float) -> float:
        text = (row.get(of[key]) or "").strip()
        return _number(where, of[key], text) if text or KEYS[key] else otherwise

    nodes, time_s = number("nodes", 1), number("time_s", 0)
    ranks, repeats = number("ranks", nodes), number("repeats", 1)
    for key, value in (("nodes", nodes), ("ranks", ranks), ("repeats", repeats)):
        if value != int(value) or value < 1:
            raise UserError(where, f"{of[key]} is {value:g}", "Give a whole number from 1")
    least_s = number("least_s", time_s)
    if least_s > time_s:
        raise UserError(where, f"{of['least_s']} is larger than {of['time_s']}", "Give the least of the repeats")
    parts_s = {part: _number(where, name, row[name]) for name, part in parts.items() if (row[name] or "").strip()}
    if sum(parts_s.values()) > time_s:
        raise UserError(where, f"its parts take longer than {of['time_s']}", "Give parts that do not overlap")
    work, allreduces = number("work", 1.0), number("allreduces", 0.0)
    return Run(int(nodes), int(ranks), time_s, least_s, int(repeats), work, allreduces, parts_s)


def _together(same: Sequence[Run]) -> Run:
    """Return several rows of one case as one."""
    if len(same) == 1:
        return same[0]
    middle = statistics.median_low([run.time_s for run in same])
    of_middle = next(run for run in same if run.time_s == middle)
    time_s, least_s = statistics.median([run.time_s for run in same]), min(run.least_s for run in same)
    repeats = sum(run.repeats for run in same)
    scale = time_s / middle
    parts_s = {part: value * scale for part, value in of_middle.parts_s.items()}
    return Run(
        of_middle.nodes, of_middle.ranks, time_s, least_s, repeats, of_middle.work, of_middle.allreduces, parts_s
    )


def _allreduces(
    path: str, columns: Sequence[str], series: Mapping[Name, object], names: Mapping[str, str], others: set[str]
) -> dict[Name, Allreduces]:
    """Return the times of each series; ``others`` are the columns of the runs that do not distinguish series."""
    found, rows = commented_csv.read_table(path, "Give a CSV file of times of MPI_Allreduce", where=path)
    nodes, time = (names.get(key, key) if names.get(key) in found else key for key in ALLREDUCE_KEYS)
    check_columns(found, (nodes, time), path)
    shared = [column for column in columns if column in found]
    for column in others.intersection(found) - {*names.values(), *KEYS, nodes, time, SIZE}:
        values = {tuple((row[name] or "").strip() for name in (*shared, column)) for _, row in rows}
        if len(values) > len({value[:-1] for value in values}):
            raise UserError(path, f"its rows differ in {column}", f"Add {column} to --series")
    places = [tuple(columns).index(column) for column in shared]
    size = names.get(SIZE, SIZE)
    times: dict[Name, dict[float, list[tuple[float, float]]]] = {}
    for line, row in rows:
        where = f"{path}:{line}"
        key = tuple((row[column] or "").strip() for column in shared)
        bytes_ = _number(where, size, row[size], least=0) if size in found else _SMALL_BYTES
        at, time_us = _number(where, nodes, row[nodes]), _number(where, time, row[time])
        times.setdefault(key, {}).setdefault(at, []).append((abs(bytes_ - _SMALL_BYTES), time_us))
    known = {}
    for name in series:
        of_series = times.get(tuple(name[place] for place in places), {})
        if of_series:
            # Of several sizes that which is nearest to one number; of several times of it the median.
            small = {at: [t for off, t in pairs if off == min(pairs)[0]] for at, pairs in sorted(of_series.items())}
            known[name] = Allreduces(tuple(small), tuple(statistics.median(t) * 1e-6 for t in small.values()))
    return known


def _number(where: str, name: str, text: str | None, *, least: float = 1e-9) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not least <= value < 1e12:
        raise UserError(where, f"{name} is {text!r}", "Give a positive number")
    return value
