"""Figures like figures 3 to 5 of the HCF paper: predicted and simulated times by scenario, one figure per app.

Energies and energy-delay products have the same figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.files.writing import save_figure
from validation.presentation.tables import told_apart_by, truth_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Colours of Okabe and Ito, which colour-blind readers can distinguish; line styles and markers differ in grey print.
STYLES = (
    ("#D55E00", "s", "--"),
    ("#0072B2", "o", "-."),
    ("#009E73", "^", ":"),
    ("#CC79A7", "D", (0, (5, 1))),
    ("#E69F00", "v", (0, (3, 1, 1, 1))),
    ("#56B4E9", "P", (0, (1, 1))),
    ("#F0E442", "X", (0, (5, 1, 1, 1))),
)
_MORE_MARKERS = ("<", ">", "p", "h", "*", "d", "8")  # when the colours repeat
# Columns that distinguish the results of one app and predictor.
CASE_COLUMNS = ("scenario", "network", "class", "ranks", "mapping", "clusters", "efficiency")


def style_of(number: int) -> tuple[str, str, str | tuple[Any, ...]]:
    """Return colour, marker and line style of predictor ``number``, from 0; the first fourteen differ in grey too."""
    color, marker, line = STYLES[number % len(STYLES)]
    again = number // len(STYLES)
    return color, marker if again == 0 else _MORE_MARKERS[(number + again - 1) % len(_MORE_MARKERS)], line


@dataclass(frozen=True)
class Quantity:
    """A quantity that is predicted and simulated."""

    name: str  # prefix of the file name
    label: str  # label of the axis, with the unit
    title: str  # comes after the problem and the network
    predicted: str  # column
    simulated: str  # column


TIMES = Quantity("times", "execution time, s", "predicted and {truth}", "predicted_s", "simulated_s")
ENERGIES = Quantity(
    "energy", "energy of the nodes in use, J", "energy, predicted and {truth}", "energy_predicted_j",
    "energy_simulated_j",
)  # fmt: skip
DELAY_PRODUCTS = Quantity(
    "edp", "energy-delay product, J s", "energy-delay product, predicted and {truth}", "edp_predicted_js",
    "edp_simulated_js",
)  # fmt: skip


def results_figure(results: pd.DataFrame, app: str, quantity: Quantity = TIMES) -> Figure:
    """Plot the simulated values of ``app`` in black and the predicted ones in colours, on a logarithmic axis.

    Within a scenario the predictors are side by side, so that equal predictions do not hide each other.
    """
    # Imported here for a quick start: it is slow to import.
    from matplotlib.figure import Figure

    rows = results[results["app"] == app]
    rows = rows.assign(place=rows.groupby(list(CASE_COLUMNS), sort=False, dropna=False).ngroup())
    cases = rows.drop_duplicates(subset="place")
    predictors = list(dict.fromkeys(rows["predictor"]))
    height_in = max(4.2, 1 + 0.2 * (1 + len(predictors)))  # for the legend
    figure = Figure(figsize=(max(5.5, 2.8 + 0.9 * len(cases)), height_in), layout="constrained")
    axes = figure.add_subplot()
    axes.hlines(
        cases[quantity.simulated].astype(float), [i - 0.4 for i in range(len(cases))],
        [i + 0.4 for i in range(len(cases))], color="black", linewidth=3, label=truth_name(rows),
    )  # fmt: skip
    for number, name in enumerate(predictors):
        lines = rows[rows["predictor"] == name]
        color, marker, style = style_of(number)
        offset = 0.6 * ((number + 0.5) / len(predictors) - 0.5)
        axes.plot(
            offset + lines["place"], lines[quantity.predicted].astype(float), color=color, marker=marker,
            linestyle=style, linewidth=1, markersize=7, markeredgecolor="black", markeredgewidth=0.6, label=name,
        )  # fmt: skip
    axes.set_xticks(range(len(cases)), case_labels(cases, told=("scenario", "ranks")), parse_math=False)
    axes.set_xlim(-0.6, len(cases) - 0.4)
    axes.set_yscale("log")
    label_decades(axes.yaxis)
    axes.set_ylabel(quantity.label)
    networks = ", ".join(dict.fromkeys(_network(name) for name in cases["network"]))
    presets = list(dict.fromkeys(cases["class"]))
    program = f"{app.upper()} class {presets[0]}" if len(presets) == 1 and isinstance(presets[0], str) else app
    title = quantity.title.format(truth=truth_name(rows))
    axes.set_title(f"{program}, {networks}: {title}", fontsize=11, loc="left", parse_math=False)
    axes.grid(axis="y", which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def case_labels(cases: pd.DataFrame, *, told: tuple[str, ...] = ("scenario",)) -> list[str]:
    """Return a label for every row.

    The label has the columns ``told`` and those of CASE_COLUMNS that differ between rows of one scenario and app.
    """
    differing = told_apart_by(cases, CASE_COLUMNS)
    wanted = [name for name in CASE_COLUMNS if name in told or name in differing]
    form = {"network": _network, "ranks": "{} ranks".format, "efficiency": "efficiency {:.3g}".format}
    texts = [cases[name].map(form.get(name, str)) for name in wanted]
    return ["\n".join(parts) for parts in zip(*texts, strict=True)]


def label_decades(axis: Axis) -> None:
    """Label a logarithmic axis, whose limits are set, with plain numbers; fewer decades get more labels each."""
    # Imported here for a quick start: it is slow to import.
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1, 1.5, 2, 3, 4, 5, 6, 8) if high < 6 * low else (1, 2, 5) if high < 1e3 * low else (1,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _network(name: object) -> str:
    return name if isinstance(name, str) else "network of the file"


def write_figures(results: pd.DataFrame, folder: Path, *, energy: bool = False) -> list[Path]:
    """Write ``times-APP.png`` and ``.svg`` for every app; with ``energy`` also ``energy-APP`` and ``edp-APP``.

    An app without any known energy has no energy figures.  Return the paths of the files.
    """
    written = []
    for app in dict.fromkeys(results["app"]):
        rows = results[results["app"] == app]
        wanted = [TIMES]
        if energy:
            wanted += [one for one in (ENERGIES, DELAY_PRODUCTS) if rows[one.simulated].notna().any()]
        for quantity in wanted:
            figure = results_figure(results, app, quantity)
            for suffix in ("png", "svg"):
                path = folder / f"{quantity.name}-{app}.{suffix}"
                save_figure(figure, path, dpi=150)
                written.append(path)
    return written
