"""Predict collective operations of two nodes from OSU's tables of single messages, on a network not yet tried.

    .venv/bin/python examples/real/collectives.py examples/real/published/csd3-messages.csv --known ib --network roce

The table has the columns network, benchmark (latency, mbw_mr, biband, allreduce, allgather, alltoall), active_ranks,
size_bytes, time_us and bandwidth_MB_per_s.  latency, biband of many pairs and mbw_mr of one pair describe a network.
What they do not tell, messages inside a node, is fitted to the collective operations of the known network, and kept for
the other one (docs/results/csd3.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [path for path in (str(ROOT),) if path not in sys.path]

from apps.options.exit_status import exit_status  # noqa: E402 (found by the line above)
from platforms.command.parser import CommandParser  # noqa: E402
from platforms.errors import UserError  # noqa: E402
from platforms.files.commented_csv import checked_rows  # noqa: E402

COLUMNS = ("network", "benchmark", "active_ranks", "size_bytes", "time_us", "bandwidth_MB_per_s")
COLLECTIVES = ("allreduce", "allgather", "alltoall")
# Sizes at which Open MPI 3 and 4 change the algorithm for 12 ranks and more (coll_tuned_decision_fixed.c, as described
# in its documentation): bytes of a rank, of all ranks together for an allgather.
BRUCK_BELOW, PAIRWISE_FROM, RECURSIVE_BELOW, RING_FROM = 200, 3000, 50_000, 10_000
ADAPTER_FROM = (
    16_384  # UCX without copies by the kernel: larger messages inside a node take the way through the adapter
)
_CACHES = 400e6  # bytes of the buffers of a node's ranks from which they are read from memory
_LEVEL = 0.9  # of the intervals
_SOFT, _HOLD = 0.03, 0.02  # of the fit: residuals below are alike; how firmly parameters stay where they begin


@dataclass(frozen=True)
class Node:
    """Messages inside a node, and what ranks compute; bandwidths in MB/s are bytes per us."""

    latency_us: float = 0.7
    memory: float = 107e3  # of all messages below ADAPTER_FROM together
    handshake_us: float = 1.0  # of larger ones
    adapter: float = 24e3  # of all larger ones together
    adapter_filled: float = 24e3  # the same where buffers fill more than the caches
    adapter_cold: float = 15.7e3  # the same where they are read for the first time: all-to-all
    sums: float = 8e3  # of an allreduce, by rank
    packing_us: float = 2.0  # of a step of Bruck's algorithm
    gap_us: float = 0.2  # between two messages that a rank posts


@dataclass(frozen=True)
class Network:
    """Messages between the nodes."""

    latency_us: Mapping[int, float]  # of a lone message, by size
    rate: Mapping[int, float]  # MB/s each way of as many messages at once as a node has ranks, by size
    alone: Mapping[int, float]  # MB/s of one pair, by size

    @property
    def unbatched(self) -> Network:
        """The network if messages of different ranks get through it no faster than those of one rank."""
        return replace(self, rate=self.alone)

    def time_us(self, size: float, messages: int) -> float:
        """Return the time of messages that leave a node at once."""
        return self._latency_of(size) + (messages - 1) * size / self._rate_of(size)

    @cached_property
    def _latency_of(self) -> Callable[[float], float]:
        return _between(self.latency_us)

    @cached_property
    def _rate_of(self) -> Callable[[float], float]:
        return _between(self.rate)


def _between(points: Mapping[int, float]) -> Callable[[float], float]:
    """Return a function of the size that passes through measured values, along lines in logarithms."""
    sizes = sorted(known for known in points if known > 0)
    at, values = np.log(sizes), np.log([points[known] for known in sizes])
    return lru_cache(None)(lambda size: float(np.exp(np.interp(np.log(max(size, 1)), at, values))))


@dataclass(frozen=True)
class Pair:
    """Two nodes with the same number of ranks."""

    ranks: int  # of a node
    network: Network
    node: Node

    def inside_us(self, size: float, messages: int, adapter: float) -> float:
        """Return the time of messages inside a node at once."""
        if size < ADAPTER_FROM:
            return self.node.latency_us + messages * size / self.node.memory
        return self.node.latency_us + self.node.handshake_us + messages * size / adapter

    def step_us(self, size: float, across: int, inside: int, adapter: float) -> float:
        """Return the time of a step in which every rank sends one message; the adapter carries all large ones."""
        times = [0.0]
        if across:
            times.append(self.network.time_us(size, across))
        if inside:
            times.append(self.inside_us(size, inside, adapter))
        if across and inside and size >= ADAPTER_FROM:
            times.append(self.network.time_us(1, 1) + (across + inside) * size / adapter)
        return max(times)

    def time_us(self, operation: str, size: int) -> float:
        """Return the time of a collective operation by the bytes of a rank, for each rank in an all-to-all."""
        return {"allreduce": self._allreduce, "allgather": self._allgather, "alltoall": self._alltoall}[operation](size)

    def _doubling(self, sizes: Sequence[float]) -> float:
        """Return the time of steps with partners at distances 1, 2, 4, ... and messages of these sizes."""
        steps, node = enumerate(sizes), self.node
        return sum(
            self.step_us(size, self.ranks, 0, node.adapter)
            if 2**k >= self.ranks
            else self.step_us(size, 0, self.ranks, node.adapter)
            for k, size in steps
        )

    def _allreduce(self, size: int) -> float:
        count = int(np.log2(2 * self.ranks))
        if size < RING_FROM:
            return self._doubling([size] * count) + count * size / self.node.sums
        part, ranks = size / (2 * self.ranks), 2 * self.ranks
        # Steps of a ring overlap: one takes the mean of the times of all its messages.
        inside = self.step_us(part, 0, self.ranks - 1, self.node.adapter)
        step = (2 * self.network.time_us(part, 1) + (ranks - 2) * inside) / ranks
        return 2 * (ranks - 1) * step + (ranks - 1) * part / self.node.sums

    def _allgather(self, size: int) -> float:
        ranks = 2 * self.ranks
        if size * ranks < RECURSIVE_BELOW:
            return self._doubling([size * 2**k for k in range(int(np.log2(ranks)))])
        full = 2 * size * ranks * self.ranks > _CACHES
        adapter = self.node.adapter_filled if full else self.node.adapter
        first = self.step_us(size, 0, self.ranks, adapter)
        return first + (ranks / 2 - 1) * self.step_us(2 * size, 1, self.ranks - 1, adapter)

    def _alltoall(self, size: int) -> float:
        ranks, node = 2 * self.ranks, self.node
        if size < BRUCK_BELOW:
            distances = [2**k for k in range(int(np.log2(ranks)))]
            steps = [self.step_us(size * self.ranks, d, self.ranks - d, node.adapter) for d in distances]
            return sum(steps) + len(steps) * node.packing_us
        adapter = node.adapter_cold if size * ranks * self.ranks > _CACHES else node.adapter
        if size < PAIRWISE_FROM:
            inside = self.ranks * size / node.memory + node.gap_us
            return self.network.time_us(size, self.ranks**2) + (self.ranks - 1) * inside
        across = [min(i, ranks - i) for i in range(1, ranks)]
        return sum(self.step_us(size, count, self.ranks - count, adapter) for count in across)


@dataclass(frozen=True)
class Measured:
    """A measured collective operation."""

    operation: str
    size: int
    time_us: float


def read(path: str, network: str) -> tuple[int, Network, list[Measured]]:
    """Return the ranks of a node, the network and the measured collective operations of a table.

    Raises:
        UserError: The table cannot be read, or lacks rows.
    """
    rows = [row for _, row in checked_rows(path, COLUMNS, "Give a CSV table") if row["network"] == network]
    try:
        latency = {int(row["size_bytes"]): float(row["time_us"]) for row in rows if row["benchmark"] == "latency"}
        alone, pairs = _rates(rows, "mbw_mr")
        _, both_ways = _rates(rows, "biband")
        made = [
            Measured(row["benchmark"], int(row["size_bytes"]), float(row["time_us"]))
            for row in rows
            if row["benchmark"] in COLLECTIVES
        ]
    except ValueError as err:
        raise UserError(path, f"not a number: {err}", "Correct it") from None
    most = max((int(row["active_ranks"]) for row in rows if row["benchmark"] == "mbw_mr"), default=0)
    if not (latency and both_ways and alone) or alone is pairs or most & (most - 1):
        problem = f"network {network!r} has no rows of latency, of biband, and of mbw_mr with 2 and 2^k ranks"
        raise UserError(path, problem, "Give them, or another network")
    rate = {size: value / 2 for size, value in both_ways.items()}
    return most // 2, Network(latency, rate, alone), made


def _rates(rows: Sequence[Mapping[str, str]], benchmark: str) -> tuple[dict[int, float], dict[int, float]]:
    """Return the rates by size of the fewest and of the most ranks of a benchmark; the same if there is one number."""
    by_ranks: dict[int, dict[int, float]] = {}
    for row in rows:
        if row["benchmark"] == benchmark:
            mine = by_ranks.setdefault(int(row["active_ranks"]), {})
            mine[int(row["size_bytes"])] = float(row["bandwidth_MB_per_s"])
    return by_ranks.get(min(by_ranks, default=0), {}), by_ranks.get(max(by_ranks, default=0), {})


def errors(pair: Pair, measured: Sequence[Measured]) -> np.ndarray:
    """Return the logarithms of predicted over measured times."""
    return np.array([np.log(pair.time_us(one.operation, one.size) / one.time_us) for one in measured])


def fitted(ranks: int, network: Network, measured: Sequence[Measured]) -> Node:
    """Return the node with which the collective operations of a network come nearest."""
    from scipy.optimize import minimize

    begun, names = Node(), [one.name for one in fields(Node)]

    def node(logs: np.ndarray) -> Node:
        return replace(
            begun, **{name: getattr(begun, name) * np.exp(log) for name, log in zip(names, logs, strict=True)}
        )

    def loss(logs: np.ndarray) -> float:
        far = errors(Pair(ranks, network, node(logs)), measured)
        return float(np.sqrt(far**2 + _SOFT**2).sum() + _HOLD * (logs**2).sum())

    logs = np.zeros(len(names))
    for _ in range(3):
        logs = minimize(loss, logs, method="Powell", options={"maxiter": 4}).x
    return node(logs)


def uncertainty(ranks: int, network: Network, measured: Sequence[Measured]) -> float:
    """Return the 0.9 quantile of the logarithmic errors of operations that are left out of the fit, without sign."""
    far: list[float] = []
    for operation in COLLECTIVES:
        others = [one for one in measured if one.operation != operation]
        rest = [one for one in measured if one.operation == operation]
        far += errors(Pair(ranks, network, fitted(ranks, network, others)), rest).tolist()
    return float(np.quantile(np.abs(far), _LEVEL))


def interval(pair: Pair, one: Measured, spread: float) -> tuple[float, float]:
    """Return the ends of the 90 % interval of a time, us.

    Messages of all ranks of a node at once pass as fast as in the benchmark of many pairs, or no faster than those of a
    single rank; ``spread`` is the ``uncertainty`` of both.
    """
    slow = replace(pair, network=pair.network.unbatched)
    times = [some.time_us(one.operation, one.size) for some in (pair, slow)]
    return min(times) * float(np.exp(-spread)), max(times) * float(np.exp(spread))


def run(args: argparse.Namespace) -> int:
    """Fit, predict and print."""
    ranks, network, measured = read(args.table, args.known)
    node = fitted(ranks, network, measured)
    _, other, asked = read(args.table, args.network)
    known, pair = Pair(ranks, network, node), Pair(ranks, other, node)
    spread = uncertainty(ranks, network, measured)
    print("operation,size_bytes,predicted_us,low_us,high_us,measured_us,error,ratio_error")
    of_known = dict(zip(((one.operation, one.size) for one in measured), errors(known, measured), strict=True))
    ratios = []
    for one, error in zip(asked, errors(pair, asked), strict=True):
        ratios.append(error - of_known.get((one.operation, one.size), np.nan))
        low, high = interval(pair, one, spread)
        times = f"{pair.time_us(one.operation, one.size):.2f},{low:.2f},{high:.2f},{one.time_us:.2f}"
        print(f"{one.operation},{one.size},{times},{np.expm1(error):+.3f},{np.expm1(ratios[-1]):+.3f}")
    medians = [
        float(np.nanmedian(np.abs(np.expm1(some)))) for some in (list(of_known.values()), errors(pair, asked), ratios)
    ]
    print(
        f"median error: {args.known}, fitted {medians[0]:.1%}; {args.network} {medians[1]:.1%}; ratio {medians[2]:.1%}"
    )
    return 0


def main() -> int:
    """Run the command and return its exit status."""
    parser = CommandParser(prog="examples/real/collectives.py", description=__doc__)
    parser.add_argument("table", help="CSV table")
    parser.add_argument("--known", required=True, help="network whose collective operations are known")
    parser.add_argument("--network", required=True, help="network whose collective operations are predicted")
    args = parser.parse_args()
    return exit_status(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
