"""The league's tables: made of results, shown after them, and written beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.writing import write_csv
from validation.league.deciding import decisions
from validation.league.front import pareto
from validation.league.standing import ranking
from validation.league.text import decisions_text, pareto_text, ranking_text

if TYPE_CHECKING:
    import pandas as pd

    from validation.league.evidence_costs import EvidenceCosts


def league_tables(results: pd.DataFrame, costs: EvidenceCosts | None = None) -> dict[str, pd.DataFrame]:
    """``league``, ``pareto`` and ``decisions`` of results, by the names of their files.

    ``costs``: what the evidence for all candidates together costs; None leaves that out of the decisions.
    """
    league, choices = ranking(results), decisions(results)
    if costs is not None and not choices.empty:
        choices = choices.merge(costs.table(), how="left", on=["app", "predictor"])
    return {"league": league, "pareto": pareto(league), "decisions": choices}


def league_text(tables: Mapping[str, pd.DataFrame]) -> str:
    """All of it for a terminal."""
    parts = [ranking_text(tables["league"])]
    if not tables["pareto"].empty:
        parts.append(pareto_text(tables["pareto"]))
    if not tables["decisions"].empty:
        parts.append(decisions_text(tables["decisions"]))
    return "\n\n".join(parts)


def write_league(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """A CSV file for each table, and pareto and regret as figures.  Raises OSError where that fails."""
    from validation.league.plots import write_figures

    for name, table in tables.items():
        write_csv(table, folder / f"{name}.csv")
    write_figures(tables["pareto"], tables["decisions"], folder)
