"""The tables of the league: computed from the results, printed after them and written beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.files.writing import write_csv
from validation.comparison.coverage import coverage
from validation.presentation.coverage_text import coverage_text
from validation.ranking.deciding import decisions
from validation.ranking.front import pareto
from validation.ranking.plots import write_figures
from validation.ranking.standing import ranking
from validation.ranking.text import decisions_text, pareto_text, ranking_text

if TYPE_CHECKING:
    import pandas as pd

    from validation.ranking.evidence_costs import EvidenceCosts


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
