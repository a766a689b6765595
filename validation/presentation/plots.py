"""Figures of predicted and true times: by scenario, like figures 3 to 5 of the HCF paper, and of single targets.

Energies and energy-delay products have the same figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.plotting import charts
from platforms.plotting.charts import Axes, Figure, finish, legend_below, new_figure, panels
from platforms.plotting.styles import dots, label_decades, line, style_of
from validation.comparison.rows import records
from validation.presentation.dots import draw_dots
from validation.presentation.numbering import predictor_numbers
from validation.presentation.tables import distinguishing_columns, truth_name

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 5.6  # inches, of a figure of a few cases
_CHARACTER_IN = 0.078  # width of a character of a case's label, inches
_SLANT_DEG = 40.0  # of labels that have no room side by side

# Columns that distinguish the results of one app and predictor.
CASE_COLUMNS = ("scenario", "network", "class", "ranks", "mapping", "clusters", "efficiency")


@dataclass(frozen=True)
class Quantity:
    """A quantity that is predicted and simulated."""

    name: str  # prefix of the file name
    label: str  # label of the axis, with the unit
    predicted: str  # column
    simulated: str  # column


TIMES = Quantity("times", "execution time, s", "predicted_s", "simulated_s")
ENERGIES = Quantity("energy", "energy of the nodes in use, J", "energy_predicted_j", "energy_simulated_j")
DELAY_PRODUCTS = Quantity("edp", "energy-delay product, J s", "edp_predicted_js", "edp_simulated_js")


def results_figure(
    results: pd.DataFrame, app: str, quantity: Quantity = TIMES, *, numbers: Mapping[str, int] | None = None
) -> Figure:
    """Plot the values of ``app``: of several cases side by side, of a single case as a sorted dot plot.

    Args:
        results: The results.
        app: The app.
        quantity: What to plot.
        numbers: The number of each predictor, which gives its style; None: its place in these results.
    """
    rows = results[results["app"] == app]
    cases = _cases(rows)
    answered = _answered(rows, quantity)
    if cases == 1:
        figure = new_figure(_WIDTH, 1.2 + 0.3 * max(1, len(answered)))
    else:
        figure = new_figure(max(_WIDTH, 1.5 + 0.66 * cases), 3.8)
    _draw(figure.add_subplot(), rows, quantity, predictor_numbers(results) if numbers is None else numbers)
    if cases > 1:
        _make_room(figure)
        legend_below(figure, fontsize=9.5)
    return figure


def overview_figure(results: pd.DataFrame, quantity: Quantity = TIMES) -> Figure:
    """Plot small multiples: a panel for each app, with one legend for all."""
    by_app = [rows for _, rows in results.groupby("app", sort=False)]
    columns = min(3, len(by_app))
    most = max(map(_cases, by_app))
    dots = max((len(_answered(rows, quantity)) for rows in by_app if _cases(rows) == 1), default=0)
    width_in = columns * max(4.6, 1.2 + 0.62 * most)
    height_in = 0.5 + max(3.4, 1.1 + 0.28 * dots) * -(-len(by_app) // columns)
    figure, places = panels(len(by_app), columns, width_in, height_in)
    numbers = predictor_numbers(results)
    for axes, rows in zip(places, by_app, strict=True):
        _draw(axes, rows, quantity, numbers)
    if most > 1:
        _make_room(figure)
        legend_below(figure, fontsize=9.5)
    return figure


def _cases(rows: pd.DataFrame) -> int:
    return int(rows.groupby(list(CASE_COLUMNS), dropna=False).ngroups)


def _answered(rows: pd.DataFrame, quantity: Quantity) -> list[str]:
    """Return the predictors that answer for at least one case."""
    return list(dict.fromkeys(rows.loc[rows[quantity.predicted].notna(), "predictor"]))


def _draw(axes: Axes, rows: pd.DataFrame, quantity: Quantity, numbers: Mapping[str, int]) -> None:
    """Draw the rows of an app."""
    single = _cases(rows) == 1
    names = list(dict.fromkeys(_network(name) for name in rows["network"]))
    if single:
        names[:0] = case_labels(rows.iloc[:1], always=("scenario", "ranks"))[0].split("\n")
        _draw_single(axes, rows, quantity, numbers)
    else:
        _draw_cases(axes, rows, quantity, numbers)
    app, presets = rows["app"].iloc[0], list(dict.fromkeys(rows["class"]))
    program = f"{app.upper()} class {presets[0]}" if len(presets) == 1 and isinstance(presets[0], str) else app
    title = f"{program}, {', '.join(dict.fromkeys(names))}"
    axes.set_title(title, fontsize=10.5, loc="left", parse_math=False, pad=20 if single else 6)


def _draw_single(axes: Axes, rows: pd.DataFrame, quantity: Quantity, numbers: Mapping[str, int]) -> None:
    truth = float(rows[quantity.simulated].iloc[0])
    known = rows[rows[quantity.predicted].notna()]
    predicted = list(zip(known["predictor"], known[quantity.predicted].astype(float), strict=True))
    unit = quantity.label.rpartition(", ")[2]
    draw_dots(axes, predicted, truth, truth_name=truth_name(rows["truth"]), unit=unit, numbers=numbers)
    axes.set_xlabel(quantity.label)


def _draw_cases(axes: Axes, rows: pd.DataFrame, quantity: Quantity, numbers: Mapping[str, int]) -> None:
    """Draw the true values of the cases in black and the predicted ones in colours, on a logarithmic axis.

    Within a case the predictors are side by side, so that equal predictions do not hide each other.
    """
    rows = rows.assign(place=rows.groupby(list(CASE_COLUMNS), sort=False, dropna=False).ngroup())
    cases = rows.drop_duplicates(subset="place")
    predictors = _answered(rows, quantity)
    axes.hlines(
        cases[quantity.simulated].astype(float), [i - 0.4 for i in range(len(cases))],
        [i + 0.4 for i in range(len(cases))], color="black", linewidth=3, label=truth_name(rows["truth"]),
    )  # fmt: skip
    for place, name in enumerate(predictors):
        lines = rows[rows["predictor"] == name]
        color, marker, style = style_of(numbers[name])
        offset = 0.6 * ((place + 0.5) / len(predictors) - 0.5)
        look = dots(color, marker, 7, edge=True) | line(color, style, 1)
        axes.plot(offset + lines["place"], lines[quantity.predicted].astype(float), label=name, **look)
    _name_cases(axes, case_labels(cases, always=("scenario", "ranks")))
    axes.set_xlim(-0.6, len(cases) - 0.4)
    axes.set_yscale("log")
    label_decades(axes.yaxis)
    finish(axes, ylabel=quantity.label)
    axes.grid(False, axis="x")


def _name_cases(axes: Axes, labels: Sequence[str]) -> None:
    """Write the labels below the axis; slanted, in one line each, where they would run into each other."""
    figure, grid = axes.figure, axes.get_gridspec()
    assert grid is not None
    room_in = (figure.bbox.width / figure.dpi / grid.ncols - 1) / len(labels)
    if _CHARACTER_IN * max(len(line) for label in labels for line in label.split("\n")) <= room_in:
        axes.set_xticks(range(len(labels)), labels, fontsize=9, parse_math=False)
        return
    lines = [label.replace("\n", ", ") for label in labels]
    axes.set_xticks(
        range(len(lines)), lines, fontsize=9, parse_math=False, rotation=_SLANT_DEG, ha="right", rotation_mode="anchor"
    )


def _make_room(figure: Figure) -> None:
    """Make a figure higher by what its slanted labels take."""
    slanted = [text for axes in figure.axes for text in axes.get_xticklabels() if text.get_rotation() == _SLANT_DEG]
    grid = figure.axes[0].get_gridspec()
    if not slanted or grid is None:
        return
    longest_in = _CHARACTER_IN * max(len(text.get_text()) for text in slanted)
    figure.set_figheight(figure.get_figheight() + grid.nrows * longest_in * math.sin(math.radians(_SLANT_DEG)))


def case_labels(cases: pd.DataFrame, *, always: tuple[str, ...] = ("scenario",)) -> list[str]:
    """Return a label for every row.

    The label has the columns ``always`` and those of CASE_COLUMNS that differ between rows of one scenario and app.
    """
    differing = distinguishing_columns(records(cases), CASE_COLUMNS)
    wanted = [name for name in CASE_COLUMNS if name in always or name in differing]
    form = {"network": _network, "ranks": "{} ranks".format, "efficiency": "efficiency {:.3g}".format}
    texts = [cases[name].map(form.get(name, str)) for name in wanted]
    return ["\n".join(parts) for parts in zip(*texts, strict=True)]


def _network(name: object) -> str:
    return name if isinstance(name, str) else "network of the file"


def write_figures(results: pd.DataFrame, folder: Path, *, energy: bool = False) -> list[Path]:
    """Write ``times-APP.png`` and ``.svg`` for every app, and ``times`` with all apps if there are several.

    With ``energy`` also ``energy`` and ``edp``; an app without any known energy has no such figures.  Return the paths
    of the files.
    """
    written: list[Path] = []
    numbers = predictor_numbers(results)
    for quantity in (TIMES, ENERGIES, DELAY_PRODUCTS) if energy else (TIMES,):
        known = results if quantity is TIMES else results[results[quantity.simulated].notna()]
        apps = [str(app) for app in dict.fromkeys(known["app"])]
        figures = {f"-{app}": results_figure(results, app, quantity, numbers=numbers) for app in apps}
        if len(apps) > 1:
            figures[""] = overview_figure(results[results["app"].isin(apps)], quantity)
        written += charts.write_figures({f"{quantity.name}{name}": made for name, made in figures.items()}, folder)
    return written
