"""Figures 3 to 5 of the paper for measured blocks: points, and the fitted formulas of Table 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, in_order, lines_figure
from platforms.plotting.styles import RED, dots, line
from platforms.plotting.surface import Curve
from predictor.blocks.drawing import MEASURED, POWER, TIMES_BY_SIZE, broadcast_figure, wires
from predictor.blocks.drawing import write_figures as written
from predictor.blocks.measured.fitted import MeasuredModel, Samples
from predictor.blocks.published.formulas import REGRESSORS, VARIABLES, TableModel

_FORMULA, _NAME = line(RED), "formula of Table 1"


def write_measured_figures(made: MeasuredModel, samples: Samples, folder: Path, option: str) -> list[Path]:
    """Write compute (Figure 3), messages (Figure 4), bcast (Figure 5) and collectives, those that have samples.

    Raises:
        UserError: A file cannot be written.
    """
    figures: dict[str, Figure] = {}
    if made.compute is not None:
        figures["compute"] = _compute_figure(made, samples)
    if {"p2p", "barrier"} & made.lines.keys():
        figures["messages"] = _messages_figure(made, samples)
    if "bcast" in made.lines:
        figures["bcast"] = _bcast_figure(made, samples)
    if made.lines.keys() & VARIABLES.keys():
        figures["collectives"] = _collectives_figure(made, samples)
    return written(figures, folder, option)


def _compute_figure(made: MeasuredModel, samples: Samples) -> Figure:
    amounts, threads, time_s = samples.of("compute")
    amount, counts = float(np.median(amounts)), np.arange(1, int(threads.max()) + 1)
    times_ms, formula_ms = 1e3 * time_s / amounts * amount, 1e3 * np.asarray(made.model.compute_s(amount, counts))
    drawn = _beside(threads, times_ms, counts, formula_ms)
    title = f"{amount / 1e6:g} million operations per thread"
    charts = [Panel(title=title, drawn=drawn, legend={}, x="threads", y="time, ms")]
    busy, watts = samples.watts()
    if made.power is None:
        charts.append(Panel(empty="no power was measured"))
    else:
        active = np.arange(0, int(busy.max()) + 1)
        formula_w = TableModel(made.parameters, "printed").power_w(active)
        charts.append(Panel(title="Power", drawn=_beside(busy, watts, active, formula_w), legend={}, **POWER))
    return lines_figure(charts, 2, 10, 4, made.name)


def _messages_figure(made: MeasuredModel, samples: Samples) -> Figure:
    charts = [Panel(empty="not measured"), Panel(empty="not measured")]
    sizes, _, time_s = samples.of("p2p")
    if len(sizes):
        fine = np.geomspace(max(1.0, sizes.min()), max(2.0, sizes.max()), 1000)
        drawn = _beside(sizes, time_s, fine, made.model.communication_s("p2p", fine))
        charts[0] = Panel(title="Point-to-point", drawn=drawn, legend={}, **TIMES_BY_SIZE)
    _, processes, time_s = samples.of("barrier")
    if len(processes):
        counts = np.arange(2, int(processes.max()) + 1)
        formula_us = 1e6 * np.asarray(made.model.communication_s("barrier", 0, counts))
        drawn = _beside(processes, 1e6 * time_s, counts, formula_us)
        charts[1] = Panel(title="Barrier", drawn=drawn, legend={}, x="processes", y="time, us")
    return lines_figure(charts, 2, 10, 4, made.name)


def _bcast_figure(made: MeasuredModel, samples: Samples) -> Figure:
    sizes, processes, time_s = samples.of("bcast")
    x, y = np.meshgrid(np.unique(np.maximum(sizes, 1)), np.unique(processes))
    net = wires(x, y, np.asarray(made.model.communication_s("bcast", x, y)), RED)
    points = Curve(np.log10(np.maximum(sizes, 1)), processes, np.log10(time_s), dots("black", size=2))
    mapped = _over_the_variable(made, samples, "bcast")
    title = f"{made.name}: broadcast"
    return broadcast_figure(title, [net, points], mapped, said="black: measured; orange: Table 1")


def _collectives_figure(made: MeasuredModel, samples: Samples) -> Figure:
    charts = []
    for block, variable in VARIABLES.items():
        drawn = _over_the_variable(made, samples, block)
        labels: dict[str, Any] = (
            {"log": "xy", "x": f"{variable}, byte", "y": "time, s"} if drawn else {"empty": "not measured"}
        )
        charts.append(Panel(title=block, drawn=drawn, legend={"fontsize": 8}, **labels))
    return lines_figure(charts, 3, 14, 4.2, made.name)


def _over_the_variable(made: MeasuredModel, samples: Samples, block: str) -> list[Series]:
    """Return measured times and those of the formula over Table 1's factor of K."""
    sizes, processes, time_s = samples.of(block)
    if not len(sizes):
        return []
    x = REGRESSORS[block](sizes, processes, made.D_tu_bytes)
    formula = in_order(x, made.model.communication_s(block, sizes, processes), _FORMULA, _NAME)
    return [Series(x, time_s, MEASURED, "measured"), formula]


def _beside(x: Any, measured: Any, fine: Any, formula: Any) -> list[Series]:
    return [Series(x, measured, MEASURED, "measured"), Series(fine, formula, _FORMULA, _NAME)]
