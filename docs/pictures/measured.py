"""Errors of simulations of measured runs on two emulated grids, beside those of HCF, from the measured league."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from write_results import first_rows

from apps.runs.runner import Runner
from pictures.style import BLUE, GREY, INK, NOTE, ORANGE, PALE, card

TITLE = "Errors of simulate and of hcf:constant for measured runs on two emulated grids"
RESULTS = Path(__file__).resolve().parents[1] / "results" / "measured-league.toml"
SHOWN = {"simulate": ("o", BLUE), "hcf:constant": ("D", ORANGE)}
_MARGIN = 2  # %, beyond the largest errors


def rows() -> list[dict[str, str]]:
    """Return the rows of the first table of the measured league, by heading."""
    return first_rows(RESULTS)


def draw(_runner: Runner) -> Figure:
    """Draw a line for each measured run, with its predictors' errors in %; the runner is not needed."""
    found = rows()
    figure = card(0.9 + 0.24 * len(found))
    axes = figure.subplots()
    places = range(len(found))
    errors_pct = [float(row[name]) for row in found for name in SHOWN]
    ends = min(errors_pct) - _MARGIN, max(errors_pct) + _MARGIN
    axes.hlines(places, *ends, color=PALE, linewidth=0.8, zorder=0)
    axes.axvline(0, color=GREY, linewidth=1)
    for name, (marker, colour) in SHOWN.items():
        errors = [float(row[name]) for row in found]
        axes.plot(errors, places, marker, color=colour, markersize=6, label=name)
    for place, row in zip(places, found, strict=True):
        half = float(row["range of 3, %"]) / 2
        axes.plot([-half, half], [place, place], color=INK, linewidth=3, solid_capstyle="butt", zorder=1)
    axes.plot([], [], color=INK, linewidth=3, label="range of three runs")
    axes.set_yticks(places, [f"{row['grid']}, {row['run']}" for row in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(*ends)
    axes.set_xlabel("error, % of the measured median")
    axes.tick_params(axis="y", length=0, labelsize=NOTE)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.1), ncols=3)
    return figure
