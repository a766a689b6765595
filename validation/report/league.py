"""The league in a report: ranking, errors against costs, and quality of the choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from validation.comparison.metrics import ALL_APPS
from validation.ranking.deciding import decisions
from validation.ranking.plots import pareto_figure, regret_figure
from validation.ranking.standing import COSTS, SIMULATE, pareto, ranking
from validation.report.errors import error_class
from validation.report.gather import Gathered
from validation.report.pictures import Picture
from validation.report.sections import Progress, Section
from validation.report.svg import inline_svg
from validation.report.tables import NOTHING, Cell, Table, interval, number, numbers, table, words

_COSTS = {"evidence_share": ("evidence, % of the full run", 100.0), "wall_s": ("seconds of this computer", 1.0)}


def steps(gathered: Gathered) -> int:
    """Return the number of steps that take long: none."""
    return 0


def script() -> str:
    """Return the JavaScript that the section needs, which is none."""
    return ""


def sections(gathered: Gathered, results: pd.DataFrame, progress: Progress) -> list[Section]:
    """Return the section of the league if there are at least two predictors."""
    if results["predictor"].nunique() < 2:
        return []
    ranked, front, choices = league(results)
    section = Section("league", "The league of predictors", league_text(ranked))
    section.tables += league_tables(ranked, front, choices)
    return [section.take(league_pictures(front, choices))]


def league_text(ranked: pd.DataFrame) -> list[str]:
    """Return lines on the cases that the ranking is based on."""
    of_predictors = ranked[ranked["rank"].notna() & (ranked["predictor"] != SIMULATE)]
    cases = int(ranked["cases"].iloc[0])
    if of_predictors.empty:
        return [f"No predictor is ranked: none of the {cases} cases is answered by all predictors with enough answers."]
    counted = int(of_predictors["counted"].max())
    lines = [
        f"Ranked on the {counted} of {cases} cases that all ranked predictors answer; costs are means of "
        "predicting each case alone. Predictors that answer fewer than three quarters of the cases have no rank."
    ]
    if SIMULATE in set(ranked["predictor"]):
        lines.append(
            f"{SIMULATE} is not a predictor: it is the simulation of the target itself, with the error that "
            "extrapolating its iterations may cause. On a real machine its evidence would be the full run."
        )
    return lines


def league_tables(ranked: pd.DataFrame, front: pd.DataFrame, choices: pd.DataFrame) -> list[Table]:
    """Return the tables of the ranking, the Pareto fronts and the choices, as far as they are not empty."""
    made = [_ranking_table(ranked)]
    if not front.empty:
        made.append(_front_table(front))
    if not choices.empty:
        made.append(_choices_table(choices))
    return made


def league_pictures(front: pd.DataFrame, choices: pd.DataFrame) -> Iterator[Picture]:
    """Yield pictures of errors over costs and of regrets; the tables have their numbers."""
    if not front.empty:
        title = "Mean absolute error over cost, with the Pareto front"
        svg = inline_svg(pareto_figure(front), "pareto", title=title)
        caption = f"{title}: no predictor is both more accurate and cheaper than one on the line."
        yield Picture("pareto", svg, caption)
    if not choices.empty:
        title = "Mean regret of choosing the candidate that is predicted to be fastest"
        svg = inline_svg(regret_figure(choices), "regret", title=title)
        yield Picture("regret", svg, f"{title}: the additional time of the chosen candidate over the best one.")


def _ranking_table(ranked: pd.DataFrame) -> Table:
    columns = [
        *numbers("rank"),
        *words("predictor"),
        *numbers("answers", "mean |error|, %", "95 % interval, %", "median, %", "largest, %", "R²"),
        *numbers("evidence, node-seconds", "% of the full run", "rank by node-seconds", "wall, s", "rank by wall"),
    ]
    rows = []
    for row in ranked.to_dict("records"):
        low, high = row["mean_abs_error_low_pct"], row["mean_abs_error_high_pct"]
        rows.append([
            _rank(row["rank"]),
            row["predictor"],
            _count_cell(row["answered"], row["cases"]),
            number(row["mean_abs_error_pct"], "{:.4g}", mark=error_class(row["mean_abs_error_pct"])),
            interval(low, high, "{:.3g}"),
            number(row["median_abs_error_pct"]),
            number(row["max_abs_error_pct"]),
            number(row["r2"]),
            number(row["evidence_node_s"]),
            number(100 * row["evidence_share"], "{:.3g}"),
            _rank(row["cost_rank"]),
            number(row["wall_s"], "{:.3g}"),
            _rank(row["wall_rank"]),
        ])  # fmt: skip
    return table("ranking", "Ranking by mean absolute error", columns, rows, wide=True)


def _rank(value: Any) -> Cell:
    return Cell(NOTHING, note="not ranked") if pd.isna(value) else Cell(str(int(value)))


def _count_cell(count: int, cases: int) -> Cell:
    return Cell(str(count) if count == cases else f"{count} of {cases}", order=count)


def _front_table(front: pd.DataFrame) -> Table:
    rows = []
    for cost in COSTS:
        name, scale = _COSTS[cost]
        for row in front[front["cost"] == cost].to_dict("records"):
            rows.append([
                row["predictor"],
                name,
                number(scale * row["value"], "{:.3g}"),
                number(row["mean_abs_error_pct"], "{:.4g}"),
                Cell("on the front", mark="good") if row["on_front"] else f"dominated by {row['dominated_by']}",
            ])  # fmt: skip
    columns = [*words("predictor", "cost"), *numbers("cost value", "mean |error|, %"), *words("Pareto front")]
    return table("pareto-front", "Error against cost", columns, rows)


def _choices_table(choices: pd.DataFrame) -> Table:
    columns = [
        *words("choosing", "program", "predictor"),
        *numbers("choices", "answers", "Spearman", "Kendall", "mean regret, %", "largest regret, %", "best taken, %"),
    ]
    rows = [
        [
            row["decision"],
            "all programs" if row["app"] == ALL_APPS else row["app"],
            row["predictor"],
            number(row["choices"], "{:,}"),
            _count_cell(row["answered"], row["candidates"]),
            number(row["spearman"], "{:+.2f}"),
            number(row["kendall"], "{:+.2f}"),
            number(row["mean_regret_pct"], "{:.3g}"),
            number(row["max_regret_pct"], "{:.3g}"),
            number(100 * row["best_taken"], "{:.0f}"),
        ]
        for row in choices.to_dict("records")
    ]
    return table("choices", "Choices by prediction: rank correlation and regret", columns, rows, wide=True)


def league(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return ranking, front and choices of these results."""
    ranked = ranking(results)
    return ranked, pareto(ranked), decisions(results)
