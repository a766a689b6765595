"""The first section of a report: the time of every target, its interval and range, what takes it, how it was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from platforms.terminal.quantities import interval_text, significant
from platforms.wording import number_of
from validation.comparison.coverage import coverage
from validation.presentation.tables import MOST_TARGETS, truth_name
from validation.report.gather import Gathered, PredictionNote
from validation.report.tables import (
    NOTHING,
    Cell,
    Table,
    error_cell,
    interval,
    known,
    number,
    number_text,
    numbers,
    table,
    time_cell,
    words,
)

_FEW = 3  # intervals of a predictor, fewer of which have no table: a sentence counts them


def interval_cell(row: dict[str, Any], reason: str | None) -> Cell:
    """Return the cell of a prediction's interval, or of the reason why there is none.

    It has the digits that its width needs.
    """
    low_s, high_s = row["interval_low_s"], row["interval_high_s"]
    if not known(low_s):
        return Cell(NOTHING, note=reason or "")
    return _marked(interval_text(low_s, high_s, like_s=row["simulated_s"]), low_s, inside=row["in_interval"])


def range_cell(row: dict[str, Any]) -> Cell:
    """Return the cell of a prediction's range of errors in the validity map, %."""
    low, high = row["range_low_pct"], row["range_high_pct"]
    if not known(low):
        return Cell(NOTHING, note="the validity map has no such cases")
    return _marked(f"{_signed(low)} to {_signed(high)}", low, inside=row["in_range"])


def _marked(text: str, order: float, *, inside: bool) -> Cell:
    return Cell(text, order=order) if inside else Cell(f"{text}, missed", order=order, mark="outside")


def _signed(value: float) -> str:
    return number_text(value, "{:+,.0f}" if abs(value) >= 100 else "{:+.3g}")


def coverage_table(results: pd.DataFrame) -> Table | None:
    """Return the table of how many true times lie in the intervals of each predictor; None: too few have one."""
    covered = coverage(results)
    if covered["intervals"].max() < _FEW:
        return None
    rows: list[list[Cell | str]] = [
        [
            str(row["predictor"]),
            Cell(f"{row['inside']} of {row['intervals']}", order=row["inside"]),
            number(100 * row["coverage"], "{:.0f}"),
            interval(100 * row["coverage_low"], 100 * row["coverage_high"], "{:.0f}"),
            number(row["below"], "{:.0f}"),
            number(row["above"], "{:.0f}"),
            number(row["median_width_pct"], "{:.3g}"),
        ]
        for row in covered[covered["intervals"] > 0].to_dict("records")
    ]
    if not rows:
        return None
    columns = [
        *words("predictor"),
        *numbers("inside", "inside, %", "95 % interval, %", "below", "above", "median width, % of the true time"),
    ]
    return table("intervals", "True times inside the 90 % intervals of the predictions", columns, rows)


def answers_table(gathered: Gathered) -> Table | None:
    """Return a row for each target, with the first prediction that has a time; None: no target has one, or too many.

    Predictors stand in the order in which they were asked, the default one first.
    """
    truth = truth_name(gathered.results["truth"])
    first: dict[tuple[Any, ...], tuple[dict[str, Any], PredictionNote]] = {}
    for row, note in zip(gathered.rows, gathered.notes, strict=True):
        if known(row["predicted_s"]):
            first.setdefault(_target(row), (row, note))
    if not first or len(first) > MOST_TARGETS:
        return None
    several = len({row["scenario"] for row in gathered.rows}) > 1
    intervals = any(known(row["interval_low_s"]) for row, _ in first.values())
    has_bottlenecks = any(note.bottleneck for _, note in first.values())
    columns = [
        *words("program", *(["platform"] if several else [])),
        *numbers("ranks", "predicted", *(["90 % interval"] if intervals else []), truth, "error, %"),
        *words(*(["what takes most of the time"] if has_bottlenecks else []), "predictor"),
    ]
    rows = [
        [
            f"{row['app']} {row['class']}" if known(row["class"]) else row["app"],
            *([row["scenario"]] if several else []),
            number(row["ranks"], "{:,}"),
            time_cell(row["predicted_s"], like_s=row["simulated_s"]),
            *([interval_cell(row, note.no_interval)] if intervals else []),
            time_cell(row["simulated_s"]),
            error_cell(row["error_pct"]),
            *([Cell(note.bottleneck or NOTHING)] if has_bottlenecks else []),
            row["predictor"],
        ]
        for row, note in first.values()
    ]
    return table("answers", f"Times of the targets, predicted and {truth}", columns, rows)


def _target(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key that distinguishes the targets of rows."""
    return tuple(row[name] for name in ("scenario", "network", "app", "class", "ranks", "mapping", "efficiency"))


def iterations_sentences(gathered: Gathered) -> Iterator[str]:
    """Yield in words how times of whole runs come from few simulated iterations; nothing if all were simulated."""
    rows = [row for row in gathered.rows if row["truth"] != "measurement"]
    part = {_target(row): row for row in rows if row["iterations"] and row["iterations_simulated"] < row["iterations"]}
    if not part:
        return
    low, high = (pick(row["iterations_simulated"] for row in part.values()) for pick in (min, max))
    least, most = (pick(row["iterations"] for row in part.values()) for pick in (min, max))
    simulated = f"{low}" if low == high else f"{low} to {high}"
    of_all = f"{least}" if least == most else f"{least} to {most}"
    bounds = [row["extrapolation_bound"] for row in part.values()]
    known_bounds = [bound for bound in bounds if known(bound)]
    of_runs = "" if len({_target(row) for row in rows}) == 1 else f" of {number_of(len(part), 'run')}"
    yield (
        f"Only {simulated} of the {of_all} iterations{of_runs} were simulated, until they took equal times; the others "
        "are added as repetitions of these, so that the times above are those of all iterations."
    )
    if len(known_bounds) == len(bounds):
        yield f"This changes no time by more than {significant(100 * max(known_bounds), 1)} %."
    else:
        missing = len(bounds) - len(known_bounds)
        yield f"For {number_of(missing, 'run')} it is not shown that the iterations are alike: the error is not known."
