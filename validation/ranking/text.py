"""Text tables of the league for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.wording import number_of
from validation.comparison.dataframes import Column, grouped
from validation.comparison.metrics import ALL_APPS
from validation.presentation.tables import format_column, format_interval, table_text
from validation.ranking.front import COSTS
from validation.ranking.standing import SIMULATE

if TYPE_CHECKING:
    import pandas as pd

COST_NAMES = {"evidence_share": "evidence % of run", "wall_s": "wall s"}


def ranking_text(table: pd.DataFrame) -> str:
    """Return the ranking as text, one line per predictor, under a line that says which cases count."""
    cases = int(table["cases"].iloc[0])
    columns: dict[str, Column] = {
        "rank": format_column(table["rank"].astype(float), "{:.0f}"),
        "predictor": table["predictor"],
        "answers": [str(n) if n == cases else f"{n} of {cases}" for n in table["answered"]],
        "mean |error| %": format_column(table["mean_abs_error_pct"], "{:.4g}"),
        "its 95 % interval": format_interval(table, "{:.3g}"),
        "median %": format_column(table["median_abs_error_pct"], "{:.4g}"),
        "max %": format_column(table["max_abs_error_pct"], "{:.4g}"),
        "R²": format_column(table["r2"], "{:.4g}"),
        "evidence node-s": format_column(table["evidence_node_s"], "{:.4g}"),
        COST_NAMES["evidence_share"]: format_column(100 * table["evidence_share"], "{:.3g}"),
        "rank by node-s": format_column(table["cost_rank"].astype(float), "{:.0f}"),
        COST_NAMES["wall_s"]: format_column(table["wall_s"], "{:.3g}"),
        "rank by wall": format_column(table["wall_rank"].astype(float), "{:.0f}"),
    }
    return f"League, {_counted(table)}; costs are means per case\n{table_text(columns)}"


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
    lines = []
    for cost in COSTS:
        front = table[(table["cost"] == cost) & table["on_front"]]
        scale = 100 if cost == "evidence_share" else 1
        columns: dict[str, Column] = {
            "predictor": front["predictor"],
            COST_NAMES[cost]: format_column(scale * front["value"], "{:.3g}"),
            "mean |error| %": format_column(front["mean_abs_error_pct"], "{:.4g}"),
        }
        lines += [f"Pareto front, error against {COST_NAMES[cost]}", table_text(columns), ""]
    return "\n".join(lines[:-1])


def decisions_text(table: pd.DataFrame) -> str:
    """Return a table per kind of choice, with a line per predictor and its regrets by app if there are several."""
    return "\n\n".join(_decision_text(kind, of_kind) for kind, of_kind in grouped(table, "decision"))


def _decision_text(kind: str, table: pd.DataFrame) -> str:
    over_all = table[table["app"] == ALL_APPS]
    apps = [app for app in dict.fromkeys(table["app"]) if app != ALL_APPS]
    columns: dict[str, Column] = {
        "predictor": over_all["predictor"],
        "answers": [
            str(n) if n == every else f"{n} of {every}"
            for n, every in zip(over_all["answered"], over_all["candidates"], strict=True)
        ],
        "Spearman": format_column(over_all["spearman"], "{:+z.2f}"),
        "Kendall": format_column(over_all["kendall"], "{:+z.2f}"),
        "mean regret %": format_column(over_all["mean_regret_pct"], "{:.3g}"),
        "max regret %": format_column(over_all["max_regret_pct"], "{:.3g}"),
        "best taken %": format_column(100 * over_all["best_taken"], "{:.0f}"),
    }
    for app in apps if len(apps) > 1 else ():
        regrets = table[table["app"] == app].set_index("predictor")["mean_regret_pct"]
        columns[f"mean {app}"] = format_column(over_all["predictor"].map(regrets), "{:.3g}")
    if "evidence_node_s" in table:
        columns["evidence node-s"] = format_column(over_all["evidence_node_s"], "{:.4g}")
        columns["% of running all"] = format_column(100 * over_all["evidence_share"], "{:.3g}")
        columns[COST_NAMES["wall_s"]] = format_column(over_all["wall_s"], "{:.3g}")
    choices, candidates = int(over_all["choices"].iloc[0]), int(over_all["candidates"].iloc[0])
    head = f"Choosing {kind}: {number_of(choices, 'choice')} among {candidates / choices:.3g} candidates"
    return f"{head}\n{table_text(columns)}"
