"""The method of Li, Wang and Gaudiot: lines of messages, and sums of segments and messages over the nodes."""

from __future__ import annotations

import numpy as np

from apps.recording.events import Mode
from apps.runs.runner import Runner
from pictures.runs import Case, case
from pictures.style import BLUE, COMPUTATION, GREEN, INK, NOTE, ORANGE, RED, card, percent, plain_log
from platforms.plotting.charts import Axes, Figure
from predictor.base import Evidence
from predictor.graph.li_predictor import communication, message_plan, recorded_counts, send_models
from predictor.graph.scaling import Process, ScaledProcess, work_of
from predictor.sends import tables
from predictor.sends.send_model import SendModel, Side

TITLE = "The method of Li, Wang and Gaudiot: fitted lines of messages; sums of segments and messages over the nodes"
NODES = 16
_MILLI, _MEGA = 1e-3, 1e6


def draw(runner: Runner) -> Figure:
    """Return the picture for IS, class A, on the 16 nodes of li-1."""
    made = case(runner, ("dpgraph:li", "dpgraph:li-duplex"), "is", preset="A", scenario="li-1", network=None)
    messages = next(e for e in made.evidence["dpgraph:li"] if e.request.kind == "exchange")
    (model,) = send_models(made.target, messages.measurement).values()
    figure = card(4.0)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.35))
    _draw_lines(left, made, messages, model)
    _draw_sums(right, made, model)
    return figure


def _draw_lines(axes: Axes, made: Case, messages: Evidence, model: SendModel) -> None:
    """Draw the measured times of messages of the paper's sizes, and the lines through them."""
    sizes = np.array(tables.sizes_bytes(), float)
    times = messages.measurement.times_s
    if len(times) != len(message_plan(made.target).experiments):
        raise ValueError("these are not the messages of the plan")
    there_and_back, sends = times[1 : 1 + len(sizes)], times[1 + len(sizes) : 1 + 2 * len(sizes)]
    measured_s = {
        Side.RECEIVER: [one[0] / 2 for one in there_and_back],
        Side.SENDER: [one[0] for one in sends],
    }
    for side, color, marker in ((Side.RECEIVER, INK, "o"), (Side.SENDER, RED, "x")):
        line = model.line(Mode.STANDARD, side)
        axes.plot(sizes / _MEGA, np.array(measured_s[side]) / _MILLI, marker, color=color, label=str(side.value))
        ends = np.array([0, 1.05 * sizes[-1]])
        axes.plot(ends / _MEGA, [line.time_s(end) / _MILLI for end in ends], color=color, linewidth=1.2)
    line = model.line(Mode.STANDARD, Side.RECEIVER)
    slope, start_s = (line.time_s(_MEGA) - line.time_s(0)) * 1e3, line.time_s(0)
    axes.text(0.97, 0.06, f"receiver: c = {slope:.1f} ns/byte,\nk_l = {start_s * 1e6:.0f} µs", fontsize=NOTE,
              transform=axes.transAxes, ha="right")  # fmt: skip
    axes.set_xlim(0, 1.05 * sizes[-1] / _MEGA)
    axes.set_ylim(0, None)
    axes.set_xlabel("length of a message, MB")
    axes.set_ylabel("time of the process, ms")
    axes.set_title("A message: c n + k_l")
    axes.legend(loc="upper left")
    axes.grid()


def _draw_sums(axes: Axes, made: Case, model: SendModel) -> None:
    """Draw computation and communication of the process that decides, recorded and fitted over the nodes."""
    target = made.target
    s_per_flop = 1 / target.platform.host(target.placement[0]).speed_flops

    def parts_s(process: Process, *, duplex: bool = False) -> tuple[float, float]:
        return process.flops * s_per_flop, communication(process, model, duplex=duplex).time_s

    recordings = {
        len(e.request.target.placement): e.recording
        for e in made.evidence["dpgraph:li"]
        if e.request.kind == "recording"
    }
    works = {P: work_of(recordings[P], target.iterations) for P in recorded_counts(target.problem, target.nranks)}
    chosen = {P: max(work.processes, key=lambda one: sum(parts_s(one))) for P, work in works.items()}
    scaled = ScaledProcess.fit(chosen)
    nodes = np.geomspace(2, NODES, 30)
    curve = np.array([parts_s(scaled.at(P)[0]) for P in nodes])
    axes.plot(nodes, curve[:, 0], color=COMPUTATION, label="segments of sequential code")
    axes.plot(nodes, curve[:, 1], color=ORANGE, label="messages")
    axes.plot(nodes, curve.sum(1), color=GREEN, linewidth=2.2, label="T_exec, their sum")
    for P, process in chosen.items():
        compute_s, comm_s = parts_s(process)
        for value, color in ((compute_s, COMPUTATION), (comm_s, ORANGE), (compute_s + comm_s, GREEN)):
            axes.plot([P], [value], "o", color=color, markersize=6)
    true_s = made.truth.time_s
    axes.plot([NODES], [true_s], "D", color="white", markeredgecolor=INK, markersize=8, zorder=6)
    duplex_s = made.predictions["dpgraph:li-duplex"].time_s
    axes.plot([NODES], [duplex_s], "_", color=BLUE, markersize=14, markeredgewidth=2, zorder=7)
    notes = [
        (f"dpgraph:li: {percent(made.error_pct('dpgraph:li'))}", made.predictions["dpgraph:li"].time_s, GREEN, 1.18),
        (f"dpgraph:li-duplex: {percent(made.error_pct('dpgraph:li-duplex'))}", duplex_s, BLUE, 0.97),
        (f"simulated: {true_s:.2f} s", true_s, INK, 0.78),
    ]
    for text, value, color, lift in notes:
        axes.annotate(text, (NODES, value), xytext=(19, value * lift), va="center", fontsize=NOTE, color=color)
    plain_log(axes, "x", [2, 4, 8, 16])
    plain_log(axes, "y", [1, 2, 5, 10, 20, 50])
    axes.set_xlim(1.8, 90)
    axes.spines["bottom"].set_bounds(1.8, 17)
    axes.set_xlabel("nodes (logarithmic)", loc="left")
    axes.set_ylabel("time, s (logarithmic)")
    axes.set_title(f"IS, class A: recorded on {', '.join(map(str, chosen))} nodes")
    axes.legend(loc="upper right")
    axes.grid(axis="y")
