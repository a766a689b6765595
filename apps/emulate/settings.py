"""The grid to emulate and how it is emulated."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace

from apps.errors import OptionError
from platforms.errors import PlatformError
from platforms.grids.grid import Grid, Wire

COUNTED, FREE = "counted", "free"
PACES = (COUNTED, FREE)
FIFO, TURNS = "fifo", "turns"
QUEUES = (FIFO, TURNS)
MOST_NODES = 16
MOST_NAME = 63  # characters that the system accepts in a host name
MTU_BYTES = 9000
WINDOW_BYTES = 1 << 20  # of TCP
QUEUE_BYTES = 64_000_000  # that may wait for a link: more than the windows of the largest grids allow
LEAST_EAGER_BYTES, MOST_EAGER_BYTES = 1024, 1 << 30  # of MPI
DISTURBED = 75  # exit status of a run that a gate refuses: another one may be valid (EX_TEMPFAIL)
MOST_SHARE = 0.9  # share of the processor for all nodes together; the rest is for the router
TICK_S = 200e-6  # between two polls of the devices by the router


@dataclass(frozen=True)
class Settings:
    """Settings of an emulation.

    Raises:
        OptionError: A value is wrong, or values contradict each other.
    """

    pace: str = COUNTED
    core_flops: float | None = None  # in free mode: of one core of this machine, flop/s
    eager_bytes: int | None = None  # Open MPI sends messages up to this size at once; None: its default
    queues: str = FIFO  # of the nodes: first come, first served, or connections in turn
    cpu: int | None = None  # number of the processor for router and ranks; None: the last one on which no grid runs

    def __post_init__(self) -> None:
        if (self.pace == FREE) != (self.core_flops is not None):
            problem = "is missing" if self.core_flops is None else f"does not go with --pace {self.pace}"
            remedy = "The free pace needs the speed of a core of this machine, the counted pace does not"
            raise OptionError("--core-gflops", problem, remedy)
        if self.core_flops is not None and not 0 < self.core_flops < math.inf:
            raise OptionError("--core-gflops", f"{self.core_flops / 1e9:g} is not a speed", "Give a positive number")
        if self.eager_bytes is not None and not LEAST_EAGER_BYTES <= self.eager_bytes <= MOST_EAGER_BYTES:
            remedy = f"Give {LEAST_EAGER_BYTES} to {MOST_EAGER_BYTES} bytes"
            raise OptionError(f"--eager-limit {self.eager_bytes}", "is out of range", remedy)
        usable = sorted(os.sched_getaffinity(0))
        if self.cpu is not None and self.cpu not in usable:
            raise OptionError(f"--cpu {self.cpu}", "no processor that may be used", f"Known: {_numbers(usable)}")

    def node_speeds(self, grid: Grid) -> dict[str, float]:
        """Return the pacer's setting for each host: flop/s of a core, or in free mode its share of a core here."""
        unit = 1.0 if self.core_flops is None else self.core_flops
        return {host: cluster.speed_flops / unit for cluster in grid.clusters for host in cluster.host_names}

    def check(self, grid: Grid) -> None:
        """Refuse a grid that cannot be emulated.

        Raises:
            PlatformError: It has too many nodes, names that are too long, or more speed than a processor.
        """
        where = f"grid {grid.name!r}"
        hosts = [host for cluster in grid.clusters for host in cluster.host_names[: MOST_NODES + 1]]
        nodes = sum(cluster.nodes for cluster in grid.clusters)
        if nodes > MOST_NODES:
            raise PlatformError(where, f"{nodes} nodes", f"Give at most {MOST_NODES}")
        if long := next((host for host in hosts if len(host) > MOST_NAME), None):
            problem = f"the host name {long!r} has more than {MOST_NAME} characters"
            raise PlatformError(where, problem, "Give its cluster a shorter name")
        if self.core_flops is not None:
            share = sum(cluster.nodes * cluster.cores * cluster.speed_flops for cluster in grid.clusters)
            share /= self.core_flops
            if share > MOST_SHARE:
                problem = f"all its cores together need {share:.3g} of one processor, at most {MOST_SHARE} may be used"
                raise PlatformError(where, problem, f"Slow the grid down: --slowdown {share / MOST_SHARE:.2g} or more")


def _numbers(values: list[int]) -> str:
    return ", ".join(map(str, values))


def slowed_down(grid: Grid, factor: float) -> Grid:
    """Return the same grid in slow motion: speeds and bandwidths are divided by a factor, latencies multiplied.

    Raises:
        OptionError: The factor is below 1 or not a number.
        PlatformError: The result is not a valid grid.
    """
    if not 1 <= factor < math.inf:
        raise OptionError(f"--slowdown {factor:g}", "not a factor", "Give a number from 1 on")

    def slow(wire: Wire) -> Wire:
        return Wire(wire.bandwidth_Bps / factor, wire.latency_s * factor)

    clusters = tuple(
        replace(
            cluster,
            speed_flops=cluster.speed_flops / factor,
            node=slow(cluster.node),
            backbone=slow(cluster.backbone),
            memory_Bps=None if cluster.memory_Bps is None else cluster.memory_Bps / factor,
        )
        for cluster in grid.clusters
    )
    links = tuple(replace(link, wire=slow(link.wire)) for link in grid.wan_links)
    return replace(grid, clusters=clusters, wan_links=links)
