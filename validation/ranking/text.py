"""Text tables of the league for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import percent, significant
from platforms.wording import number_of
from validation.comparison.dataframes import Column, grouped
from validation.comparison.metrics import ALL_APPS
from validation.presentation.tables import error_cell, format_column, format_interval, table_of
from validation.ranking.front import COSTS
from validation.ranking.standing import SIMULATE

if TYPE_CHECKING:
    import pandas as pd

COST_NAMES = {"evidence_share": "evidence % of run", "wall_s": "wall s"}


def ranking_text(table: pd.DataFrame, *, wide: bool = False) -> str:
    """Return the ranking as text, one line per predictor, under a line that says which cases count.

    Predictors without any answer are in that line only, except if ``wide``.
    """
    cases = int(table["cases"].iloc[0])
    head = f"League by the mean absolute error, {_counted(table)}; costs are means per case"
    if not wide and (table["answered"] > 0).any():
        table = table[table["answered"] > 0]
    columns: dict[str, Column] = {
        "rank": format_column(table["rank"].astype(float), "{:.0f}"),
        "predictor": table["predictor"],
    }
    if wide or (table["answered"] != cases).any():
        columns["answers"] = [str(n) if n == cases else f"{n} of {cases}" for n in table["answered"]]
    columns["mean %"] = [error_cell(error, signed=False) for error in table["mean_abs_error_pct"]]
    columns["95 % interval"] = format_interval(table["mean_abs_error_low_pct"], table["mean_abs_error_high_pct"])
    if wide:
        columns["median %"] = [error_cell(error, signed=False) for error in table["median_abs_error_pct"]]
    columns["largest"] = [error_cell(error, signed=False) for error in table["max_abs_error_pct"]]
    if wide:
        columns["R²"] = format_column(table["r2"], "{:.4g}")
        columns["evidence node-s"] = table["evidence_node_s"].map(significant)
    columns["cost %"] = (100 * table["evidence_share"]).map(significant)
    if wide:
        columns["rank by node-s"] = format_column(table["cost_rank"].astype(float), "{:.0f}")
    columns["wall s"] = table["wall_s"].map(significant)
    if wide:
        columns["rank by wall"] = format_column(table["wall_rank"].astype(float), "{:.0f}")
    return "\n".join([*prose_lines(head), "", *table_of(columns, left=("predictor",), wide=wide)])


def _counted(table: pd.DataFrame) -> str:
    cases = int(table["cases"].iloc[0])
    of_predictors = table[table["rank"].notna() & (table["predictor"] != SIMULATE)]
    if of_predictors.empty:
        return f"without ranks: of {number_of(cases, 'case')} none is answered by all who answer three quarters"
    counted = int(of_predictors["counted"].max())
    unranked = table[table["rank"].isna()]["predictor"]
    rest = f"; not ranked, because they answer too few: {', '.join(unranked)}" if len(unranked) else ""
    return f"on the {counted} of {cases} cases that all ranked predictors answer{rest}"


def pareto_text(table: pd.DataFrame) -> str:
    """Return the front of each cost as text, the cheapest predictor first."""
    parts = []
    for cost in COSTS:
        front = table[(table["cost"] == cost) & table["on_front"]]
        scale = 100 if cost == "evidence_share" else 1
        columns: dict[str, Column] = {
            "predictor": front["predictor"],
            COST_NAMES[cost]: (scale * front["value"]).map(significant),
            "mean |error| %": [error_cell(error, signed=False) for error in front["mean_abs_error_pct"]],
        }
        head = f"Pareto front, error against {COST_NAMES[cost]}"
        parts.append("\n".join([head, "", *table_of(columns, left=("predictor",))]))
    return "\n\n".join(parts)


def decisions_text(table: pd.DataFrame, *, wide: bool = False) -> str:
    """Return a table per kind of choice, with a line per predictor that answers; ``wide``: all, with all columns."""
    return "\n\n".join(_decision_text(kind, of_kind, wide=wide) for kind, of_kind in grouped(table, "decision"))


def _decision_text(kind: str, table: pd.DataFrame, *, wide: bool) -> str:
    over_all = table[table["app"] == ALL_APPS]
    if not wide and (over_all["answered"] > 0).any():
        over_all = over_all[over_all["answered"] > 0]
    apps = [app for app in dict.fromkeys(table["app"]) if app != ALL_APPS]
    columns: dict[str, Column] = {"predictor": over_all["predictor"]}
    if wide or (over_all["answered"] != over_all["candidates"]).any():
        columns["answers"] = [
            str(n) if n == every else f"{n} of {every}"
            for n, every in zip(over_all["answered"], over_all["candidates"], strict=True)
        ]
    columns["Spearman"] = format_column(over_all["spearman"], "{:+z.2f}")
    if wide:
        columns["Kendall"] = format_column(over_all["kendall"], "{:+z.2f}")
    columns["mean regret %"] = [error_cell(regret, signed=False) for regret in over_all["mean_regret_pct"]]
    columns["largest"] = [error_cell(regret, signed=False) for regret in over_all["max_regret_pct"]]
    columns["best taken %"] = format_column(100 * over_all["best_taken"], "{:.0f}")
    for app in apps if wide and len(apps) > 1 else ():
        regrets = table[table["app"] == app].set_index("predictor")["mean_regret_pct"]
        columns[f"mean {app}"] = over_all["predictor"].map(regrets).map(percent)
    if "evidence_node_s" in table:
        if wide:
            columns["evidence node-s"] = over_all["evidence_node_s"].map(significant)
        columns["cost %"] = (100 * over_all["evidence_share"]).map(significant)
        columns["wall s"] = over_all["wall_s"].map(significant)
    choices, candidates = int(over_all["choices"].iloc[0]), int(over_all["candidates"].iloc[0])
    head = f"Choosing {kind}: {number_of(choices, 'choice')} among {candidates / choices:.3g} candidates"
    if "evidence_node_s" in table:
        head += "; cost: % of running all"
    return "\n".join([*prose_lines(head), "", *table_of(columns, left=("predictor",), wide=wide)])
