"""Figures of energy against time at chosen frequencies; hollow markers: predicted, filled markers: simulated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.plotting import charts
from platforms.plotting.charts import finish, new_figure
from platforms.plotting.styles import STYLES
from validation.clock.compare import FrequencyRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = {"highest": "*", "lowest": "X", "best": "P"}


def frequency_figure(rows: Sequence[FrequencyRow]) -> Figure:
    """Plot energy against time.

    Each cluster that is slowed alone has a line from the highest frequencies on; choices for all clusters are points.
    """
    figure = new_figure(7.2, 4.4)
    axes = figure.add_subplot()
    highest = next(row for row in rows if row.choice == "highest")
    clusters = [name for name in dict.fromkeys(row.choice for row in rows) if name not in _NAMED]
    for number, name in enumerate(clusters):
        lines = [highest, *(row for row in rows if row.choice == name)]
        color, marker, _ = STYLES[number % len(STYLES)]
        times_s, energies_j = [row.simulated_s for row in lines], [row.energy_simulated_j for row in lines]
        axes.plot(
            times_s, energies_j, color=color, marker=marker, markersize=4, linewidth=1, label=f"{name} alone, simulated"
        )
        axes.plot(
            [row.predicted_s for row in lines], [row.energy_predicted_j for row in lines], linestyle="none",
            marker=marker, markersize=9, markerfacecolor="none", markeredgecolor=color, markeredgewidth=0.8,
        )  # fmt: skip
    for name, marker in _NAMED.items():
        for row in [row for row in rows if row.choice == name][-1:]:
            axes.plot(
                row.simulated_s, row.energy_simulated_j, color="black", marker=marker, markersize=9, linestyle="none",
                label=f"{'all at the ' if name != 'best' else ''}{name}, simulated",
            )  # fmt: skip
            axes.plot(
                row.predicted_s, row.energy_predicted_j, color="black", marker="o", markersize=14, linestyle="none",
                markerfacecolor="none",
            )  # fmt: skip
    axes.plot([], [], color="0.4", marker="o", markerfacecolor="none", linestyle="none", label="hollow: predicted")
    program = f"{highest.app.upper()} class {highest.preset}" if highest.preset else highest.app
    title = f"{program} on {highest.ranks} ranks of {highest.scenario}, by {highest.predictor}"
    legend = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    finish(axes, title, legend=legend, xlabel="execution time, s", ylabel="energy of the nodes in use, J")
    return figure


def write_figures(studies: Sequence[Sequence[FrequencyRow]], folder: Path) -> list[Path]:
    """Write ``frequency-APP.png`` and ``.svg`` for every study and return their paths."""
    return charts.write_figures({f"frequency-{rows[0].app}": frequency_figure(rows) for rows in studies}, folder)
