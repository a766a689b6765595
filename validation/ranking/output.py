"""The tables of the league and the cost of its evidence: computed from the results, printed, and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from apps.store.identity import identity_hash
from platforms.files.writing import write_csv
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import percent, significant
from platforms.wording import number_of
from predictor.base import Cost
from validation.comparison.coverage import coverage
from validation.comparison.metrics import ALL_APPS
from validation.comparison.rows import Column, grouped
from validation.presentation.sentences import coverage_text
from validation.presentation.tables import error_cell, format_column, format_interval, table_of
from validation.ranking.deciding import decisions
from validation.ranking.plots import write_figures
from validation.ranking.standing import COSTS, SIMULATE, pareto, ranking

if TYPE_CHECKING:
    from apps.results.record import RunRecord
    from predictor.answers.answers import Answer
    from validation.comparison.compare import Result


class EvidenceCosts:
    """Collects the evidence of answers by app and predictor; that of ``simulate`` is the runs of all targets."""

    def __init__(self) -> None:
        self._evidence: dict[tuple[str, str], dict[str, Cost]] = {}
        self._once_node_s: dict[tuple[str, str], dict[str, float]] = {}  # with one repeat of each run
        self._answer_wall_s: dict[tuple[str, str], float] = {}

    def witness(self, answer: Answer, truth: RunRecord, result: Result) -> None:
        """Record an answer and its truth; a series calls this as its witness."""
        for app in (result.app, ALL_APPS):
            key = app, answer.predictor
            self._evidence.setdefault(key, {}).update({piece.id: piece.cost for piece in answer.evidence})
            self._once_node_s.setdefault(key, {}).update({piece.id: piece.once_node_s for piece in answer.evidence})
            self._answer_wall_s[key] = self._answer_wall_s.get(key, 0.0) + answer.wall_s
            run = identity_hash(truth.identity)
            self._evidence.setdefault((app, SIMULATE), {})[run] = Cost(truth.node_seconds, truth.wall_s)
            self._once_node_s.setdefault((app, SIMULATE), {})[run] = truth.once_node_s

    def table(self) -> pd.DataFrame:
        """Return a table with the costs by app (and ``all``) and predictor.

        Column evidence_node_s has the node-seconds of all evidence, wall_s the wall seconds of evidence and answers,
        and evidence_share the ratio of the node-seconds to those of the targets' own runs, each run counted once.
        """
        rows = []
        for (app, predictor), evidence in self._evidence.items():
            cost = sum(evidence.values(), Cost())
            once_s, runs_s = (sum(self._once_node_s[app, name].values()) for name in (predictor, SIMULATE))
            wall_s = cost.wall_s + self._answer_wall_s.get((app, predictor), 0.0)
            rows.append((app, predictor, cost.node_s, once_s / runs_s, wall_s))
        return pd.DataFrame(rows, columns=["app", "predictor", "evidence_node_s", "evidence_share", "wall_s"])


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


def league_tables(results: pd.DataFrame, costs: EvidenceCosts | None = None) -> dict[str, pd.DataFrame]:
    """Return the tables ``league``, ``pareto``, ``decisions`` and ``intervals`` of results by their files' names.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
        costs: Costs of the evidence for all candidates together; None: the decisions have no costs.
    """
    league, choices = ranking(results), decisions(results)
    if costs is not None and not choices.empty:
        choices = choices.merge(costs.table(), how="left", on=["app", "predictor"])
    return {"league": league, "pareto": pareto(league), "decisions": choices, "intervals": coverage(results)}


def league_text(tables: Mapping[str, pd.DataFrame], *, wide: bool = False) -> str:
    """Return the tables as text for a terminal; ``wide``: with all columns."""
    parts = [ranking_text(tables["league"], wide=wide)]
    if not tables["pareto"].empty:
        parts.append(pareto_text(tables["pareto"]))
    if not tables["decisions"].empty:
        parts.append(decisions_text(tables["decisions"], wide=wide))
    if (tables["intervals"]["intervals"] > 0).any():
        parts.append(coverage_text(tables["intervals"], wide=wide))
    return "\n\n".join(parts)


def write_league(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write a CSV file for each table, and the figures pareto and regret.

    Raises:
        OSError: A file cannot be written.
    """
    for name, table in tables.items():
        write_csv(table, folder / f"{name}.csv")
    write_figures(tables["pareto"], tables["decisions"], folder)
