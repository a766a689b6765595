"""HPL on Dahu and gros: tables and the figure of kept predictions, which are made apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from clusters.published import DATA
from predictor.factorisation.evaluate import BROADCASTS, SWAPS, Problem
from predictor.factorisation.interval import interval
from predictor.factorisation.machine import Machine

sys.path[:0] = [str(DATA.parent)]

import dahu  # noqa: E402 (found by the line above)
from picture import draw  # noqa: E402

DAHU, GROS = DATA.parent / "dahu" / "predictions.csv", DATA.parent / "gros"
GEOMETRY = ("geometry", "geometry rest")
GROS_FITTED, GROS_GRID = 250_000, (30, 36)
_APART = "geometry, both halves"


@dataclass(frozen=True)
class Run:
    """A predicted run of HPL."""

    study: str
    problem: Problem
    measured_s: float
    predicted_s: float
    low_s: float
    high_s: float
    fitted: bool  # it is a row to which something was fitted

    @property
    def error(self) -> float:
        """Relative to the measured time."""
        return self.predicted_s / self.measured_s - 1

    @property
    def within(self) -> bool:
        """True if the measured time lies in the 90 % interval."""
        return self.low_s <= self.measured_s <= self.high_s


@cache
def _machine(ranks: int) -> Machine:
    return dahu.machine(ranks, 1.0)


@cache
def kept() -> tuple[dahu.Done, ...]:
    """Return the kept predictions of Dahu, without a factor of speed."""
    return tuple(one for one in dahu.Kept(DAHU, 1).done.values() if one.factor == 1.0)


@cache
def dahu_runs() -> tuple[Run, ...]:
    """Return all predicted runs of Dahu."""
    return tuple(_dahu_run(one) for one in kept())


def _dahu_run(one: dahu.Done) -> Run:
    row, problem = one.row, one.row.problem
    low_s, high_s = interval(problem, _machine(problem.rows * problem.columns), one.predicted_s)
    fitted = row.study in GEOMETRY and str(row.p) in dahu.FITTED_ROWS
    return Run(row.study, problem, row.measured_s, one.predicted_s, low_s, high_s, fitted)


@cache
def gros_runs() -> tuple[Run, ...]:
    """Return all predicted runs of gros, by size."""
    measured = {int(row["n"]): float(row["time_mean_s"]) for row in dahu.table(GROS / "hpl.csv")}
    made = []
    for row in dahu.table(GROS / "predictions.csv"):
        n, problem = int(row["n"]), Problem(int(row["n"]), 128, *GROS_GRID, "2-ring", 1)
        predicted_s, low_s, high_s = (float(row[name]) for name in ("predicted_s", "low_s", "high_s"))
        made.append(Run("gros", problem, measured[n], predicted_s, low_s, high_s, n == GROS_FITTED))
    return tuple(made)


def _studies() -> Iterator[tuple[str, Sequence[Run]]]:
    runs = dahu_runs()
    yield _APART, [run for run in runs if run.study in GEOMETRY]
    for study in ("matrix size", "factorial"):
        yield study, [run for run in runs if run.study == study]
    yield "gros, matrix size", gros_runs()


def studies() -> str:
    """Return the table of all studies in Markdown."""
    lines = [
        "| study | rows, without those fitted | mean error without sign | largest | in their 90 % interval | "
        "pairs in order |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, some in _studies():
        rows = [run for run in some if not run.fitted]
        errors = 100 * np.array([run.error for run in rows])
        within = f"{sum(run.within for run in rows)} of {len(rows)}"
        largest = errors[np.argmax(np.abs(errors))]
        right, pairs = dahu.in_order([(run.measured_s, run.predicted_s) for run in rows])
        order = f"{100 * right / max(1, pairs):.0f} % of {pairs:,}"
        lines.append(
            f"| {name} | {len(rows)} | {np.abs(errors).mean():.1f} % | {largest:+.1f} % | {within} | {order} |"
        )
    return "\n".join(lines)


def _lines(heading: str, some: Sequence[tuple[str, Run]]) -> str:
    lines = [f"{heading} measured, s | predicted, s | 90 % interval, s | error |"]
    lines.append("|---" * (heading.count("|") - 1) + "|---:|---:|---|---:|")
    for name, run in some:
        ends = f"{run.low_s:.1f} to {run.high_s:.1f}{'' if run.within else ', not in it'}"
        lines.append(f"| {name} | {run.measured_s:.1f} | {run.predicted_s:.1f} | {ends} | {100 * run.error:+.1f} % |")
    return "\n".join(lines)


def grids() -> str:
    """Return the table of the process grids in Markdown."""
    halves = {"geometry": "first", "geometry rest": "second"}
    some = sorted((run for run in dahu_runs() if run.study in halves), key=lambda run: run.problem.rows)
    return _lines(
        "| grid | half |",
        [
            (f"{run.problem.rows} x {run.problem.columns} | {'fitted' if run.fitted else halves[run.study]}", run)
            for run in some
        ],
    )


def sizes() -> str:
    """Return the table of the sizes on Dahu in Markdown."""
    return _lines("| n |", [(f"{run.problem.n:,}", run) for run in dahu_runs() if run.study == "matrix size"])


def gros() -> str:
    """Return the table of the sizes on gros in Markdown."""
    return _lines("| n |", [(f"{run.problem.n:,}{', fitted' * run.fitted}", run) for run in gros_runs()])


def factorial() -> str:
    """Return the ranges of errors by the settings of the factorial in Markdown."""
    runs = [run for run in dahu_runs() if run.study == "factorial"]
    blocks = sorted({run.problem.nb for run in runs})
    lines = [f"| factorial | {' | '.join(f'block {nb}' for nb in blocks)} |", "|---" * (1 + len(blocks)) + "|"]
    for kind, broadcasts in (("rings", BROADCASTS[:4]), ("long broadcasts", BROADCASTS[4:6])):
        for word, swaps in (("binary exchange", SWAPS[:1]), ("long interchange or mix", SWAPS[1:])):
            for depth in (0, 1):
                cells = []
                for nb in blocks:
                    errors = [
                        100 * run.error
                        for run in runs
                        if run.problem.nb == nb
                        and run.problem.broadcast in broadcasts
                        and run.problem.swap in swaps
                        and run.problem.depth == depth
                    ]
                    cells.append(f"{min(errors):+.1f} to {max(errors):+.1f} %" if errors else "not repeated")
                lines.append(f"| {kind}, {word}, depth {depth} | {' | '.join(cells)} |")
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "studies": studies,
    "grids": grids,
    "sizes": sizes,
    "factorial": factorial,
    "gros": gros,
}


def draw_picture(path: Path) -> None:
    """Write the figure: times and errors of the sizes, of the factorial and of both halves of the geometry."""
    done = kept()
    shown = {study: [one for one in done if one.row.study == study] for study in ("matrix size", "factorial")}
    shown["geometry"] = [one for one in done if one.row.study in GEOMETRY]
    draw(shown, path)
