"""The hierarchical model: computation and exchange over cores per node and over nodes, beside simulated runs."""

from __future__ import annotations

from collections.abc import Sequence

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.target import Target
from pictures.runs import SETTINGS, Case, case_of
from pictures.style import COMMUNICATION, COMPUTATION, GREEN, INK, NOTE, card, percent, plain_log
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.plotting.charts import Axes, Figure
from platforms.read.read import materialise

TITLE = "The hierarchical model: computation, exchange and their sum over cores per node and over nodes"
NODES, CORES = (2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16)
FIXED_NODES = 8


def draw(runner: Runner) -> Figure:
    """Return the picture for FT and CG, class A, on bwUniCluster."""
    figure = card(4.0)
    left, right = figure.subplots(1, 2, sharey=True)
    _draw(left, _cases(runner, "ft", [(FIXED_NODES, q) for q in CORES]), CORES)
    left.set_title(f"FT, class A: {FIXED_NODES} nodes of q cores")
    left.set_xlabel("cores per node q (logarithmic)", loc="left")
    left.set_ylabel("time, s (logarithmic)")
    _draw(right, _cases(runner, "cg", [(p, 1) for p in NODES]), NODES)
    right.set_title("CG, class A: p nodes of one core")
    right.set_xlabel("nodes p (logarithmic)", loc="left")
    left.legend(loc="lower left")
    return figure


def _cases(runner: Runner, app: str, shapes: Sequence[tuple[int, int]]) -> list[Case]:
    """Return the kernel on p nodes with q ranks each, for each (p, q)."""
    platform = materialise(named_grid("bwUniCluster"))
    targets = [Target(problem(app, "A"), platform, block(platform, p * q, q)) for p, q in shapes]
    runner.start(SETTINGS.spec(target) for target in targets)
    return [case_of(runner, ("hierarchical",), target) for target in targets]


def _draw(axes: Axes, cases: Sequence[Case], numbers: Sequence[int]) -> None:
    made = [one.predictions["hierarchical"] for one in cases]
    compute_s, comm_s = ([one.parts[part] for one in made] for part in ("compute_s", "comm_s"))
    axes.plot(numbers, compute_s, color=COMPUTATION, label="computation, (#op / p) / l_m(q)")
    axes.plot(numbers, comm_s, color=COMMUNICATION, label="exchange: #x / b_cl(q, p), latency")
    axes.plot(numbers, [one.time_s for one in made], color=GREEN, linewidth=2.2, label="(3): their sum")
    true_s = [one.truth.time_s for one in cases]
    axes.plot(numbers, true_s, "D", color="white", markeredgecolor=INK, markersize=7, label="simulated")
    for number, one in ((numbers[0], cases[0]), (numbers[-1], cases[-1])):
        axes.annotate(
            percent(one.error_pct("hierarchical")), (number, one.truth.time_s), xytext=(7, 5),
            textcoords="offset points", fontsize=NOTE,
        )  # fmt: skip
    plain_log(axes, "x", list(numbers))
    plain_log(axes, "y", [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3])
    axes.set_xlim(numbers[0] * 0.85, numbers[-1] * 2.1)
    axes.grid(axis="y")
