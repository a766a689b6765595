"""Figures like the HCF paper's 3 to 5: predicted and simulated times over the scenarios, one figure per app.

The same of energies and energy-delay products.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from predictor.writing import save_figure
from validation.tables import truth_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; line styles and markers tell them apart in grey.
STYLES = (
    ("#D55E00", "s", "--"),
    ("#0072B2", "o", "-."),
    ("#009E73", "^", ":"),
    ("#CC79A7", "D", (0, (5, 1))),
    ("#E69F00", "v", (0, (3, 1, 1, 1))),
    ("#56B4E9", "P", (0, (1, 1))),
    ("#F0E442", "X", (0, (5, 1, 1, 1))),
)


@dataclass(frozen=True)
class Quantity:
    """Something that is predicted and simulated."""

    name: str  # of the file
    label: str  # of the axis, with the unit
    title: str  # follows the program and the network
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
    """Simulated values of ``app`` in black and each predictor's beside them, on a logarithmic axis.

    Predictors stand side by side within a scenario, so that equal predictions do not hide each other.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    rows = results[results["app"] == app]
    cases = rows.drop_duplicates(subset=["scenario", "network"])
    places = {(row.scenario, row.network): i for i, row in enumerate(cases.itertuples())}
    predictors = list(dict.fromkeys(rows["predictor"]))
    figure = Figure(figsize=(max(5.5, 2.8 + 0.9 * len(places)), 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.hlines(
        cases[quantity.simulated].astype(float), [i - 0.4 for i in range(len(cases))],
        [i + 0.4 for i in range(len(cases))], color="black", linewidth=3, label=truth_name(rows),
    )  # fmt: skip
    for number, name in enumerate(predictors):
        lines = rows[rows["predictor"] == name]
        color, marker, style = STYLES[number % len(STYLES)]
        offset = 0.6 * ((number + 0.5) / len(predictors) - 0.5)
        x = [offset + places[case] for case in zip(lines["scenario"], lines["network"], strict=True)]
        axes.plot(
            x, lines[quantity.predicted].astype(float), color=color, marker=marker, linestyle=style, linewidth=1,
            markersize=7, markeredgecolor="black", markeredgewidth=0.6, label=name,
        )  # fmt: skip
    ranks = cases["ranks"].to_list()
    axes.set_xticks(range(len(cases)), [f"{s}\n{p} ranks" for s, p in zip(cases["scenario"], ranks, strict=True)])
    axes.set_xlim(-0.6, len(cases) - 0.4)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel(quantity.label)
    networks = ", ".join(dict.fromkeys(str(name or "network of the file") for name in cases["network"]))
    preset = cases["class"].iloc[0]
    program = f"{app.upper()} class {preset}" if isinstance(preset, str) else app
    title = quantity.title.format(truth=truth_name(rows))
    axes.set_title(f"{program}, {networks}: {title}", fontsize=11)
    axes.grid(axis="y", which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def write_figures(results: pd.DataFrame, folder: Path, *, energy: bool = False) -> list[Path]:
    """``times-APP.png`` and ``.svg`` for every app in the results; with ``energy`` also ``energy-`` and ``edp-``.

    An app none of whose energies is known has no figure of them.
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
