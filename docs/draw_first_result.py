"""Draw docs/first-result.svg: predicted against simulated times of CG, MG and LU on the 32 nodes of grid4x8.

Usage: python docs/draw_first_result.py

The times are those of `gridval run --scenario grid4x8 --predictor structural,hcf:constant,hcf`.  Running
the script again changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "docs")) if path not in sys.path]

from pictures.runs import Case, case, open_runner  # noqa: E402 (found by the line above)
from pictures.style import BLUE, GREEN, INK, RED, card, percent, plain_log, seconds, style, svg  # noqa: E402

from platforms.plotting.charts import Axes, Figure  # noqa: E402

PICTURE = ROOT / "docs" / "first-result.svg"
APPS = ("cg", "mg", "lu")
PREDICTORS = {"structural": GREEN, "hcf:constant": BLUE, "hcf": RED}
TITLE = "Predicted against simulated times of CG, MG and LU, class B, on the 32 nodes of grid4x8"


def cases() -> list[Case]:
    """Return the three programs, predicted and simulated."""
    with open_runner() as runner:
        return [case(runner, tuple(PREDICTORS), app) for app in APPS]


def label(made: Case, name: str) -> str:
    """Return the text beside the point of a predictor."""
    return f"{name}: {seconds(made.predictions[name].time_s)}, {percent(made.error_pct(name))}"


def truth_label(made: Case) -> str:
    """Return the text at the line of the simulated time."""
    return f"{made.target.problem.name.upper()}: simulated {seconds(made.truth.time_s)}"


def _panel(axes: Axes, made: Case) -> None:
    true_s = made.truth.time_s
    axes.axvline(true_s, color=INK, linewidth=1.6, zorder=1)
    names = sorted(PREDICTORS, key=lambda name: abs(made.error_pct(name)))
    for row, name in enumerate(names):
        time_s, color = made.predictions[name].time_s, PREDICTORS[name]
        axes.plot([true_s, time_s], [row, row], color=color, linewidth=2.2, solid_capstyle="butt", zorder=2)
        axes.plot([time_s], [row], "o", color=color, markersize=9, markeredgecolor="white", zorder=3)
        axes.annotate(
            label(made, name), (max(time_s, true_s), row), xytext=(9, 0), textcoords="offset points", va="center"
        )
    axes.annotate(
        truth_label(made), (true_s, 0), xytext=(-9, 0), textcoords="offset points", ha="right", va="center",
        fontweight="bold",
    )  # fmt: skip
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def drawing(made: Sequence[Case]) -> Figure:
    """Return the picture: a panel for each program, its predictors sorted by error, on one axis of time."""
    figure = card(4.7)
    panels = figure.subplots(len(made), sharex=True)
    for axes, one in zip(panels, made, strict=True):
        _panel(axes, one)
        axes.tick_params(axis="x", length=0)
    plain_log(panels[-1], "x", [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
    panels[-1].set_xlim(0.25, 2200)
    panels[-1].set_xlabel("run time, s (logarithmic)")
    figure.suptitle("Class B on the 32 nodes of grid4x8: predicted (points) and simulated (lines)", fontsize=11, x=0.02,
                    ha="left")  # fmt: skip
    return figure


def main() -> None:
    """Write the picture."""
    with style():
        PICTURE.write_text(svg(drawing(cases()), TITLE), "utf-8")


if __name__ == "__main__":
    main()
