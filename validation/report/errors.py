"""Tables of a report: targets, predictions, error statistics, cautions, refusals, failures and costs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from predictor.registry import HCF_FAMILY
from validation.comparison.metrics import ALL_APPS, published_errors
from validation.comparison.rows import records
from validation.presentation.tables import distinguishing_columns, energy_notes, truth_name
from validation.report.answers import interval_cell, range_cell
from validation.report.gather import Gathered
from validation.report.tables import (
    NOTHING,
    Cell,
    Table,
    amount_cell,
    error_cell,
    known,
    number,
    numbers,
    table,
    text_or_nothing,
    time_cell,
    words,
)  # fmt: skip

_DIGITS = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?")
# Columns that only the table of targets has, unless they vary within a scenario and app.
_SHOWN_ONCE = ("network", "class", "mapping", "clusters", "efficiency")


def targets_table(gathered: Gathered) -> Table:
    """Return the table of targets and their true times."""
    truth = truth_name(gathered.results["truth"])
    columns = [
        *words("platform", "network", "program"),
        *numbers("ranks", "nodes"),
        *words("mapping"),
        *numbers("efficiency", truth, "computation, %", "iterations simulated", "bound"),
    ]
    first: dict[int, dict[str, Any]] = {}
    for note, row in zip(gathered.notes, gathered.rows, strict=True):
        first.setdefault(note.case, row)
    rows = []
    for index, case in enumerate(gathered.cases):
        row = first[index]
        rows.append([
            row["scenario"],
            row["network"] or "of the file",
            _program(row),
            number(row["ranks"], "{:,}"),
            number(case.target.nodes, "{:,}"),
            row["mapping"],
            number(row["efficiency"], "{:.4g}"),
            time_cell(row["simulated_s"]),
            number(None if row["compute_share"] is None else 100 * row["compute_share"], "{:.1f}"),
            _iterations(row),
            number(row["extrapolation_bound"], "{:.0e}" if row["extrapolation_bound"] else "{:g}"),
        ])  # fmt: skip
    return table("targets", f"Targets and their {truth} times", columns, rows, wide=True)


def _iterations(row: dict[str, Any]) -> Cell:
    if not row["iterations"] or row["truth"] == "measurement":
        return Cell(NOTHING, note="measured" if row["iterations"] else "a program without iterations")
    return Cell(f"{row['iterations_simulated']} of {row['iterations']}", order=row["iterations_simulated"])


def _program(row: dict[str, Any]) -> str:
    return f"{row['app']} {row['class']}" if known(row["class"]) else row["app"]


def summary_table(summary: pd.DataFrame, results: pd.DataFrame, *, energy: bool) -> Table | None:
    """Return the table of error statistics per predictor and program, and per predictor over all programs.

    Lines of a single case are left out, because they would repeat the results; None: no line has two.

    Args:
        summary: The statistics, as ``summarise`` returns them.
        results: The results, with the columns of validation.comparison.compare.Result.
        energy: Show the statistics of the energies too, if they are known.
    """
    published = published_errors(records(results))
    shown = summary if summary["app"].nunique() != 2 else summary[summary["app"] != ALL_APPS]
    shown = shown[shown["cases"] > 1]
    if shown.empty:
        return None
    energy = energy and bool(summary["mean_abs_energy_error_pct"].notna().any())
    columns = [
        *words("predictor", "program"),
        *numbers("cases", "mean |error|, %", "95 % interval, %", "median |error|, %", "largest |error|, %"),
        *numbers("mean error, %", "R²"),
        *(numbers("mean |energy error|, %") if energy else []),
        *(numbers("published mean |error|, %") if published else []),
    ]
    rows = []
    for row in shown.to_dict("records"):
        low, high = row["mean_abs_error_low_pct"], row["mean_abs_error_high_pct"]
        cells = [
            row["predictor"],
            "all programs" if row["app"] == ALL_APPS else row["app"],
            Cell(str(row["n"]) if row["n"] == row["cases"] else f"{row['n']} of {row['cases']}", order=row["n"]),
            error_cell(row["mean_abs_error_pct"], signed=False, mark=error_class(row["mean_abs_error_pct"])),
            _range_cell(low, high),
            error_cell(row["median_abs_error_pct"], signed=False),
            error_cell(row["max_abs_error_pct"], signed=False),
            error_cell(row["mean_error_pct"]),
            number(row["r2"], "{:.4g}"),
        ]
        if energy:
            cells.append(error_cell(row["mean_abs_energy_error_pct"], signed=False))
        if published:
            cells.append(number(published.get(row["app"]) if row["predictor"] in HCF_FAMILY else None, "{:.2f}"))
        rows.append(cells)
    return table("summary", "Errors per predictor and program", columns, rows, wide=True)


def _range_cell(low_pct: float | None, high_pct: float | None) -> Cell:
    """Return the cell of an interval of errors in %."""
    low, high = error_cell(low_pct, signed=False), error_cell(high_pct, signed=False)
    if low.order is None:
        return Cell(NOTHING, note="needs two cases")
    return Cell(f"{low.text} to {high.text}", order=low.order)


def error_class(error_pct: float | None) -> str:
    """Return the CSS class for an absolute error, %."""
    if error_pct is None or math.isnan(error_pct):
        return ""
    return "good" if error_pct <= 5 else "fair" if error_pct <= 10 else ""


def results_table(gathered: Gathered, cautions: Sequence[Caution]) -> Table:
    """Return the table of predictions, without columns that only the table of targets needs."""
    results = gathered.results
    truth = truth_name(results["truth"])
    distinguishing = distinguishing_columns(records(results), _SHOWN_ONCE)
    ranges, intervals = (results[name].notna().any() for name in ("range_low_pct", "interval_low_s"))
    energy = gathered.invocation.energy and results["energy_simulated_j"].notna().any()
    columns = [
        *words("platform", *distinguishing, "program"),
        *numbers("ranks"),
        *words("predictor"),
        *numbers("predicted", truth, "error, %", "|error|, %"),
        *(numbers("90 % interval") if intervals else []),
        *(numbers("expected error, %") if ranges else []),
        *words("cautions"),
        *numbers("computation, %", "probe T_cp", "probe T_cm"),
        *(numbers("energy predicted, J", f"energy {truth}, J", "energy error, %") if energy else []),
    ]
    rows = []
    for note, row in zip(gathered.notes, gathered.rows, strict=True):
        cells = [
            row["scenario"],
            *(text_or_nothing(row[name]) for name in distinguishing),
            row["app"],
            number(row["ranks"], "{:,}"),
            row["predictor"],
            time_cell(row["predicted_s"], like_s=row["simulated_s"])
            if known(row["predicted_s"])
            else Cell("no answer", mark="none"),
            time_cell(row["simulated_s"]),
            error_cell(row["error_pct"]),
            error_cell(row["abs_error_pct"], signed=False, mark=error_class(row["abs_error_pct"])),
            *([interval_cell(row, note.no_interval)] if intervals else []),
            *([range_cell(row)] if ranges else []),
            _cautions(row, cautions),
            number(None if row["compute_share"] is None else 100 * row["compute_share"], "{:.1f}"),
            time_cell(row["probe_cp_s"]),
            time_cell(row["probe_cm_s"]),
        ]
        if energy:
            cells += [amount_cell(row["energy_predicted_j"]), amount_cell(row["energy_simulated_j"])]
            cells.append(error_cell(row["energy_error_pct"]))
        rows.append(cells)
    return table("results", f"All predictions and their {truth} times", columns, rows, wide=True)


def energy_sentences(gathered: Gathered) -> list[str]:
    """Return sentences on energies that are missing, or rest on default watts, where energies are shown."""
    return energy_notes(gathered.rows) if gathered.invocation.energy else []


class Caution:
    """A kind of caution: all cautions whose texts differ only in their numbers."""

    def __init__(self, number: int, text: str):
        self.number, self.example, self.count = number, text, 0
        self.predictors: dict[str, None] = {}

    @property
    def predictor_names(self) -> str:
        """Names of the predictors that gave the caution."""
        return ", ".join(self.predictors)


def cautions(gathered: Gathered) -> list[Caution]:
    """Return the kinds of cautions of all predictions, numbered from 1."""
    by_kind: dict[str, Caution] = {}
    for note, row in zip(gathered.notes, gathered.rows, strict=True):
        if note.refusal is not None:
            continue
        for text in _flags(row):
            kind = _kind(text)
            caution = by_kind.setdefault(kind, Caution(len(by_kind) + 1, text))
            caution.count += 1
            caution.predictors[row["predictor"]] = None
    return list(by_kind.values())


def _flags(row: dict[str, Any]) -> list[str]:
    return [text for text in row["flags"].split("; ") if text]


def _kind(text: str) -> str:
    return _DIGITS.sub("#", text)


def _cautions(row: dict[str, Any], cautions: Sequence[Caution]) -> Cell:
    if not known(row["predicted_s"]):
        return Cell("see below")
    kinds = [_kind(text) for text in _flags(row)]
    shown = [str(caution.number) for caution in cautions if _kind(caution.example) in kinds]
    return Cell(", ".join(shown), note=row["flags"])


def refusals_table(gathered: Gathered) -> Table | None:
    """Return the table of cases without an answer, with the reasons, or None if every case has an answer."""
    rows = [
        [row["predictor"], row["scenario"], _program(row), number(row["ranks"], "{:,}"), note.refusal]
        for note, row in zip(gathered.notes, gathered.rows, strict=True)
        if note.refusal is not None
    ]
    columns = [*words("predictor", "platform", "program"), *numbers("ranks"), *words("reason")]
    return table("refusals", "Cases without an answer", columns, rows) if rows else None


def failures_table(gathered: Gathered) -> Table | None:
    """Return the table of targets without a true time, or None if there are none."""
    rows = [list(failure) for failure in gathered.failures]
    columns = words("target", "error")
    return table("failures", "Failed targets, without a true time", columns, rows) if rows else None


def costs_table(gathered: Gathered) -> Table:
    """Return the table of the evidence and the costs of each prediction."""
    columns = [
        *words("platform", "program"),
        *numbers("ranks"),
        *words("predictor", "evidence"),
        *numbers("evidence, node-seconds", "% of the full run", "gathered in", "predicted in", "target simulated in"),
    ]
    rows = [
        [
            row["scenario"],
            _program(row),
            number(row["ranks"], "{:,}"),
            row["predictor"],
            _evidence(note.evidence),
            amount_cell(row["evidence_node_s"]),
            amount_cell(100 * row["evidence_share"] if known(row["evidence_share"]) else None, 3),
            time_cell(row["evidence_wall_s"]),
            time_cell(row["prediction_wall_s"]),
            time_cell(None if row["truth"] == "measurement" else row["simulation_wall_s"]),
        ]
        for note, row in zip(gathered.notes, gathered.rows, strict=True)
    ]
    return table("costs", "Evidence and costs of each prediction", columns, rows, wide=True)


_KINDS = {
    "run": "run",
    "recording": "recording",
    "exchange": "series of messages",
    "blocks": "series of blocks",
    "declared": "declarations of the user",
}


def _evidence(kinds: Sequence[str] | None) -> str:
    if kinds is None:
        return NOTHING
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    texts = [
        _KINDS.get(kind, kind) if kind == "declared" else f"{count} {_plural(_KINDS.get(kind, kind), count)}"
        for kind, count in counts.items()
    ]
    return ", ".join(texts) or "none"


def _plural(noun: str, count: int) -> str:
    if count == 1 or noun.startswith("series"):
        return noun
    return f"{noun}s"
