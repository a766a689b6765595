"""Predict runs on many nodes from those on few in a table of measured runs, compare, and report."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from platforms.errors import UserError
from platforms.files import commented_csv
from platforms.files.commented_csv import check_columns
from platforms.terminal.table import table_lines
from platforms.wording import number_of
from predictor.few_terms.model import PRIOR, Allreduces, Prior, Series, Size, Small, quantiles
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


FEWEST = 2  # numbers of nodes that the evidence has to have
_ALIKE = 1.5  # largest ratio of ranks per node in a group
ENDS = (0.05, 0.5, 0.95)
_ORDERS = 7  # seed of the orders in which the parts' times are added


@dataclass(frozen=True)
class Judged:
    """A run that is no evidence, and its prediction."""

    name: Name
    nodes: int
    ranks: int
    evidence: tuple[int, ...]  # nodes
    low_s: float
    time_s: float
    high_s: float  # of the 90 % interval
    naive_s: float  # the largest run of the evidence, divided
    measured_s: float | None  # None: there is no such row

    @property
    def error(self) -> float | None:
        """Predicted less measured time, over the measured time."""
        return None if self.measured_s is None else self.time_s / self.measured_s - 1

    @property
    def naive_error(self) -> float | None:
        """The same of naive scaling."""
        return None if self.measured_s is None else self.naive_s / self.measured_s - 1

    @property
    def within(self) -> bool | None:
        """Say whether the measured time lies in the interval."""
        return None if self.measured_s is None else self.low_s <= self.measured_s <= self.high_s


@dataclass(frozen=True)
class Outcome:
    """All predictions, and the series without one."""

    judged: tuple[Judged, ...]
    refused: tuple[tuple[Name, str], ...]


def judged(table: Table, evidence: Sequence[int], further: Sequence[int], prior: Prior = PRIOR) -> Outcome:
    """Predict every run on more nodes than the evidence has.

    Args:
        table: The runs.
        evidence: Numbers of nodes that are evidence; none: of each series the smaller half, at least two.
        further: Numbers of nodes without a row, for which every series is predicted too.
        prior: What is known before.
    """
    predictions: list[Judged] = []
    refused: list[tuple[Name, str]] = []
    for name, runs in table.series.items():
        for alike in _by_fill(runs):
            small = [run for run in alike if run.nodes in evidence] if evidence else _smaller_half(alike)
            most = max((run.nodes for run in small), default=0)
            targets: list[tuple[Run, float | None]] = [(run, run.time_s) for run in alike if run.nodes > most]
            if small:
                beyond = [nodes for nodes in further if nodes > most and nodes not in {run.nodes for run in alike}]
                targets += [(_enlarged(small[-1], nodes), None) for nodes in beyond]
            if len({run.nodes for run in small}) < FEWEST:
                refused.append((name, "its evidence has runs on fewer than two numbers of nodes, as full as others"))
            elif not targets:
                refused.append((name, "no run on more nodes than its evidence"))
            else:
                predictions += _of_series(name, small, targets, table.allreduces.get(name), prior)
    return Outcome(tuple(predictions), tuple(dict.fromkeys(refused)))


def _by_fill(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs in groups of about as many ranks per node: busy cores slow each other down."""
    groups: list[list[Run]] = []
    for run in sorted(runs, key=lambda run: run.ranks / run.nodes):
        if groups and run.ranks / run.nodes <= _ALIKE * groups[-1][0].ranks / groups[-1][0].nodes:
            groups[-1].append(run)
        else:
            groups.append([run])
    return [sorted(group, key=lambda run: (run.nodes, run.ranks)) for group in groups]


def _of_series(
    name: Name,
    chosen: Sequence[Run],
    targets: Sequence[tuple[Run, float | None]],
    allreduces: Allreduces | None,
    prior: Prior,
) -> list[Judged]:
    sizes = [_size(run) for run, _ in targets]
    parts = [part for part in chosen[0].parts_s if all(part in run.parts_s for run in chosen)]
    # The least of the repeats shows the shape best, as disturbances only add time; medians are predicted.
    typical = float(np.exp(np.mean([np.log(run.time_s / run.least_s) for run in chosen])))
    if parts:
        of_parts = [[run.parts_s[part] for run in chosen] for part in parts]
        of_parts.append([run.time_s - sum(run.parts_s[part] for part in parts) for run in chosen])
        typical = 1.0
    else:
        of_parts = [[run.least_s for run in chosen]]
    order, total = np.random.default_rng(_ORDERS), np.zeros(())
    for number, times in enumerate(of_parts):
        small = [Small(_size(run), max(time, 1e-9), run.repeats) for run, time in zip(chosen, times, strict=True)]
        known = chosen[-1].allreduces if number == len(of_parts) - 1 else 0.0
        drawn = quantiles(Series(small, allreduces, known), sizes, prior)
        total = total + (drawn if len(of_parts) == 1 else drawn[:, order.permutation(drawn.shape[1])])
    ends = np.quantile(total, ENDS, axis=1).T * typical
    last = chosen[-1]
    return [
        Judged(
            name,
            run.nodes,
            run.ranks,
            tuple(small_run.nodes for small_run in chosen),
            float(row[0]),
            float(row[1]),
            float(row[2]),
            last.time_s * (run.work / run.ranks) / (last.work / last.ranks),
            measured_s,
        )
        for (run, measured_s), row in zip(targets, ends, strict=True)
    ]


def _size(run: Run) -> Size:
    return Size(run.nodes, run.ranks, run.work)


def _smaller_half(runs: Sequence[Run]) -> list[Run]:
    nodes = sorted({run.nodes for run in runs})
    chosen = set(nodes[: max(FEWEST, len(nodes) // 2)])
    return [run for run in runs if run.nodes in chosen]


def _enlarged(last: Run, nodes: int) -> Run:
    """Return a run of the same problem on more nodes, which are as full."""
    ranks = round(last.ranks * nodes / last.nodes)
    work = last.work if last.work == 1.0 else last.work * ranks / last.ranks
    return Run(nodes, ranks, last.time_s, last.least_s, 1, work, last.allreduces)


@dataclass(frozen=True)
class Summary:
    """The errors of some rows."""

    rows: int
    median_error: float  # of the errors without sign
    largest_error: float
    naive_median_error: float
    within: int


def summary(rows: Sequence[Judged]) -> Summary | None:
    """Return the errors of the rows that were measured; None if there are none."""
    errors = [(abs(row.error), abs(row.naive_error or 0.0), bool(row.within)) for row in rows if row.error is not None]
    if not errors:
        return None
    own, naive, within = zip(*errors, strict=True)
    return Summary(len(errors), float(np.median(own)), max(own), float(np.median(naive)), sum(within))


_HEADINGS = ("series", "evidence", "nodes", "predicted s", "low s", "high s", "measured s", "error", "naive", "")


def as_text(outcome: Outcome, *, wide: bool = False) -> str:
    """Return what the command prints."""
    lines = table_lines([_HEADINGS, *(_cells(row) for row in outcome.judged)], left={0, 1, 9}, wide=wide)
    lines.append("low, high: 90 % interval; *: not in it; naive: error of the largest evidence, divided")
    totals = summary(outcome.judged)
    if totals is not None:
        lines.append(
            f"{number_of(totals.rows, 'measured row')}: median error {totals.median_error:.1%} (naive "
            f"{totals.naive_median_error:.1%}), largest {totals.largest_error:.1%}, {totals.within} in the interval"
        )
    lines += [f"{', '.join(filter(None, name))}: no prediction: {reason}" for name, reason in outcome.refused]
    return "\n".join(lines)


def _cells(row: Judged) -> tuple[str, ...]:
    times = [f"{value:.4g}" for value in (row.time_s, row.low_s, row.high_s)]
    name, evidence = ", ".join(filter(None, row.name)), ",".join(map(str, row.evidence))
    if row.measured_s is None:
        return (name, evidence, str(row.nodes), *times, "-", "-", "-", "")
    errors = [f"{error:+.1%}" for error in (row.error, row.naive_error) if error is not None]
    return (name, evidence, str(row.nodes), *times, f"{row.measured_s:.4g}", *errors, "" if row.within else "*")


def as_rows(outcome: Outcome, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return a row per prediction, in SI units; also the columns of the CSV file."""
    return [
        {
            **dict(zip(columns, row.name, strict=True)),
            "evidence": " ".join(map(str, row.evidence)),
            "nodes": row.nodes,
            "ranks": row.ranks,
            "predicted_s": row.time_s,
            "low_s": row.low_s,
            "high_s": row.high_s,
            "measured_s": row.measured_s,
            "error": row.error,
            "within": row.within,
            "naive_s": row.naive_s,
            "naive_error": row.naive_error,
        }
        for row in outcome.judged
    ]


def as_json(outcome: Outcome, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return everything as JSON values."""
    totals = summary(outcome.judged)
    return {
        "runs": as_rows(outcome, columns),
        "summary": None if totals is None else vars(totals),
        "refused": [{"series": list(name), "reason": reason} for name, reason in outcome.refused],
    }
