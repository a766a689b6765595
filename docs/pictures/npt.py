"""NP-T models: one equation in N and P for each cluster, fitted to runs of smaller sizes on that cluster alone."""

from __future__ import annotations

import numpy as np

from apps.programs.problem import sized_problem
from apps.runs.runner import Runner
from pictures.runs import Case, case_of, target_on
from pictures.style import BLUE, GREEN, INK, NOTE, PURPLE, RED, card, percent, plain_log
from platforms.plotting.charts import Axes, Figure
from predictor.npt.curves import Curves
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.predictor import NPT, Part, parts
from predictor.npt.smaller import comparable_time_s, program_equations

TITLE = "NP-T models: measured times and fitted curves over the size, and the times of all clusters over the processes"
SIZE = 256


def draw(runner: Runner) -> Figure:
    """Return the picture for Himeno with N = 256 on the 32 nodes of the scenario ichikawa."""
    made = case_of(runner, ("npt",), target_on(sized_problem("himeno", SIZE), "ichikawa"))
    names = [cluster.name for cluster in made.target.platform.clusters]
    found = {names[part.cluster]: part for part in parts(made.target)}
    slowest = max(found, key=lambda name: made.predictions["npt"].parts[f"T_{name}_s"])
    figure = card(4.1)
    left, right = figure.subplots(1, 2)
    _draw_sizes(left, made, slowest, found[slowest])
    _draw_processes(right, made, found)
    return figure


def _measured(made: Case, part: Part) -> list[Measurement]:
    """Return the runs on a cluster alone."""
    answers = {one.request: one for one in made.evidence["npt"]}
    return [
        Measurement(run.configuration, run.N, comparable_time_s(answers[run.request], made.target))
        for run in NPT.runs(made.target, part)
    ]


def _curves(made: Case, part: Part) -> Curves:
    equations = program_equations(made.target.problem)
    found = fit_models(Measurements.of(_measured(made, part)), equations, form="npt", method="nnls").curves
    if found is None:
        raise ValueError("no curves were fitted")
    return found


def _time_s(curves: Curves, size: float, processes: int) -> float:
    return float(curves.times_s(size, np.array([processes]))[0, 0])


def _draw_sizes(axes: Axes, made: Case, name: str, part: Part) -> None:
    """Draw measured times and fitted curves over N on one cluster, for each P."""
    measured, curves = _measured(made, part), _curves(made, part)
    numbers = sorted({one.configuration.total for one in measured})
    shown = [numbers[0], numbers[len(numbers) // 2], numbers[-1]]
    sizes = np.linspace(min(one.size for one in measured), SIZE, 40)
    for P, color in zip((*shown, made.target.nranks), (BLUE, GREEN, PURPLE, INK), strict=True):
        axes.plot(sizes, [_time_s(curves, N, P) for N in sizes], color=color, linewidth=1.6)
        own = [one for one in measured if one.configuration.total == P]
        axes.plot([one.size for one in own], [one.time_s for one in own], "o", color=color, markersize=6)
        axes.annotate(
            f"P = {P}", (SIZE, _time_s(curves, SIZE, P)), xytext=(6, 0), textcoords="offset points", va="center",
            color=color, fontsize=NOTE,
        )  # fmt: skip
    axes.plot([SIZE], [made.truth.time_s], "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
    axes.axvline(max(one.size for one in measured), color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    plain_log(axes, "y", [0.1, 1, 10, 100])
    axes.set_xlabel("size N")
    axes.set_ylabel("time T_i, s (logarithmic)")
    axes.set_title(f"Cluster {name} alone: runs (points) and fitted curves", fontsize=10)
    axes.set_xlim(sizes[0] - 5, SIZE + 55)
    axes.grid()


def _draw_processes(axes: Axes, made: Case, found: dict[str, Part]) -> None:
    """Draw the fitted times of every cluster over P at the target's size."""
    P = np.arange(2, made.target.nranks + 1)
    for (name, part), color in zip(found.items(), (RED, GREEN, PURPLE), strict=False):
        curves = _curves(made, part)
        times_s = [_time_s(curves, SIZE, int(one)) for one in P]
        axes.plot(P, times_s, color=color, linewidth=1.8)
        axes.annotate(name, (P[-1], times_s[-1]), xytext=(7, 0), textcoords="offset points", va="center", color=color,
                      fontsize=NOTE)  # fmt: skip
    true_s, predicted_s = made.truth.time_s, made.predictions["npt"].time_s
    axes.plot([P[-1]], [true_s], "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
    text = f"T = max T_i = {predicted_s:.2f} s\nsimulated: {true_s:.2f} s ({percent(made.error_pct('npt'))})"
    axes.text(0.97, 0.96, text, transform=axes.transAxes, ha="right", va="top", fontsize=NOTE)
    plain_log(axes, "x", [2, 4, 8, 16, 32])
    axes.set_xlim(1.9, 110)
    plain_log(axes, "y", [5, 10, 20, 50, 100, 200])
    axes.spines["bottom"].set_bounds(1.9, 34)
    axes.set_xlabel("processes P (logarithmic)", loc="left")
    axes.set_title(f"T_i of every cluster at N = {SIZE}", fontsize=10)
    axes.grid(axis="y")
