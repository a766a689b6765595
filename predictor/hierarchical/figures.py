"""The paper's surfaces, redrawn from the model: speed-up over cores per node and nodes.

The slides give neither the ranges nor, for most figures, the sizes; the ranges and sizes here are this project's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.files.writing import usable_folder, written_into
from platforms.plotting.charts import Figure, new_figure, write_figures
from platforms.plotting.lines import Panel as Chart
from platforms.plotting.lines import Series, draw
from platforms.plotting.pictures import write_picture
from platforms.plotting.styles import BLUE, RED, dots, line
from platforms.plotting.surface import Curve, Surface, draw_surfaces
from predictor.hierarchical.applications import application, printed_equations
from predictor.hierarchical.model import (
    DERIVED,
    PRINTED,
    VARIANTS,
    Beta,
    hockney,
    node_efficiency,
    node_performance,
    overlap,
)
from predictor.hierarchical.multicore_cluster import paper_cluster
from predictor.hierarchical.surface import Surface as SpeedUps
from predictor.hierarchical.surface import cores_optimum, general, nodes_optimum

if TYPE_CHECKING:
    from predictor.hierarchical.answer import AllocationAnswer

# n by equation; only the sizes of (6) are the paper's.
SIZES = {6: (10**6, 10**7), 7: (2_000, 10_000), 8: (10_000, 40_000), 9: (2_000, 20_000)}
_MOST_NODES = 64
AXES: dict[str, Any] = {"x": "cores per node q", "y": "nodes p", "z": "speed-up S"}
Mark = tuple[str, str, int, int]
_GENERAL = {"x": 100.0, "v": 0.25, "c": 400.0}  # v is the paper's; x and c(x) put the optima inside the figure
MOST_POINTS = 200  # along an axis of a figure


@dataclass(frozen=True)
class Panel:
    """A surface with its title and ranges."""

    title: str
    surface: SpeedUps
    cores: int
    nodes: int


def surfaces_figure(panels: Sequence[Panel], *, columns: int = 2, marks: Sequence[Mark] = ()) -> Figure:
    """Draw speed-ups as surfaces, with q_E(p) in red and p_E(q) in blue where they lie inside.

    Args:
        panels: The surfaces.
        columns: Number of panels side by side.
        marks: Points to mark on every surface: (label, colour, q, p).
    """
    rows, columns = -(-len(panels) // columns), min(columns, len(panels))
    figure = new_figure(5.6 * columns, 4.6 * rows)
    for place, panel in enumerate(panels, 1):
        draw_surfaces(figure, (rows, columns, place), list(_drawn(panel, marks)), title=panel.title, **AXES)
    return figure


def _drawn(panel: Panel, marks: Sequence[Mark]) -> Iterator[Surface | Curve]:
    """Yield the surface of a panel, its optima and its marks."""
    q, p = _steps(panel.cores), _steps(panel.nodes)
    speedups = panel.surface.speedup(q[None, :], p[:, None])
    # A program that runs on powers of two alone has no speed-up on other numbers.
    runs_q, runs_p = (speedups > 0).any(axis=0), (speedups > 0).any(axis=1)
    q, p, speedups = q[runs_q], p[runs_p], speedups[np.ix_(runs_p, runs_q)]
    x, y = np.meshgrid(q, p)
    yield Surface(x=x, y=y, z=speedups)
    along_p = [(value, p_i) for p_i in p if (value := cores_optimum(panel.surface, p_i).value) is not None]
    along_q = [(q_i, value) for q_i in q if (value := nodes_optimum(panel.surface, q_i).value) is not None]
    for curve, color, label in ((along_p, RED, "q_E(p)"), (along_q, BLUE, "p_E(q)")):
        inside = [(a, b) for a, b in curve if a <= panel.cores and b <= panel.nodes]
        if inside:
            a, b = np.array(inside).T
            yield Curve(a, b, panel.surface.speedup(a, b), line(color, width=2), label)
    for label, color, most_q, most_p in marks:
        yield Curve([most_q], [most_p], [panel.surface.speedup(most_q, most_p)], dots(color, size=6), label)


def _steps(most: int) -> np.ndarray:
    return np.unique(np.linspace(1, most, min(most, MOST_POINTS)).round()).astype(float)


def node_figure() -> Figure:
    """Draw the two figures of a single node: l_m(q) for l_c = 0.5 Gflop/s and x = 20, and eta_m(x, q)."""
    figure = new_figure(11.2, 4.2)
    q = np.arange(1, 65)
    roofs = (("s(z) = z / (1 + z)", "-", hockney), ("s(z) = min(1, z)", "--", overlap))
    drawn = [Series(q, node_performance(q, 20.0, 0.5, s), line(BLUE, dash), label) for label, dash, s in roofs]
    drawn.append(Series(q, 0.5 * q, line("0.5", ":"), "q l_c"))
    roofline = Chart(
        title="l_c = 0.5 Gflop/s, x = 20",
        x="cores q",
        y="performance l_m, Gflop/s",
        y_ends=(0, 14),
        drawn=drawn,
        legend={},
    )
    draw(figure.add_subplot(1, 2, 1), roofline)
    x, cores = np.meshgrid(np.linspace(1, 100, 60), np.arange(1, 17))
    surface, labels = (
        Surface(x=x, y=cores, z=node_efficiency(x, cores)),
        ("operational intensity x", "cores q", "efficiency"),
    )
    axes = draw_surfaces(
        figure, (1, 2, 2), [surface], title="eta_m(x, q)", **dict(zip("xyz", labels, strict=True)), from_deg=(25, -60)
    )
    axes.set_yticks((4, 8, 12, 16))
    return figure


def general_figure(d: str) -> Figure:
    """Draw S for beta_0 = 1 and d(p), with eq. (5) as printed and as it follows from the definitions."""
    values = ", ".join(f"{name} = {value:g}" for name, value in _GENERAL.items())
    panels = []
    for variant in VARIANTS:
        x, v, c = _GENERAL["x"], _GENERAL["v"], _GENERAL["c"]
        surface = general(x, v, c=c, d=d, beta=Beta().polynomial, printed=variant == PRINTED)
        panels.append(Panel(f"{variant}: beta(q, p) = 1/q, d(p) = {d}\n{values}", surface, 16, _MOST_NODES))
    return surfaces_figure(panels)


def equation_figure(number: int) -> Figure:
    """Draw S of one of eq. (6) to (9) for two sizes, printed and derived, or once where both are equal."""
    equation = next(equation for equation in printed_equations() if equation.number == number)
    system, program = paper_cluster(equation.system), application(equation.app)
    panels = []
    for n in SIZES[number]:
        surfaces = {variant: program.surface(n, system, variant=variant) for variant in VARIANTS}
        points = np.arange(1, system.cores + 1)[:, None], np.arange(1, _MOST_NODES + 1)
        equal = np.allclose(surfaces[PRINTED].speedup(*points), surfaces[DERIVED].speedup(*points), rtol=1e-12, atol=0)
        for variant in (DERIVED,) if equal else VARIANTS:
            which = "printed = derived" if equal else variant
            title = f"eq. ({number}), {which}: {program.name} on {system.name}, n = {n:,}"
            panels.append(Panel(title, surfaces[variant], system.cores, _MOST_NODES))
    return surfaces_figure(panels)


def write_paper_figures(folder: str) -> list[Path]:
    """Write all figures of the paper as PNG files and return their paths.

    Raises:
        UserError: The folder cannot be written.
    """
    drawn: dict[str, Callable[[], Figure]] = {
        "node": node_figure,
        "general-p": lambda: general_figure("p"),
        "general-sqrt-p": lambda: general_figure("sqrt(p)"),
        "general-log2-p": lambda: general_figure("log2(p)"),
        **{f"equation-{number}": partial(equation_figure, number) for number in SIZES},
    }
    place = usable_folder("--figures", folder)
    with written_into("--figures", folder):
        return write_figures({name: draw() for name, draw in drawn.items()}, place, ("png",), dpi=110)


def draw_answer(made: AllocationAnswer, surface: SpeedUps, path: str) -> None:
    """Draw the surface of an answer, with the allocation in question, the best and the smallest one.

    Raises:
        UserError: The file cannot be written.
    """
    question = made.question
    size = f"n = {question.n:,}" if question.n is not None else f"class {question.preset}"
    nodes = question.most_nodes or question.system.nodes
    title = f"{question.app}, {size}, on {question.system.name}\n{made.equation}"
    marks = [
        (f"best, S = {made.best.speedup:.4g}", "#CC79A7", made.best.cores_per_node, made.best.nodes),
        (f"smallest, S = {made.smallest.speedup:.4g}", "#009E73", made.smallest.cores_per_node, made.smallest.nodes),
    ]
    if made.asked != made.best:
        marks.insert(0, (f"asked, S = {made.asked.speedup:.4g}", "black", made.asked.cores_per_node, made.asked.nodes))
    figure = surfaces_figure([Panel(title, surface, question.system.cores, nodes)], marks=marks)
    write_picture("--figure", path, figure, dpi=110)
