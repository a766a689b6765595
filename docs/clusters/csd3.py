"""csd3: collective operations and HPL on a second network, from what was measured on the first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter
from pictures.style import BLUE, GREY, INK, NOTE, ORANGE, card, style, svg

from apps.calibrate.model import NEVER, model_of
from apps.calibrate.points import points_of
from apps.probes.segments import Curve
from clusters.published import DATA
from predictor.factorisation.evaluate import Problem, evaluate
from predictor.factorisation.machine import Curves, Machine, Segment

sys.path[:0] = [str(DATA.parent)]

from collectives import COLLECTIVES, Pair, errors, fitted, interval, read, uncertainty  # noqa: E402 (found by the line above)

TABLE, KNOWN, ASKED = str(DATA / "csd3-messages.csv"), "ib", "roce"
TITLE = "Collective operations of 2 x 32 ranks of csd3: measured, fitted on InfiniBand, predicted on RoCE"
_SHOWN = (8, 64, 256, 1024, 8192, 65536, 1048576)  # bytes
# HPL on 56 nodes, one rank each: the rate over InfiniBand, the settings of the input file, the rate of one node.
IB_GFLOPS, NODE_GFLOPS, NB, GRID = 36_358.8, 2510.37, 384, (7, 8)
MEMORY_BPS = 200e9  # what a stream gets of 281 GB/s, 12 channels of DDR4-2933
L2_BYTES = 28 * 2**20  # of a node's 56 cores, each half
_LARGEST_N = 133_000  # the job ended within 44 s


@dataclass(frozen=True)
class Line:
    """One operation and size on both networks, in us, and the error of the ratio of the networks."""

    operation: str
    size: int
    known_us: float
    known_error: float
    asked_us: float
    asked_error: float
    ratio_error: float
    asked_low_us: float  # ends of the 90 % interval
    asked_high_us: float

    @property
    def within(self) -> bool:
        """True if the measured time lies in the interval."""
        return self.asked_low_us <= self.asked_us <= self.asked_high_us


@cache
def lines() -> tuple[Line, ...]:
    """Return all operations and sizes."""
    ranks, known, measured = read(TABLE, KNOWN)
    _, asked, others = read(TABLE, ASKED)
    node = fitted(ranks, known, measured)
    spread, pair = uncertainty(ranks, known, measured), Pair(ranks, asked, node)
    of_known, of_asked = errors(Pair(ranks, known, node), measured), errors(pair, others)
    pairs = zip(measured, of_known, others, of_asked, strict=True)
    return tuple(
        Line(
            *(a.operation, a.size, a.time_us, float(np.expm1(x)), b.time_us, float(np.expm1(y))),
            float(np.expm1(y - x)),
            *interval(pair, b, spread),
        )
        for a, x, b, y in pairs
    )


def collectives() -> str:
    """Return the table of some sizes in Markdown."""
    made = [
        "| operation | bytes | InfiniBand, measured | fitted | RoCE, measured | predicted | 90 % interval | "
        "error of the ratio |",
        "|---|---:|---:|---:|---:|---:|---|---:|",
    ]
    for line in sorted(lines(), key=lambda line: (line.operation, line.size)):
        if line.size in _SHOWN:
            times = [f"{_time(us)} | {100 * error:+.1f} %" for us, error in (
                (line.known_us, line.known_error), (line.asked_us, line.asked_error))]  # fmt: skip
            ends = f"{_time(line.asked_low_us)} to {_time(line.asked_high_us)}{'' if line.within else ', not in it'}"
            cells = " | ".join((*times, ends))
            made.append(f"| {line.operation} | {line.size:,} | {cells} | {100 * line.ratio_error:+.1f} % |")
    return "\n".join(made)


def _time(us: float) -> str:
    return f"{us:.4g} us" if us < 1000 else f"{us / 1000:.4g} ms"


def medians() -> str:
    """Return the table of the median errors in Markdown."""
    made = [
        "| operation | sizes | InfiniBand, fitted | RoCE, predicted | in its 90 % interval | ratio |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, some in {
        **{o: [line for line in lines() if line.operation == o] for o in COLLECTIVES},
        "all": lines(),
    }.items():
        cells = [
            f"{100 * float(np.median([abs(getattr(line, key)) for line in some])):.1f} %"
            for key in ("known_error", "asked_error", "ratio_error")
        ]
        cells.insert(2, str(sum(line.within for line in some)))
        made.append(f"| {name} | {len(some)} | {' | '.join(cells)} |")
    return "\n".join(made)


@cache
def _machine(network: str) -> Machine:
    _, measured, _ = read(TABLE, network)
    round_trips = [(size, 2e-6 * us) for size, us in measured.latency_us.items()]
    model = model_of({"pingpong": points_of(round_trips)})
    wire, send, receive = map(_segments, (model.transfer, model.send, model.receive))
    curves = Curves(wire, ((0.0, 1e-6, 1e-10),), send, receive, model.thresholds.async_bytes)
    nodes = GRID[0] * GRID[1]
    return Machine(
        np.arange(nodes),
        np.full(nodes, 2 / (NODE_GFLOPS * 1e9)),
        curves,
        node_Bps=model.bandwidth_Bps,
        copy_s_per_byte=3 / MEMORY_BPS,
        panel_s_per_byte=1 / MEMORY_BPS,
        cache_bytes=L2_BYTES,
    )


def _segments(curve: Curve | None) -> tuple[Segment, ...]:
    kept = [] if curve is None else [segment for segment in curve.segments if segment.from_bytes < NEVER]
    return tuple((float(one.from_bytes), float(one.base_s), float(one.per_byte_s)) for one in kept)


def _hpl_s(network: str, n: int) -> float:
    return evaluate(Problem(n, NB, *GRID), _machine(network)).time_s


def _operations(n: int) -> float:
    return 2 / 3 * n**3 + 1.5 * n**2


@cache
def fitted_n() -> int:
    """Return the matrix size with which the model has the rate that was measured over InfiniBand."""
    low, high = 10_000, _LARGEST_N
    while high - low > NB // 2:
        middle = (low + high) // 2
        low, high = (middle, high) if _operations(middle) / _hpl_s("ib", middle) < 1e9 * IB_GFLOPS else (low, middle)
    return high


def hpl() -> str:
    """Return the table of possible matrix sizes and the rates over RoCE that follow."""
    made = [
        "| n | measured rate over InfiniBand takes | of this, model | not explained | RoCE adds | RoCE, Gflop/s |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for n in (fitted_n(), 60_000, 80_000, 100_000, _LARGEST_N):
        measured_s = _operations(n) / (1e9 * IB_GFLOPS)
        known_s, asked_s = _hpl_s("ib", n), _hpl_s("roce", n)
        rate = _operations(n) / (measured_s + asked_s - known_s) / 1e9
        made.append(
            f"| {n:,} | {measured_s:.2f} s | {known_s:.2f} s | {max(0.0, measured_s - known_s):.2f} s | "
            f"{asked_s - known_s:.2f} s | {rate:,.0f} |"
        )
    return "\n".join(made)


PARTS: dict[str, Callable[[], str]] = {"collectives": collectives, "medians": medians, "hpl": hpl}


def picture() -> str:
    """Return the figure as SVG."""
    with style():
        return svg(_figure(), TITLE)


def _figure() -> Any:
    figure = card(3.4)
    panels = figure.subplots(1, len(COLLECTIVES), sharey=True)
    for axes, operation in zip(panels, COLLECTIVES, strict=True):
        some = sorted((line for line in lines() if line.operation == operation), key=lambda line: line.size)
        sizes = [line.size for line in some]
        for name, colour, us, error in (
            ("InfiniBand", BLUE, "known_us", "known_error"), ("RoCE", ORANGE, "asked_us", "asked_error")
        ):  # fmt: skip
            measured = np.array([getattr(line, us) for line in some])
            made = measured * (1 + np.array([getattr(line, error) for line in some]))
            if name == "RoCE":
                ends = [(line.asked_low_us, line.asked_high_us) for line in some]
                axes.fill_between(sizes, *zip(*ends, strict=True), color=colour, alpha=0.18, linewidth=0)
            word = "fitted" if name == "InfiniBand" else "predicted"
            axes.plot(sizes, made, color=colour, linewidth=1.4, label=f"{name}, {word}")
            axes.plot(sizes, measured, "o", color=colour, markersize=3.5, label=f"{name}, measured")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks([1, 2**10, 2**20], ["1 B", "1 KiB", "1 MiB"])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_title(operation, color=INK)
        axes.grid(color=GREY, alpha=0.25)
        axes.tick_params(labelsize=NOTE)
    panels[0].set_ylabel("time, us")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
    return figure
