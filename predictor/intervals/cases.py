"""The calibration cases: predictions whose true times are known."""

from __future__ import annotations

import csv
import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.recording.events import Recording
from apps.results.record import RunRecord
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.files.reading import input_text
from predictor.base import Evidence, Prediction

# Kinds of surroundings, each calibrated by its own cases.
GRID = "grid"  # generated, a rank on a node
FILE = "file"  # a platform file, a rank on a node
UNLIKE = "unlike"  # the same, where what was measured does not stand for all paths
CORES = "cores"  # several ranks on a node
MEASURED = "measured"  # a real machine, a rank on a node
SURROUNDINGS = (GRID, FILE, UNLIKE, CORES, MEASURED)

LEAST_SHARE = 1e-4  # shares of computation nearer to 0 or 1 than this count as this
LEAST_RESIDUAL = 1e-4  # smaller residuals of a fit count as this
CASES_FILE = Path(__file__).with_name("cases.csv")
CASE_COLUMNS = ("predictor", "app", "surroundings", "grid", "compute_share", "ratio", "fit_residual", "log_error")


@dataclass(frozen=True)
class Features:
    """The features of a prediction; a value is None if neither the prediction nor its evidence has it."""

    app: str  # name of the kernel, or of the user's program
    compute_share: float | None  # of the predicted time, else of the largest run of the evidence
    ratio: float | None  # ranks of the target over those of the largest run or recording of the evidence
    fit_residual: float | None  # largest relative residual of the fitted law
    surroundings: str = GRID  # one of SURROUNDINGS

    def coordinates(self) -> tuple[float, float, float]:
        """Return coordinates in which a distance of 1 is a notable difference; unknown values are NaN.

        They are half decades of computation over communication, doublings of the ranks, and decades of the residual.
        """
        share, ratio, residual = math.nan, math.nan, math.nan
        if self.compute_share is not None:
            inner = min(max(self.compute_share, LEAST_SHARE), 1 - LEAST_SHARE)
            share = 2 * math.log10(inner / (1 - inner))
        if self.ratio is not None:
            ratio = math.log2(self.ratio)
        if self.fit_residual is not None:
            residual = math.log10(max(self.fit_residual, LEAST_RESIDUAL))
        return share, ratio, residual


def features_of(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> Features:
    """Return the features of a prediction; ``evidence`` may hold evidence for other targets too."""
    used = [item for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    runs = [item.answer for item in used if item.request.kind == "run" and isinstance(item.answer, RunRecord)]
    ranks = [item.request.target.nranks for item in used if item.request.kind in ("run", "recording")]
    share = prediction.compute_share
    if share is None and runs:
        largest = max(runs, key=lambda run: run.ranks)
        if largest.compute_s and largest.time_s > 0:
            share = max(largest.compute_s) / largest.time_s
    ratio = target.nranks / max(ranks) if ranks else None
    around = MEASURED if any(map(is_measured, evidence)) else surroundings_of(prediction, target)
    return Features(target.problem.name, share, ratio, prediction.fit_residual, around)


def surroundings_of(prediction: Prediction, target: Target) -> str:
    """Return the kind of surroundings of a prediction from simulated evidence."""
    if target.nranks != target.nodes:
        return CORES
    if prediction.unlike:
        return UNLIKE
    return FILE if target.platform.network is None else GRID


def is_measured(evidence: Evidence) -> bool:
    """Return whether a run or recording was made on a real machine."""
    if isinstance(evidence.answer, RunRecord):
        return evidence.answer.source == "measurement"
    return isinstance(evidence.answer, Recording) and not math.isnan(evidence.answer.held_node_s)


@dataclass(frozen=True)
class CalibrationCase:
    """A prediction and its truth."""

    predictor: str
    grid: str  # name of the platform, and of its network if that has one; cases of one grid resemble each other
    features: Features
    log_error: float  # ln(true time / predicted time)

    @property
    def kind(self) -> str:
        """The kind of its grid, as random grids of a seed share their ranges, and others of a named network its links.

        Platform files that were drawn are of the kind of their topology (benchmarks/unlike_platforms.py).
        """
        if self.features.surroundings != GRID:
            return re.sub(r"-\d+-\d+$", "", self.grid)
        return re.sub(r"^(random-\d+)-\d+$", r"\1", self.grid).rpartition(" ")[2]


def case_of_row(row: Mapping[str, str]) -> CalibrationCase:
    """Return the case of a row of a file with CASE_COLUMNS.

    Raises:
        ValueError: A value is missing or no number.
    """
    error = _number(row, "log_error")
    if error is None or not all(row.get(name) for name in ("predictor", "app", "surroundings", "grid")):
        raise ValueError(f"columns predictor, app, surroundings, grid and log_error need values: {dict(row)}")
    ratio = _number(row, "ratio")
    if ratio is not None and ratio <= 0:
        raise ValueError(f"ratio is {ratio:g}")
    if row["surroundings"] not in SURROUNDINGS:
        raise ValueError(f"surroundings is {row['surroundings']!r}, and not one of {', '.join(SURROUNDINGS)}")
    share, residual = (_number(row, name) for name in ("compute_share", "fit_residual"))
    features = Features(row["app"], share, ratio, residual, row["surroundings"])
    return CalibrationCase(row["predictor"], row["grid"], features, error)


def _number(row: Mapping[str, str], name: str) -> float | None:
    text = row.get(name)
    if not text:
        return None
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{name} is {text}")
    return value


def read_cases(path: str | Path) -> list[CalibrationCase]:
    """Return the cases of a file.

    Raises:
        UserError: The file is no file of calibration cases.
    """
    rows = checked_rows(path, CASE_COLUMNS, "Name a file that --write-cases has written")
    cases = []
    for number, row in rows:
        try:
            cases.append(case_of_row(row))
        except ValueError as err:
            raise UserError(f"{path}:{number}", str(err), "Write the file again with --write-cases") from err
    return cases


def by_predictor(cases: Iterable[CalibrationCase]) -> dict[str, list[CalibrationCase]]:
    """Return the cases of each predictor."""
    cases_of_predictor: dict[str, list[CalibrationCase]] = {}
    for case in cases:
        cases_of_predictor.setdefault(case.predictor, []).append(case)
    return cases_of_predictor


@functools.cache
def known_cases(predictor: str) -> tuple[CalibrationCase, ...]:
    """Return the cases of a predictor that come with the project."""
    columns, lines = _known_lines()
    rows = csv.reader(lines.get(predictor, ()))
    return tuple(case_of_row(dict(zip(columns, values, strict=True))) for values in rows)


@functools.cache
def _known_lines() -> tuple[Sequence[str], Mapping[str, Sequence[str]]]:
    """Return the columns of the project's cases, and their lines by predictor; a command needs those of a few."""
    head, *rows = (line for line in input_text(CASES_FILE).splitlines() if not line.startswith("#"))
    lines: dict[str, list[str]] = {}
    for line in rows:
        lines.setdefault(line.partition(",")[0], []).append(line)
    return head.split(","), lines
