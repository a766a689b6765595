"""Block models: a kernel as a tree of blocks, with the time of each block by two families of formulas and simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from apps.recording.events import Kind, Mark, Recording
from apps.runs.record_events import run_recorded
from apps.runs.runner import Runner
from pictures.runs import SETTINGS, Case, case
from pictures.style import BLUE, GREY, INK, NOTE, RED, card, percent, seconds
from platforms.plotting.charts import Axes, Figure
from predictor.blocks.machines.target_machine import TargetMachine

TITLE = "Block models: IS as a tree of blocks, with the time of each block by formula and simulated"
FAMILIES = {"blocks": RED, "blocks:simgrid": BLUE}
COLLECTIVES = ("gather", "bcast", "alltoall", "alltoall")  # of an iteration, in the order of the description
_ITERATIONS, _SHOWN = 3, 1  # recorded; the one whose times are shown, from 0
_MILLI = 1e-3


@dataclass
class Seen:
    """The blocks that a model has evaluated, in their order."""

    computations: list[tuple[float, float]] = field(default_factory=list)  # operations, s
    collectives: list[tuple[str, int, float]] = field(default_factory=list)  # block, bytes, s


@dataclass(frozen=True)
class Row:
    """A line of the tree; ``times_s`` by series is empty for a block that only contains others."""

    depth: int
    text: str
    times_s: dict[str, float] = field(default_factory=dict)


def draw(runner: Runner) -> Figure:
    """Return the picture for IS, class B, on grid4x8."""
    cases, seen = {}, {}
    for name in FAMILIES:
        with _watched() as seen[name]:
            cases[name] = case(runner, (name,), "is")
    made = cases["blocks"]
    run = run_recorded(SETTINGS.spec(made.target), _ITERATIONS, what=str(made.target), time_limit_s=None)
    figure = card(4.9)
    left, axes = figure.subplots(1, 2, width_ratios=(1, 1.9), sharey=True)
    rows = _tree(made, seen, _simulated(run))
    _draw_tree(left, rows)
    _draw_times(axes, rows)
    left.set_title("IS, class B, on 32 ranks")
    axes.set_title("Time of each block in an iteration")
    for name, color in FAMILIES.items():
        text = f"{name} (whole run: {percent(cases[name].error_pct(name))})"
        axes.barh([0], [0], color=color, label=text)
    axes.barh([0], [0], color=INK, label=f"simulated (whole run: {seconds(made.truth.time_s)})")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.4))
    return figure


@contextmanager
def _watched() -> Iterator[Seen]:
    """Note the blocks that models evaluate in the context."""
    seen = Seen()
    compute_s, collective_s = TargetMachine.compute_s, TargetMachine.collective_s

    def watched_computation(self, group, operations):
        time_s = compute_s(self, group, operations)
        seen.computations.append((operations, time_s))
        return time_s

    def watched_collective(self, block, size_bytes, members, root):
        time_s = collective_s(self, block, size_bytes, members, root)
        seen.collectives.append((block, size_bytes, time_s))
        return time_s

    with (
        patch.object(TargetMachine, "compute_s", watched_computation),
        patch.object(TargetMachine, "collective_s", watched_collective),
    ):
        yield seen


def _tree(made: Case, seen: dict[str, Seen], simulated: Sequence[float]) -> list[Row]:
    """Return the lines of the tree with their times.

    Raises:
        ValueError: The description has other blocks.
    """
    first = {name: one.collectives[: len(COLLECTIVES)] for name, one in seen.items()}
    if any(tuple(block for block, *_ in blocks) != COLLECTIVES for blocks in first.values()):
        raise ValueError(f"the blocks of IS are {first}")
    most = max(operations for operations, _ in seen["blocks"].computations)
    large, small = (
        {name: max(s for ops, s in one.computations if (ops > most / 2) == big) for name, one in seen.items()}
        for big in (True, False)
    )
    times = [{name: blocks[at][2] for name, blocks in first.items()} for at in range(len(COLLECTIVES))]
    sizes = [size_bytes for _, size_bytes, _ in first["blocks"]]
    computed, reduced, counted, sent, ranked = simulated
    return [
        Row(0, f"repeat {made.target.iterations} times"),
        Row(1, "compute: keys into buckets", {**large, "simulated": computed}),
        Row(1, "an allreduce, which is", {"simulated": reduced}),
        Row(2, f"gather, {sizes[0] / 1e3:.0f} kB", times[0]),
        Row(2, f"broadcast, {sizes[1] / 1e3:.1f} kB", times[1]),
        Row(1, f"all-to-all, {sizes[2]} bytes", {**times[2], "simulated": counted}),
        Row(1, f"all-to-all, {sizes[3] / 1e3:.0f} kB to each", {**times[3], "simulated": sent}),
        Row(1, "compute: order of the keys", {**small, "simulated": ranked}),
    ]


def _simulated(recording: Recording) -> list[float]:
    """Return the times of the blocks of an iteration: the longest computation; a collective from the last rank's entry.

    Raises:
        ValueError: The iteration does not consist of a computation, three collectives and a computation.
    """
    begins, ends = [], []
    for events in recording.events:
        marks = [at for at, one in enumerate(events) if one["kind"] == Kind.MARK and one["op"] == Mark.ITERATION]
        own = range(marks[_SHOWN - 1], marks[_SHOWN])
        steps = [at for at in own if events["kind"][at] in (Kind.COMPUTE, Kind.COLLECTIVE)]
        begins.append([float(events["clock_s"][at]) for at in steps])
        ends.append([float(events["clock_s"][at + 1]) for at in steps])
        kinds = [Kind(int(events["kind"][at])) for at in steps]
        if kinds != [Kind.COMPUTE, *[Kind.COLLECTIVE] * 3, Kind.COMPUTE]:
            raise ValueError(f"an iteration of IS consists of {', '.join(kind.name for kind in kinds)}")
    return [
        max(end - begin for begin, end in zip(begin_s, end_s, strict=True))
        if step in (0, 4)
        else max(end_s) - max(begin_s)
        for step, (begin_s, end_s) in enumerate(zip(zip(*begins, strict=True), zip(*ends, strict=True), strict=True))
    ]


def _draw_tree(axes: Axes, rows: Sequence[Row]) -> None:
    indent, stub = 0.09, 0.06
    for number, row in enumerate(rows):
        left = indent * row.depth
        axes.text(left, number, row.text, va="center")
        if row.depth:
            above = max(at for at in range(number) if rows[at].depth < row.depth)
            stem = left - stub
            axes.plot([stem, stem, left - 0.02], [above + 0.3, number, number], color=GREY, linewidth=1)
    axes.set_xlim(0, 1)
    axes.axis("off")


def _draw_times(axes: Axes, rows: Sequence[Row]) -> None:
    series, height = {**FAMILIES, "simulated": INK}, 0.27
    for number, row in enumerate(rows):
        shown = [(name, color) for name, color in series.items() if name in row.times_s]
        for place, (name, color) in enumerate(shown):
            at, time_ms = number + (place - (len(shown) - 1) / 2) * height, row.times_s[name] / _MILLI
            axes.barh(at, time_ms, height=0.9 * height, color=color)
            axes.annotate(f"{time_ms:.2g}", (time_ms, at), xytext=(4, 0), textcoords="offset points", va="center",
                          fontsize=NOTE - 1, color=color)  # fmt: skip
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.set_xlabel("time, ms")
    axes.grid(axis="x")
