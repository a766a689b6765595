"""Figures of energy against time at chosen frequencies; hollow markers: predicted, filled markers: simulated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from platforms.plotting import charts as files
from platforms.plotting.charts import Figure
from platforms.plotting.lines import Look, Panel, Series, lines_figure
from platforms.plotting.styles import dots, line, style_of
from validation.clock.compare import FrequencyRow

_NAMED = {"highest": "*", "lowest": "X", "best": "P"}


def frequency_figure(rows: Sequence[FrequencyRow]) -> Figure:
    """Plot energy against time.

    Each cluster that is slowed alone has a line from the highest frequencies on; choices for all clusters are points.
    """
    highest = next(row for row in rows if row.choice == "highest")
    clusters = [name for name in dict.fromkeys(row.choice for row in rows) if name not in _NAMED]
    drawn = []
    for number, name in enumerate(clusters):
        shown = [highest, *(row for row in rows if row.choice == name)]
        color, marker, _ = style_of(number)
        joined = dots(color, marker, 4) | line(color, width=1)
        drawn += _both(shown, joined, dots(color, marker, 9, hollow=True), f"{name} alone, simulated")
    for name, marker in _NAMED.items():
        label = f"{'all at the ' if name != 'best' else ''}{name}, simulated"
        last = [row for row in rows if row.choice == name][-1:]
        drawn += _both(last, dots("black", marker, 9), dots("black", size=14, hollow=True), label) if last else []
    drawn.append(Series([], [], dots("0.4", hollow=True), "hollow: predicted"))
    program = f"{highest.app.upper()} class {highest.preset}" if highest.preset else highest.app
    chart = Panel(
        title=f"{program} on {highest.ranks} ranks of {highest.scenario}, by {highest.predictor}", drawn=drawn,
        legend={"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}, x="execution time, s",
        y="energy of the nodes in use, J",
    )  # fmt: skip
    return lines_figure([chart], 1, 7.2, 4.4)


def _both(rows: Sequence[FrequencyRow], simulated: Look, predicted: Look, label: str) -> list[Series]:
    """Return the simulated values of rows and the predicted ones."""
    return [
        Series([row.simulated_s for row in rows], [row.energy_simulated_j for row in rows], simulated, label),
        Series([row.predicted_s for row in rows], [row.energy_predicted_j for row in rows], predicted),
    ]


def write_figures(studies: Sequence[Sequence[FrequencyRow]], folder: Path) -> list[Path]:
    """Write ``frequency-APP.png`` and ``.svg`` for every study and return their paths."""
    return files.write_figures({f"frequency-{rows[0].app}": frequency_figure(rows) for rows in studies}, folder)
