"""The pitfalls of section 7 of Ichikawa, Takahashi, Kawai, in simulation: what Figures 21 to 28 measure.

A simulation knows of these pitfalls only what its platform describes: the factors by size of a network, frames with
less or more headers, one switch or two, the threshold of MPI's eager protocol, a processor that copies more slowly at a
lower clock.  The anomalies of drivers, switches and libraries that the paper measured are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from apps.probes.patterns.measure import Call, pattern_times
from apps.probes.pointtopoint.measure import call_times
from apps.programs.problem import sized_problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.grid import Grid
from platforms.grids.network import with_factors
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from apps.spec.run_spec import RunSpec
    from platforms.model.platform import Platform

MESSAGES = tuple(2**power for power in range(6, 24))  # bytes, of the transfer rates
BLOCKS = tuple(2**power for power in range(6, 19))  # bytes from each process to each, of the all-to-all
POINTS = tuple(2**power for power in range(16, 24))  # of FFT: Table II
GRIDS = (32, 48, 64, 96, 128, 192)  # points along an edge of Himeno
BUFFERS = (4096, 8192, 16384, 32768, 65536)  # bytes: up to here MPI sends without waiting for the receiver
HEADERS, BESIDE = 52, 38  # bytes of a frame: IP and TCP with time stamps; Ethernet's own, preamble and gap
JUMBO = 9000  # bytes, the larger MTU
# Cool'n'Quiet changes the clock of an Athlon 64 X2 between these, Hz; TCP takes about a cycle a bit (Foong et al.,
# "TCP Performance Re-Visited", ISPASS 2003), at each end.
CLOCKS_HZ = (1.0e9, 1.8e9, 2.0e9, 2.2e9)
CYCLES_PER_BYTE = 8
EAGER = ("smpi/send-is-detached-thresh", str(2**30))  # TCP alone, as NetPIPE uses it, has no rendezvous
TRIALS = 144
SEED = 1


@dataclass(frozen=True)
class Line:
    """One line of a figure."""

    figure: int
    label: str
    x: tuple[int, ...]
    y: tuple[float, ...]  # in the unit of the figure, see plots/pitfalls.py


@dataclass(frozen=True)
class _Runs:
    """Runs of a program, which are one line of a figure."""

    figure: int
    label: str
    sizes: tuple[int, ...]
    specs: tuple[RunSpec, ...]


def planned() -> list[RunSpec]:
    """Return the runs of programs."""
    return [spec for line in _runs() for spec in line.specs]


def lines(runner: Runner) -> list[Line]:
    """Return the lines of all figures, in the order of their numbers; Figure 24 is a sketch of the two networks."""
    runs = list(_runs())
    runner.start(spec for line in runs for spec in line.specs)
    made = [*_transfers(), *_all_to_alls(), *_clocks()]
    for line in runs:
        records = [runner.record(spec) for spec in line.specs]
        values = [record.flops / record.time_s if line.figure == 27 else record.time_s for record in records]
        made.append(Line(line.figure, line.label, line.sizes, tuple(values)))
    return sorted(made, key=lambda line: line.figure)


def _mtu(grid: Grid, mtu: int) -> Grid:
    """Return the grid with frames of another MTU: its links carry more data, or less, at the same line rate."""
    factor = (mtu - HEADERS) / (mtu + BESIDE) / ((1500 - HEADERS) / (1500 + BESIDE))
    clusters = (
        replace(cluster, node=replace(cluster.node, bandwidth_Bps=cluster.node.bandwidth_Bps * factor))
        for cluster in grid.clusters
    )
    return replace(grid, clusters=tuple(clusters))


def _hosts(platform: Platform, numbers: dict[str, int]) -> tuple[str, ...]:
    """Return the first hosts of each of these clusters."""
    return tuple(
        host.name
        for cluster in platform.clusters
        for host in cluster.hosts[: numbers.get(cluster.name, 0)]
    )  # fmt: skip


def _networks() -> Iterator[tuple[int, str, Platform, tuple[str, ...]]]:
    """Yield the figures of all-to-alls, their lines, and the platforms and hosts; FFT has the next figure."""
    paper = named_grid("ichikawa")
    for mtu in (1500, JUMBO):
        platform = materialise(_mtu(paper, mtu))
        yield 22, f"MTU = {mtu}", platform, _hosts(platform, {"xeon": 16})
    for label, name in (("one switch", "ichikawa"), ("two switches", "ichikawa-two-switches")):
        platform = materialise(named_grid(name))
        yield 25, label, platform, _hosts(platform, {"xeon": 8, "celeron": 8})


def _transfers() -> Iterator[Line]:
    grid = named_grid("ichikawa")
    for label, options in (
        ("Gigabit Ethernet with SimGrid's factors by size", grid.options),
        ("the same links without factors", with_factors(grid.options, "neutral")),
    ):
        platform = materialise(replace(grid, options=options))
        yield Line(21, label, MESSAGES, _rates_Bps(platform))


def _rates_Bps(platform: Platform) -> tuple[float, ...]:
    """Return the transfer rate between two nodes of the first cluster, as NetPIPE has it: over half a round trip."""
    first, second = (host.name for host in platform.clusters[0].hosts[:2])
    trips_s = call_times(platform, (first, second), MESSAGES)["pingpong"]
    return tuple(2 * size / time_s for size, time_s in zip(MESSAGES, trips_s, strict=True))


def _all_to_alls() -> Iterator[Line]:
    for figure, label, platform, hosts in _networks():
        calls = [Call("alltoall", len(hosts), size) for size in BLOCKS]
        yield Line(figure, label, BLOCKS, pattern_times(platform, hosts, calls))


def _clocks() -> Iterator[Line]:
    """Yield the trials of Figure 28: every message is sent and received at a newly drawn clock."""
    grid = named_grid("ichikawa")
    rates_Bps = []
    for clock_hz in CLOCKS_HZ:
        cost = f"0:0:{CYCLES_PER_BYTE / clock_hz:.6g}"
        both = (*grid.options, ("smpi/os", cost), ("smpi/or", cost), EAGER)
        rates_Bps.append(_rates_Bps(materialise(replace(grid, options=both))))
    drawn = np.random.default_rng(SEED).integers(len(CLOCKS_HZ), size=(TRIALS, len(MESSAGES)))
    trials = np.array(rates_Bps)[drawn, np.arange(len(MESSAGES))]
    for label, values in (
        ("highest of 144 trials", trials.max(axis=0)),
        ("median", np.median(trials, axis=0)),
        ("lowest", trials.min(axis=0)),
    ):
        yield Line(28, label, MESSAGES, tuple(values.tolist()))


def _runs() -> Iterator[_Runs]:
    settings = Settings()
    for figure, label, platform, hosts in _networks():
        targets = (Target(sized_problem("fft", size), platform, hosts) for size in POINTS)
        yield _Runs(figure + 1, label, POINTS, tuple(map(settings.spec, targets)))
    platform = materialise(named_grid("ichikawa"))
    hosts = _hosts(platform, {"xeon": 16})
    for buffer in BUFFERS:
        options = (("smpi/async-small-thresh", str(buffer)), ("smpi/send-is-detached-thresh", str(buffer)))
        buffered = replace(settings, options=options)
        targets = (Target(sized_problem("himeno", size), platform, hosts) for size in GRIDS)
        yield _Runs(27, f"{buffer // 1024} KB", GRIDS, tuple(map(buffered.spec, targets)))
