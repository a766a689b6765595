"""Figures like the HCF paper's 3 to 5: predicted and simulated times over the scenarios, one figure per app."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from validation.tables import truth_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; line styles and markers tell them apart in grey.
_STYLES = (
    ("#D55E00", "s", "--"),
    ("#0072B2", "o", "-."),
    ("#009E73", "^", ":"),
    ("#CC79A7", "D", (0, (5, 1))),
    ("#E69F00", "v", (0, (3, 1, 1, 1))),
    ("#56B4E9", "P", (0, (1, 1))),
    ("#F0E442", "X", (0, (5, 1, 1, 1))),
)


def times_figure(results: pd.DataFrame, app: str) -> Figure:
    """Simulated times of ``app`` in black and each predictor's times beside them, in seconds on a logarithmic axis.

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
        cases["simulated_s"], [i - 0.4 for i in range(len(cases))], [i + 0.4 for i in range(len(cases))], color="black",
        linewidth=3, label=truth_name(rows),
    )  # fmt: skip
    for number, name in enumerate(predictors):
        lines = rows[rows["predictor"] == name]
        color, marker, style = _STYLES[number % len(_STYLES)]
        offset = 0.6 * ((number + 0.5) / len(predictors) - 0.5)
        x = [offset + places[case] for case in zip(lines["scenario"], lines["network"], strict=True)]
        axes.plot(
            x, lines["predicted_s"], color=color, marker=marker, linestyle=style, linewidth=1, markersize=7,
            markeredgecolor="black", markeredgewidth=0.6, label=name,
        )  # fmt: skip
    ranks = cases["ranks"].to_list()
    axes.set_xticks(range(len(cases)), [f"{s}\n{p} ranks" for s, p in zip(cases["scenario"], ranks, strict=True)])
    axes.set_xlim(-0.6, len(cases) - 0.4)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("execution time, s")
    networks = ", ".join(dict.fromkeys(str(name or "network of the file") for name in cases["network"]))
    preset = cases["class"].iloc[0]
    program = f"{app.upper()} class {preset}" if isinstance(preset, str) else app
    axes.set_title(f"{program}, {networks}: predicted and {truth_name(rows)}", fontsize=11)
    axes.grid(axis="y", which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def write_figures(results: pd.DataFrame, folder: Path) -> list[Path]:
    """``times-APP.png`` and ``.svg`` for every app in the results."""
    written = []
    for app in dict.fromkeys(results["app"]):
        figure = times_figure(results, app)
        for suffix in ("png", "svg"):
            path = folder / f"times-{app}.{suffix}"
            figure.savefig(path, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
            written.append(path)
    return written
