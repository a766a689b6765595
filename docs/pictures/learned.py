"""Learned programs: times on more ranks than were recorded, beside simulated ones."""

from __future__ import annotations

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.target import Target
from pictures.runs import SETTINGS, Case, case_of
from pictures.style import BLUE, GREY, INK, NOTE, card, percent, plain_log
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.plotting.charts import Axes, Figure
from platforms.read.read import materialise

TITLE = "Learned programs: times on numbers of ranks that were never recorded, beside simulated times"
RECORDED, PREDICTED = (4, 8, 16, 32), (64, 128, 256)
_PER_NODE = 4


def draw(runner: Runner) -> Figure:
    """Return the picture for CG and FT, class A, on bwUniCluster with 4 ranks per node."""
    figure = card(3.2)
    for axes, app in zip(figure.subplots(1, 2), ("cg", "ft"), strict=True):
        _draw(axes, runner, app)
    return figure


def _cases(runner: Runner, app: str) -> list[Case]:
    platform = materialise(named_grid("bwUniCluster"))
    counts = PREDICTED if app == "cg" else PREDICTED[:2]
    targets = [Target(problem(app, "A"), platform, block(platform, count, _PER_NODE)) for count in counts]
    runner.start(SETTINGS.spec(target) for target in targets)
    return [case_of(runner, ("learned:known",), target) for target in targets]


def _draw(axes: Axes, runner: Runner, app: str) -> None:
    cases = _cases(runner, app)
    counts = [made.target.nranks for made in cases]
    times_s = [made.predictions["learned:known"].time_s for made in cases]
    axes.plot(counts, times_s, color=BLUE, linewidth=2.2, label="learned and evaluated")
    true_s = [made.truth.time_s for made in cases]
    axes.plot(counts, true_s, "D", color="white", markeredgecolor=INK, markersize=7, label="simulated")
    for made in cases:
        at = made.target.nranks, made.truth.time_s
        axes.annotate(
            percent(made.error_pct("learned:known")), at, xytext=(0, 9), textcoords="offset points", fontsize=NOTE
        )
    base_s = 0.0
    axes.plot(RECORDED, [base_s] * len(RECORDED), "s", color=GREY, clip_on=False, label="recorded (no time)")
    axes.set_ylim(base_s, 1.45 * max(true_s))
    plain_log(axes, "x", [*RECORDED, *counts])
    axes.set_title(f"{app.upper()}, class A")
    axes.set_xlabel("ranks (logarithmic)", loc="left")
    axes.set_ylabel("time, s")
    axes.legend(loc="upper left")
