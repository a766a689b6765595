"""The first section of a report: the time of every target, its interval, what takes it, and how it was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from platforms.terminal.quantities import significant
from platforms.wording import number_of
from validation.presentation.answers_text import MOST_TARGETS
from validation.presentation.tables import truth_name
from validation.report.expected import interval_cell
from validation.report.gather import Gathered, PredictionNote
from validation.report.tables import NOTHING, Cell, Table, error_cell, known, number, numbers, table, time_cell, words


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
