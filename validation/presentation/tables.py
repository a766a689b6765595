"""Text tables of results for a terminal."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, percent, range_text, significant
from platforms.terminal.table import Cell, Group, table_lines
from platforms.wording import number_of
from predictor.answers.regime import TOLERATED_PCT
from predictor.registry import HCF_FAMILY
from validation.comparison.dataframes import Column, records
from validation.comparison.metrics import ALL_APPS
from validation.presentation.notes import Notes, refusal_lines

if TYPE_CHECKING:
    import pandas as pd

GOOD_PCT = 5.0  # errors up to this size are green on a terminal, up to TOLERATED_PCT yellow, else red
_NONE = "-"
_LEGEND = "cost: node-seconds of the evidence, % of the run's"
_REPEATS = "repeats: from the shortest to the longest, % of their median; within: the prediction lies between them"
_CASE_COLUMNS = ("network", "class", "ranks", "mapping", "efficiency")


def results_text(results: pd.DataFrame, *, energy: bool = False, wide: bool = False) -> str:
    """Return a table with one line per prediction, and below it the cautions and the predictors without an answer.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
        energy: Show energies too.
        wide: Show all columns, such as the probe's times and the iterations.
    """
    notes = Notes(results["flags"].where(results["predicted_s"].notna(), ""))
    legend: list[str] = []
    if wide:
        lines = _wide_lines(results, notes, energy=energy)
    else:
        answered = results[results["predicted_s"].notna()]
        legend = [] if answered.empty else [_LEGEND]
        if answered["true_low_s"].notna().any():
            legend += prose_lines(_REPEATS)
        lines = _grouped_lines(answered, _time_columns(answered, notes))
        if energy:
            lines += ["", "Energies", *_grouped_lines(answered, _short_energy_columns(answered))]
    for more in (legend, notes.lines(), refusal_lines(results)):
        lines += ["", *more] if more else []
    return "\n".join(lines).lstrip("\n")


def _time_columns(results: pd.DataFrame, notes: Notes) -> dict[str, Column]:
    times = list(zip(results["predicted_s"], results["simulated_s"], strict=True))
    spread: dict[str, Column] = {}
    if results["true_low_s"].notna().any():
        width = (results["true_high_s"] - results["true_low_s"]) / results["simulated_s"]
        spread["repeats %"] = [significant(100 * one) for one in width]
        spread["within"] = ["yes" if within else "no" for within in results["in_repeats"]]
    return {
        "predicted": [duration(predicted_s, like_s=true_s) for predicted_s, true_s in times],
        truth_name(results): [duration(true_s) for _, true_s in times],
        **spread,
        "error %": [error_cell(error) for error in results["error_pct"]],
        "cost %": [significant(100 * share) for share in results["evidence_share"]],
        "caution": [notes.numbers(flags) for flags in results["flags"]],
    }


def _short_energy_columns(results: pd.DataFrame) -> dict[str, Column]:
    truth = truth_name(results)
    return {
        "predicted J": results["energy_predicted_j"].map(significant),
        truth + " J": results["energy_simulated_j"].map(significant),
        "error %": [error_cell(error) for error in results["energy_error_pct"]],
        "EDP J s": results["edp_predicted_js"].map(significant),
        truth: results["edp_simulated_js"].map(significant),
    }


def _grouped_lines(results: pd.DataFrame, columns: Mapping[str, Column]) -> list[str]:
    """Return a table whose lines are grouped by platform, ranks and what else differs, under a title for each."""
    if results.empty:
        return []
    differing = told_apart_by(results, ("mapping", "efficiency"))
    rows: list[Sequence[str | Cell] | Group] = [("program", "predictor", *columns)]
    titles = [_title(row, differing) for row in records(results)]
    several = len(set(titles)) > 1
    before: tuple[str, str] | None = None
    for number, (title, app, preset, name) in enumerate(
        zip(titles, results["app"], results["class"], results["predictor"], strict=True)
    ):
        if several and (before is None or before[0] != title):
            rows.append(Group(title))
            before = None
        program = f"{app} {preset}" if preset else app
        shown = "" if before == (title, program) else program
        rows.append((shown, name, *(list(column)[number] for column in columns.values())))
        before = (title, program)
    lines = table_lines(rows, left={0, 1})
    return lines if several else [*prose_lines(titles[0]), "", *lines]


def _title(row: Mapping[str, Any], differing: Sequence[str]) -> str:
    network = f", network {row['network']}" if row["network"] else ""
    more = "".join(f", {name} {row[name]}" for name in differing)
    return f"{row['scenario']}{network}, {number_of(row['ranks'], 'rank')}{more}"


def error_cell(error_pct: float | None, *, signed: bool = True) -> str | Cell:
    """Return an error in %, whose colour tells its size."""
    text = percent(error_pct, signed=signed)
    if error_pct is None or math.isnan(error_pct):
        return text
    size = abs(error_pct)
    return Cell(text, "green" if size <= GOOD_PCT else "yellow" if size <= TOLERATED_PCT else "red")


def _wide_lines(results: pd.DataFrame, notes: Notes, *, energy: bool) -> list[str]:
    columns: dict[str, Column] = {
        "scenario": results["scenario"],
        "app": results["app"],
        **{name: results[name].map(str) for name in told_apart_by(results)},
        "predictor": results["predictor"],
        "probe T_cp s": format_column(results["probe_cp_s"], "{:.4g}"),
        "probe T_cm s": format_column(results["probe_cm_s"], "{:.4g}"),
        "compute %": format_column(100 * results["compute_share"], "{:.1f}"),
        "predicted s": format_column(results["predicted_s"], "{:.5g}"),
        truth_name(results) + " s": format_column(results["simulated_s"], "{:.5g}"),
        "iterations": [
            f"{simulated}/{all_}" if all_ else _NONE
            for simulated, all_ in zip(results["iterations_simulated"], results["iterations"], strict=True)
        ],
        "bound": format_column(results["extrapolation_bound"], "{:.0e}"),
        "error %": [error_cell(error) for error in results["error_pct"]],
        "caution": [
            "" if math.isnan(predicted_s) else notes.numbers(flags)
            for predicted_s, flags in zip(results["predicted_s"].astype(float), results["flags"], strict=True)
        ],
        "evidence % of run": format_column(100 * results["evidence_share"], "{:.1f}"),
    }
    if energy:
        columns |= _energy_columns(results)
    return table_of(columns, left=("scenario", "app", "predictor"), wide=True)


def _energy_columns(results: pd.DataFrame) -> dict[str, Column]:
    truth = truth_name(results)
    return {
        "predicted J": format_column(results["energy_predicted_j"], "{:.5g}"),
        truth + " J": format_column(results["energy_simulated_j"], "{:.5g}"),
        "energy error %": [error_cell(error) for error in results["energy_error_pct"]],
        "EDP predicted J s": format_column(results["edp_predicted_js"], "{:.5g}"),
        "EDP " + truth + " J s": format_column(results["edp_simulated_js"], "{:.5g}"),
    }


def summary_text(
    summary: pd.DataFrame, published: Mapping[str, float], *, energy: bool = False, wide: bool = False
) -> str:
    """Return a table of errors with one line per predictor and app, and one per predictor over all apps.

    Lines of a single target are left out, because they would repeat the results; the text is empty if no predictor has
    two targets of one app.

    Args:
        summary: The statistics, as ``summarise`` returns them.
        published: The HCF paper's errors by app, shown in the lines of the HCF predictors; empty: not applicable.
        energy: Show the errors of the energy too.
        wide: Show all statistics.
    """
    if not (summary["cases"][summary["app"] != ALL_APPS] > 1).any():
        return ""
    apps = summary[summary["app"] != ALL_APPS].groupby("predictor")["app"].nunique()
    several = summary["predictor"].map(apps) > 1  # with a single app the row over all apps repeats it
    summary = summary[((summary["app"] != ALL_APPS) | several) & (summary["cases"] > 1)]
    complete = summary["n"] == summary["cases"]
    columns: dict[str, Column] = {"predictor": summary["predictor"], "app": summary["app"]}
    columns["n"] = [
        str(n) if all_ else f"{n} of {cases}"
        for n, cases, all_ in zip(summary["n"], summary["cases"], complete, strict=True)
    ]
    if wide:
        columns["mean signed"] = [error_cell(error) for error in summary["mean_error_pct"]]
    columns["mean"] = [error_cell(error, signed=False) for error in summary["mean_abs_error_pct"]]
    columns["95 % interval"] = format_interval(summary)
    columns["median"] = [error_cell(error, signed=False) for error in summary["median_abs_error_pct"]]
    columns["largest"] = [error_cell(error, signed=False) for error in summary["max_abs_error_pct"]]
    if wide:
        columns["R²"] = format_column(summary["r2"], "{:.4g}")
    if energy:
        columns["energy mean"] = summary["mean_abs_energy_error_pct"].map(percent)
        if wide:
            columns["energy largest"] = summary["max_abs_energy_error_pct"].map(percent)
    if published:
        of_hcf = summary["predictor"].isin(HCF_FAMILY)
        columns["paper"] = summary["app"].map(published).where(of_hcf).map(percent)
    lines = table_of(columns, left=("predictor", "app"), wide=wide)
    return "\n".join(["Absolute errors, %", "", *lines])


def told_apart_by(results: pd.DataFrame, names: Sequence[str] = _CASE_COLUMNS) -> list[str]:
    """Return those columns of ``names`` that differ between lines of one scenario and app."""
    alike = results.groupby(["scenario", "app"])
    return [name for name in names if (alike[name].nunique(dropna=False) > 1).any()]


def truth_name(results: pd.DataFrame) -> str:
    """Return the kind of truth of these results: simulated or measured."""
    return "measured" if set(results["truth"]) == {"measurement"} else "simulated"


def format_interval(summary: pd.DataFrame) -> list[str]:
    """Return a column with the interval of the mean absolute error."""
    ends = zip(summary["mean_abs_error_low_pct"], summary["mean_abs_error_high_pct"], strict=True)
    return [_NONE if math.isnan(low) else range_text(percent(low), percent(high)) for low, high in ends]


def format_column(values: pd.Series[Any], form: str) -> pd.Series[str]:
    """Return the formatted values, with a dash for missing ones."""
    return values.map(lambda value: _NONE if value != value or value is None else form.format(value))


def table_of(columns: Mapping[str, Column], *, left: Collection[str] = (), wide: bool = False) -> list[str]:
    """Return the lines of a table from its columns by heading; those named in ``left`` are left-aligned."""
    cells = [[cell if isinstance(cell, Cell) else str(cell) for cell in column] for column in columns.values()]
    rows = [list(columns), *zip(*cells, strict=True)]
    return table_lines(rows, left={number for number, name in enumerate(columns) if name in left}, wide=wide)
