"""Laws in the number of ranks: communication of hcf:nnls, the three baselines, and Extra-P."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from apps.runs.runner import Runner
from pictures.runs import Case, case
from pictures.style import BLUE, GREEN, INK, NOTE, PALE, PURPLE, RED, card, percent, plain_log
from platforms.plotting.charts import Axes, Figure
from predictor.base import Evidence
from predictor.extrap import process
from predictor.hcf import communication_time, read_probe
from predictor.regression.fits import AMDAHL, fit_combination, fit_log_line, fit_power_law
from predictor.regression.hcf_terms import HCF_NNLS

APPS = ("mg", "cg")
LEFT, RIGHT = 3.4, 36.0  # of the axis of ranks
RANKS = np.geomspace(LEFT, RIGHT, 60)
LIMITS = {"mg": (2.0, 7.5), "cg": (10.0, 45.0)}  # step and end of the axis of run times, s


def _panels(runner: Runner, names: Sequence[str], height_in: float) -> tuple[Figure, list[tuple[Axes, Case]]]:
    """Return a figure with a panel for MG and one for CG, class B, on grid4x8 with gigabit Ethernet."""
    figure = card(height_in)
    cases = [case(runner, names, app) for app in APPS]
    return figure, list(zip(figure.subplots(1, len(cases)), cases, strict=True))


def _points(axes: Axes, runs: Sequence[Evidence], values: Sequence[float]) -> None:
    axes.plot([run.record.ranks for run in runs], values, "o", color=INK, markersize=7, zorder=5, label="smaller runs")


def _finish(axes: Axes, made: Case, step: float, top: float) -> None:
    """Set axes that end at the target's ranks, with room for names to the right of them."""
    plain_log(axes, "x", [4, 8, 16, 32])
    ticks = np.arange(0, top, step)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.hlines(ticks, LEFT, RIGHT, color=PALE, linewidth=0.8, zorder=0)
    axes.set_ylim(0, top)
    axes.set_xlim(LEFT, 250)
    axes.spines["bottom"].set_bounds(LEFT, RIGHT)
    axes.set_xlabel("ranks P (logarithmic)", loc="left")
    axes.set_title(f"{made.target.problem.name.upper()}, class {made.target.problem.label}")


def _spread(values: Sequence[float], least: float) -> list[float]:
    """Return the heights of labels near these values, at least ``least`` apart."""
    order = np.argsort(values)
    placed = np.array(values, float)
    for _ in range(50):
        for low, high in pairwise(order):
            if (lacking := least - (placed[high] - placed[low])) > 0:
                placed[low] -= lacking / 2
                placed[high] += lacking / 2
    return placed.tolist()


def _name_ends(axes: Axes, ends: Sequence[tuple[str, float, str]], nranks: int, top: float) -> None:
    """Write the names beside the values at the target's number of ranks, and lead lines from the points to them."""
    inside = [min(value, 0.93 * top) for _, value, _ in ends]
    for (text, value, color), height in zip(ends, _spread(inside, 0.062 * top), strict=True):
        axes.annotate(
            text, (nranks, min(value, top)), xytext=(43, height), va="center", fontsize=NOTE, color=color,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 5},
            annotation_clip=False,
        )  # fmt: skip


def draw_nnls(runner: Runner) -> Figure:
    """Return the picture of hcf:nnls: communication over the number of ranks."""
    figure, panels = _panels(runner, ("hcf:nnls", "hcf", "hcf:constant"), 3.9)
    for (axes, made), top, step in zip(panels, (9.0, 60.0), (2.0, 10.0), strict=True):
        answers = {one.request: one for one in made.evidence["hcf:nnls"]}
        runs = [answers[request] for request in HCF_NNLS.runs(made.target)]
        probe = read_probe(made.evidence["hcf"][0])
        times_s = [read_probe(run).Tcm_s for run in runs]
        law = fit_combination([run.record.ranks for run in runs], times_s)
        nranks = made.target.nranks
        axes.plot(RANKS, [communication_time(probe.Tcm_s, probe.NCT, P) for P in RANKS], "--", color=RED)
        axes.plot(RANKS, [probe.Tcm_s for _ in RANKS], "--", color=BLUE)
        axes.plot(RANKS, [sum(law.parts(P).values()) for P in RANKS], color=GREEN, linewidth=2)
        _points(axes, runs, times_s)
        true_s = made.truth.time_s - max(made.truth.compute_s)
        axes.plot([nranks], [true_s], "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
        ends = [
            (f"simulated: {true_s:.1f} s", true_s, INK),
            (f"fitted: {made.predictions['hcf:nnls'].parts['comm_s']:.1f} s",
             made.predictions["hcf:nnls"].parts["comm_s"], GREEN),
            (f"hcf:constant: {probe.Tcm_s:.1f} s", probe.Tcm_s, BLUE),
        ]  # fmt: skip
        _name_ends(axes, ends, nranks, top)
        end_s = communication_time(probe.Tcm_s, probe.NCT, nranks)
        text = {"transform": axes.transAxes, "fontsize": NOTE}
        axes.text(0.33, 0.98, f"hcf, (7): {end_s:.0f} s on {nranks} ranks", color=RED, va="top", **text)
        axes.text(0.03, 0.04, f"fitted: {law}", color=GREEN, **text)
        _finish(axes, made, step, top)
    panels[0][0].set_ylabel("communication T_cm, s")
    panels[0][0].legend(loc="upper right", bbox_to_anchor=(1, 0.92))
    return figure


def _draw_laws(
    panels: Sequence[tuple[Axes, Case]],
    laws: Callable[[Case], Sequence[tuple[str, str, Sequence[float], Callable[[float], float]]]],
    first: str,
) -> None:
    """Draw laws through the smaller runs of the predictor ``first``, and the target's simulated time."""
    for axes, made in panels:
        step, top = LIMITS[made.target.problem.name]
        runs = made.evidence[first]
        true_s, nranks = made.truth.time_s, made.target.nranks
        ends = [(f"simulated: {true_s:.3g} s", true_s, INK)]
        for name, color, where, law in laws(made):
            values = [law(P) for P in where]
            axes.plot(where, values, color=color, linewidth=1.8)
            time_s = made.predictions[name].time_s
            axes.plot([nranks], [time_s], "o", color=color, markersize=6, zorder=4)
            ends.append((f"{name}: {percent(made.error_pct(name))}", time_s, color))
        _points(axes, runs, [run.record.time_s for run in runs])
        axes.plot([nranks], [true_s], "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
        _name_ends(axes, ends, nranks, top)
        _finish(axes, made, step, top)
    panels[0][0].set_ylabel("run time T, s")
    panels[0][0].legend(loc="upper right")


def draw_regression(runner: Runner) -> Figure:
    """Return the picture of the three laws."""
    colors = {"fit:loglinear": RED, "fit:amdahl": GREEN, "fit:log": PURPLE}

    def laws(made: Case) -> list[tuple[str, str, Sequence[float], Callable[[float], float]]]:
        runs = made.evidence["fit:amdahl"]
        ranks, times_s = [run.record.ranks for run in runs], [run.record.time_s for run in runs]
        fitted = {
            "fit:loglinear": fit_power_law(ranks, times_s),
            "fit:amdahl": fit_combination(ranks, times_s, AMDAHL),
            "fit:log": fit_log_line(ranks, times_s),
        }
        return [
            (name, colors[name], RANKS, lambda P, law=law: sum(law.parts(P).values())) for name, law in fitted.items()
        ]

    figure, panels = _panels(runner, tuple(colors), 3.9)
    _draw_laws(panels, laws, "fit:amdahl")
    return figure


def draw_extrap(runner: Runner) -> Figure:
    """Return the picture of the models that Extra-P finds."""
    colors = {"extrap": GREEN, "extrap:effort": BLUE, "extrap:default": RED}
    where = np.geomspace(4, 32, 13)

    def laws(made: Case) -> list[tuple[str, str, Sequence[float], Callable[[float], float]]]:
        runs = made.evidence["extrap"]
        ranks, times_s = [run.record.ranks for run in runs], [run.record.time_s for run in runs]

        def law(name: str) -> Callable[[float], float]:
            effort, negative = name == "extrap:effort", name == "extrap"
            values = [P * time_s for P, time_s in zip(ranks, times_s, strict=True)] if effort else times_s
            return lambda P: (
                process.model(ranks, values, at=P, negative_exponents=negative).value / (P if effort else 1)
            )

        return [(name, color, where, law(name)) for name, color in colors.items()]

    figure, panels = _panels(runner, tuple(colors), 3.9)
    _draw_laws(panels, laws, "extrap")
    return figure
