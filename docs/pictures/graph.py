"""dpgraph: the recorded graph, the measured network, and the evaluation beside the simulated run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apps.programs.problem import problem
from apps.recording.events import Kind, Mark, Recording
from apps.runs.record_events import run_recorded
from apps.runs.runner import Runner
from apps.spec.target import Target
from pictures import spacetime
from pictures.runs import SETTINGS, Case, case_of
from pictures.spacetime import Diagram, Message, Span
from pictures.style import COMPUTATION, GREY, INK, NOTE, ORANGE, card, percent, plain_log, seconds
from platforms.grids.grid import Wire
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.plotting.charts import Axes, Figure
from platforms.read.read import materialise
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import COMPUTE, MARK, RECV, SEND, WAIT_RECEIVED
from predictor.dpgraph.measured import measured_network
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program, Sections
from predictor.network.layout import layout
from predictor.network.lines import sizes_bytes
from predictor.network.survey import Survey

TITLE = "dpgraph: the recorded graph of FT, measured times of messages, and the evaluation beside the simulated run"
_DATE = 100  # number of marks that apps.recording.events.Mark does not use
_ITERATIONS, _SHOWN = 3, 1  # recorded; the one that is shown, from 0
_MILLI = 1e-3
_MOST_POINTS = 40  # of a kind of path that are drawn


def target() -> Target:
    """Return FT, class W, on two clusters of three nodes that one link of 1 Gbit/s joins."""
    grid = named_grid("grid2x3", "gigabit", (40e9, 70e9))
    (link,) = grid.wan_links
    platform = materialise(replace(grid, wan_links=(replace(link, wire=Wire(125e6, 1e-4)),)))
    return Target(problem("ft", "W"), platform, block(platform, len(platform.hosts)))


def draw(runner: Runner) -> Figure:
    """Return the picture."""
    made = case_of(runner, ("dpgraph",), target())
    recording = next(e.recording for e in made.evidence["dpgraph"] if e.request.kind == "recording")
    results = [e.measurement for e in made.evidence["dpgraph"] if e.request.kind == "exchange"]
    platform, placement = made.target.platform, made.target.placement
    sections = Sections(recording)
    network = measured_network(platform, placement, results, sections.sizes)
    figure = card(7.4)
    grid = figure.add_gridspec(3, 2, height_ratios=(1.15, 1, 1))
    clusters = [platform.cluster_of(host).name for host in placement]
    names = [f"rank {rank}, {name}" for rank, name in enumerate(clusters)]
    far = [(a, b) for a in range(len(names)) for b in range(len(names)) if clusters[a] != clusters[b]]
    _draw_graph(figure.add_subplot(grid[0, 0]), sections.program(_ITERATIONS), names, far)
    measured = figure.add_subplot(grid[0, 1])
    _draw_network(measured, Survey(layout(platform, placement), results, sizes=sections.sizes))
    _name_capacities(measured, made.target, network)
    upper = figure.add_subplot(grid[1, :])
    lower = figure.add_subplot(grid[2, :], sharex=upper)
    predicted, from_s, to_s = _evaluated(made, recording, network)
    run = run_recorded(SETTINGS.spec(made.target), _ITERATIONS, what=str(made.target), time_limit_s=None)
    begin_s, end_s = _iteration(run)
    simulated = spacetime.recorded(run).between(begin_s, end_s)
    upper.set_xlim(0, 1.02 * max(to_s - from_s, end_s - begin_s) / _MILLI)
    spacetime.draw(upper, predicted.between(from_s, to_s), names, far=far, unit_s=_MILLI)
    spacetime.draw(lower, simulated, names, far=far, unit_s=_MILLI)
    for axes, length_s in ((upper, to_s - from_s), (lower, end_s - begin_s)):
        axes.axvline(length_s / _MILLI, color=INK, linestyle=(0, (4, 3)), linewidth=1)
    upper.set_title(
        f"3. Evaluated: {(to_s - from_s) / _MILLI:.2f} ms an iteration "
        f"(whole run: {seconds(made.predictions['dpgraph'].time_s)}, {percent(made.error_pct('dpgraph'))})"
    )
    lower.set_title(
        f"Simulated: {(end_s - begin_s) / _MILLI:.2f} ms an iteration (whole run: {seconds(made.truth.time_s)})"
    )
    lower.set_xlabel("time, ms")
    spacetime.legend(figure)
    return figure


def _draw_graph(axes: Axes, program: Program, names: Sequence[str], far: Sequence[tuple[int, int]]) -> None:
    """Draw the computations of an iteration as boxes, and its messages as arrows between them."""
    distant, pairs = set(far), set()
    for rank in range(program.nranks):
        own = _instructions(program, rank)
        sends = [at for at in own if program.code[at] == SEND]
        before, after = (
            sum(program.value[at] for at in own if program.code[at] == COMPUTE and (at < sends[0]) == early)
            for early in (True, False)
        )
        for x, flops in ((0.0, before), (2.0, after)):
            axes.text(
                x, rank, f"{flops / 1e6:.0f} Mflop", color="white", fontsize=NOTE, ha="center", va="center",
                bbox={"boxstyle": "round,pad=0.3", "facecolor": COMPUTATION, "edgecolor": "none"},
            )  # fmt: skip
        axes.text(-0.55, rank, names[rank], fontsize=NOTE, ha="right", va="center")
        pairs |= {(rank, int(program.destination[program.argument[at]])) for at in sends}
    for source, destination in sorted(pairs - {(rank, rank) for rank in range(program.nranks)}):
        color = ORANGE if (source, destination) in distant else INK
        style = {"arrowstyle": "-|>,head_width=0.13,head_length=0.3", "linewidth": 0.8, "color": color}
        axes.annotate("", (1.52, destination), (0.48, source), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
    axes.set_xlim(-1.5, 2.6)
    axes.set_ylim(program.nranks - 0.5, -0.5)
    axes.axis("off")
    axes.set_title("1. Recorded: an iteration as a graph")


def _draw_network(axes: Axes, survey: Survey) -> None:
    """Draw measured times of messages over their sizes, and the lines through them."""
    sizes = np.array(sizes_bytes(), float)
    names = {"within a cluster": ("c1", "c1"), "between clusters": ("c1", "c2")}
    for (label, name), color in zip(names.items(), (INK, ORANGE), strict=True):
        shown = list(survey.points[name].items())
        shown = shown[:: 1 + len(shown) // _MOST_POINTS]
        axes.plot(*zip(*((size, time_s / _MILLI) for size, time_s in shown), strict=True), ".", color=color,
                  markersize=7, label=label)  # fmt: skip
        for piece in survey.lines[survey.row[name]]:
            inside = sizes[piece.first : piece.last + 1]
            axes.plot(inside, piece.time_s(inside) / _MILLI, color=color, linewidth=1.2)
    plain_log(axes, "x", [1, 1e3, 1e6])
    axes.set_xticks([1, 1e3, 1e6], ["1 B", "1 kB", "1 MB"])
    plain_log(axes, "y", [0.01, 0.1, 1, 10, 100])
    axes.set_xlabel("size of a message")
    axes.set_ylabel("time, ms")
    axes.set_title("2. Measured: a message alone")
    axes.legend(loc="upper left")
    axes.grid(color=GREY, alpha=0.3)


def _name_capacities(axes: Axes, asked: Target, network: NetworkModel) -> None:
    """Write the capacities that the experiments under load have shown."""
    first, last = asked.placement[0], asked.placement[-1]
    way = network.ways[first, last].links
    between = min(network.capacity_Bps[name] for name in way if not name.startswith(("up ", "down ")))
    lines = (
        "Measured under load:",
        f"a node sends {network.capacity_Bps[f'up {first}'] / 1e6:.0f} MB/s,",
        f"the clusters' link carries {between / 1e6:.0f} MB/s",
    )
    axes.text(0.98, 0.03, "\n".join(lines), transform=axes.transAxes, ha="right", fontsize=NOTE)


def _instructions(program: Program, rank: int) -> list[int]:
    """Return a rank's instructions in the iteration that is shown."""
    own = range(program.first[rank], program.first[rank + 1])
    ends = [at for at in own if program.code[at] == MARK and program.argument[at] == Mark.ITERATION]
    return list(range(ends[_SHOWN - 1] + 1, ends[_SHOWN]))


def _evaluated(made: Case, recording: Recording, network: NetworkModel) -> tuple[Diagram, float, float]:
    """Return the evaluated program, and when the first rank begins and the last rank ends the iteration that is shown.

    A mark before every instruction tells when the rank has come to it; marks take no time.
    """
    program = Sections(recording).program(_ITERATIONS)
    copies = np.full(len(program.code), 2)
    code, argument, value = (np.repeat(field, copies) for field in (program.code, program.argument, program.value))
    code[::2], argument[::2], value[::2] = MARK, _DATE, 0.0
    marked = replace(program, code=code, argument=argument, value=value, first=2 * program.first)
    hosts = [made.target.platform.host(name) for name in made.target.placement]
    run = execute(marked, network, made.target.placement, [1 / host.speed_flops for host in hosts])
    spans, sent, posted, there = [], {}, {}, {}
    for rank in range(program.nranks):
        dates_s = run.marks_s[rank][: len(run.marks[rank])][run.marks[rank] == _DATE]
        for number, at in enumerate(range(program.first[rank], program.first[rank + 1])):
            begin_s, message = float(dates_s[number]), int(program.argument[at])
            end_s = float(dates_s[number + 1]) if number + 1 < len(dates_s) else begin_s
            if program.code[at] == COMPUTE:
                spans.append(Span(rank, begin_s, end_s))
            elif program.code[at] in (SEND, RECV):
                (sent if program.code[at] == SEND else posted)[message] = begin_s
            elif program.code[at] == WAIT_RECEIVED:
                there[message] = end_s
    messages = [
        Message(int(program.source[m]), int(program.destination[m]), max(sent[m], posted[m]), there[m],
                float(program.size_bytes[m]))
        for m in sorted(there)
    ]  # fmt: skip
    ends_s = run.iteration_s + run.start_s[:, None]
    return Diagram(spans, messages), float(ends_s[:, _SHOWN - 1].min()), float(ends_s[:, _SHOWN].max())


def _iteration(recording: Recording) -> tuple[float, float]:
    """Return when the first rank begins and the last rank ends the iteration that is shown, s."""
    ends_s = [events["clock_s"][events["op"] == Mark.ITERATION] for events in _marks(recording)]
    return min(float(one[_SHOWN - 1]) for one in ends_s), max(float(one[_SHOWN]) for one in ends_s)


def _marks(recording: Recording) -> list[np.ndarray]:
    return [events[events["kind"] == Kind.MARK] for events in recording.events]
