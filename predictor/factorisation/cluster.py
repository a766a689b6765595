"""A cluster for HPL: nodes and messages of a calibrated platform, speeds of its cores from measured matrix products."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.model.platform import Host, Platform
from platforms.read.routes import routes_between
from predictor.factorisation.machine import Curves, Machine, Segment

HEADER_BYTES = 16  # that SMPI adds to a message
COLUMNS = ("node", "cpu", "s_per_mnk", "intercept_s")
CACHE_BYTES = 2.0**20  # second-level cache of a core of today's servers
COPIES = 6  # memory traffic per byte of a message inside a node: two copies, each with two reads and a write
ROW_COPIES = 3  # the same per byte of a row that is copied once
WITHIN_S = 0.5e-6  # latency inside a node


@dataclass(frozen=True)
class Products:
    """Seconds of a core for m n k = 1 of a matrix product, and per call, by node and CPU; one entry applies to all."""

    s_per_mnk: Mapping[tuple[int, int], float]
    call_s: float

    def of(self, node: int, place: float) -> float:
        """Return the seconds at a place of a node, from 0 at its first core to below 1 at its last.

        Nodes beyond the measured ones reuse the times of the first ones.
        """
        nodes = sorted({one for one, _ in self.s_per_mnk})
        measured = nodes[node % len(nodes)]
        cpus = sorted(cpu for one, cpu in self.s_per_mnk if one == measured)
        return self.s_per_mnk[measured, cpus[int(place * len(cpus))]]


def nominal_products(core_flops: float) -> Products:
    """Return the same product times for all cores, from a core's speed in flop/s."""
    return Products({(0, 0): 2 / core_flops}, 0.0)


def read_products(path: str) -> Products:
    """Return the products in a CSV file with the columns of COLUMNS; others are left out.

    Raises:
        UserError: The file cannot be read, or a line is wrong.
    """
    times: dict[tuple[int, int], float] = {}
    calls = []
    for line, row in checked_rows(path, COLUMNS, "Name a CSV file of times of matrix products"):
        try:
            node, cpu = int(row["node"] or ""), int(row["cpu"] or "")
            s_per_mnk, call_s = float(row["s_per_mnk"] or ""), float(row["intercept_s"] or "")
        except ValueError as err:
            raise UserError(f"{path}:{line}", f"not numbers: {err}", "Correct the line") from err
        if not 0 < s_per_mnk < 1 or not 0 <= call_s < 1:
            raise UserError(f"{path}:{line}", "seconds out of range", "Give seconds for m n k = 1, and of a call")
        times[node, cpu] = s_per_mnk
        calls.append(call_s)
    if not times:
        raise UserError(path, "no rows", "Give at least one node and CPU")
    return Products(times, float(np.mean(calls)))


@dataclass(frozen=True)
class Cluster:
    """Nodes of a cluster as used by HPL.

    Ranks fill the nodes in order.
    """

    hosts: tuple[Host, ...]
    curves: Curves
    link_Bps: float  # of a node, each way
    memory_Bps: float | None  # of a node; None: not known
    products: Products
    threads: int  # of a rank

    @property
    def ranks_of_node(self) -> int:
        """Number of ranks that fill a node."""
        return self.hosts[0].cores // self.threads

    @property
    def most_ranks(self) -> int:
        """Number of ranks that fill all nodes."""
        return len(self.hosts) * self.ranks_of_node

    def machine(self, ranks: int) -> Machine:
        """Return the first ``ranks`` ranks.

        Raises:
            UserError: There are fewer cores.
        """
        if ranks > self.most_ranks:
            nodes = f"{len(self.hosts)} nodes take {self.ranks_of_node} ranks of {self.threads} threads each"
            raise UserError(f"hpl, {ranks} ranks", nodes, f"Give at most {self.most_ranks} ranks")
        each, rank = self.ranks_of_node, np.arange(ranks)
        node, place = rank // each, rank % each / each
        pairs = zip(node.tolist(), place.tolist(), strict=True)
        gemm_s = np.array([self.products.of(at, share) for at, share in pairs]) / self.threads
        memory_Bps = math.inf if self.memory_Bps is None else self.memory_Bps
        return Machine(
            node,
            gemm_s,
            self.curves,
            node_Bps=self.link_Bps,
            memory_Bps=memory_Bps / COPIES,
            gemm_call_s=self.products.call_s,
            copy_s_per_byte=ROW_COPIES * each / memory_Bps,
            panel_s_per_byte=each / memory_Bps,
            cache_bytes=CACHE_BYTES * self.threads,
        )


def cluster_of(
    platform: Platform, products: Products, *, threads: int, within_Bps: float, memory_Bps: float | None
) -> Cluster:
    """Return the cluster of a platform.

    Args:
        platform: One cluster of equal nodes; its options have SMPI's factors, overheads and thresholds.
        products: Of a core.
        threads: Of a rank.
        within_Bps: Rate of a large message inside a node, where the platform has no loopback.
        memory_Bps: Of a node; None: as the platform says, if it does.

    Raises:
        UserError: It has several clusters, or nodes with fewer cores than threads.
    """
    hosts, options = tuple(platform.hosts), dict(platform.options)
    if len(platform.clusters) > 1 or len({host.cores for host in hosts}) > 1:
        problem = "it has several clusters, or nodes of several kinds"
        raise UserError(f"platform {platform.name}", problem, "HPL is evaluated in one cluster of equal nodes")
    if not 1 <= threads <= hosts[0].cores:
        raise UserError(f"--threads {threads}", f"a node has {hosts[0].cores} cores", "Give at most these")
    names = [host.name for host in hosts[:2]]
    loop = routes_between(platform, [(names[0], names[0])])[0]
    if len(names) > 1:
        route = routes_between(platform, [(names[0], names[1])])[0]
        link_Bps = min(link.bandwidth_Bps for link in route.links)
        between = wire_segments(options, route.latency_s, link_Bps)
    else:
        link_Bps, between = math.inf, ((0.0, 0.0, 0.0),)
    crossed = {link.name for link in loop.links}
    own = len(crossed) == 1 and not any("UP" in name or "DOWN" in name for name in crossed)
    within = (
        wire_segments(options, loop.latency_s, min(link.bandwidth_Bps for link in loop.links))
        if own
        else ((0.0, WITHIN_S, 1 / within_Bps),)
    )
    eager = int(options.get("smpi/async-small-thresh", 0))
    curves = Curves(
        between, within, _overheads(options, "smpi/os"), _overheads(options, "smpi/or"),
        eager_bytes=eager, detached_bytes=max(eager, int(options.get("smpi/send-is-detached-thresh", 65536))),
    )  # fmt: skip
    known = memory_Bps if memory_Bps is not None else hosts[0].memory_Bps
    return Cluster(hosts, curves, link_Bps, known, products, threads)


def wire_segments(options: Mapping[str, str], latency_s: float, bandwidth_Bps: float) -> tuple[Segment, ...]:
    """Return the times on a route by size: latency and bandwidth times the factors in SMPI's options."""
    lat, bw = (_factors(options.get(f"smpi/{name}-factor", "0:1")) for name in ("lat", "bw"))
    starts = sorted({at for at, *_ in (*lat, *bw)} | {0.0})
    segments = []
    for start in starts:
        per_byte_s = 1 / (bandwidth_Bps * _at(bw, start)[0])
        segments.append((start, latency_s * _at(lat, start)[0] + HEADER_BYTES * per_byte_s, per_byte_s))
    return tuple(segments)


def _factors(text: str) -> list[tuple[float, ...]]:
    """Return the segments of an option such as ``0:1;65536:3``, ascending."""
    return sorted(tuple(float(number) for number in part.split(":")) for part in text.split(";") if part)


def _at(segments: Sequence[tuple[float, ...]], size: float) -> tuple[float, ...]:
    """Return the values of the segment that contains a size; 1 before the first."""
    before = [segment[1:] for segment in segments if segment[0] <= size]
    return before[-1] if before else (1.0,)


def _overheads(options: Mapping[str, str], name: str) -> tuple[Segment, ...]:
    """Return the overhead of a call by size: a time and a time per byte."""
    return tuple((at, base_s, per_byte_s) for at, base_s, per_byte_s, *_ in _factors(options.get(name, "")))
