"""Times of collectives by the shapes of their algorithms, which differ from the formulas of Table 1.

A shape adds up the rounds of an algorithm's longest path (rounds.py).  A round with messages of m bytes takes

    time = a L(m) + b w(m) max(node, r_cluster x cluster, r_between x between) + g x node

L and w are the latency and the transfer time of such a message alone, from the lines of the calibrated network
(wires.py).  node, cluster and between are the numbers of messages at the busiest process, in the busiest cluster's
network and on the busiest link between clusters.  r_cluster and r_between are the rate of a message alone over the rate
that the cluster's network, or the link, carries.  The regression finds a and b, which are near 1, and g, the time in
seconds that each message takes of its process whatever its size.  If a round has near and far messages, the later ones
count: the far ones start late, and the near ones share the network with all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from apps.traffic.collectives import all_to_all_algorithm
from predictor.blocks.calibration.fit import linear_fit, mean_percentage_error
from predictor.blocks.calibration.rounds import Load, Paths, Round, paths
from predictor.blocks.calibration.wires import Clustered, Layout, Wires

_SHARES = (0.0, *np.geomspace(1e-3, 4, 25).tolist())  # grid of values for each r, before refinement
_GOOD_PCT = 0.1  # mean error below which the r are not searched


def shape_of(block: str, block_bytes: float, processes: int) -> str:
    """Return the name of the shape of SMPI's algorithm; ``block_bytes`` is the block between two processes."""
    if block == "alltoall":
        return f"alltoall-{all_to_all_algorithm(processes, block_bytes)}"
    return "bcast-binomial" if block == "bcast" else f"{block}-linear"


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of a shape on one platform."""

    a: float  # factor of latencies
    b: float  # factor of transfer times
    g_s: float  # s per message of the busiest process
    r_cluster: float  # rate of a message over the rate of a cluster's network; 0: the network is never the bottleneck
    r_between: float  # the same for the links between clusters


@dataclass(frozen=True)
class Shape:
    """The time of one algorithm."""

    name: str  # a key of apps.traffic.collectives.ALGORITHMS
    coefficients: Coefficients

    def time_s(self, block_bytes: np.ndarray, processes: ArrayLike, *, layout: Clustered, wires: Wires) -> np.ndarray:
        """Return the time for each block size (for a broadcast, the vector's size) and number of processes, s."""
        c = self.coefficients
        columns = features(self.name, block_bytes, processes, c=c, layout=layout, wires=wires)
        time_s: np.ndarray = columns @ np.array([c.a, c.b, c.g_s])
        return time_s


def features(
    name: str, block_bytes: ArrayLike, processes: ArrayLike, *, c: Coefficients, layout: Clustered, wires: Wires
) -> np.ndarray:
    """Return the factors of a, b and g: sizes x (s, s, messages), for the path that is longest with a = b = 1."""
    sizes, counts = np.broadcast_arrays(np.asarray(block_bytes, dtype=float), np.asarray(processes, dtype=int))
    columns = np.zeros((len(sizes), 3))
    held = wires.held(sizes)
    for P, waits in product(np.unique(counts).tolist(), (False, True)):
        chosen = (counts == P) & (held == waits)
        if chosen.any():
            columns[chosen] = _of_paths(_paths(name, layout, P, waits), sizes[chosen], c=c, wires=wires)
    return columns


@lru_cache(maxsize=4096)
def _paths(name: str, layout: Clustered, processes: int, held: bool) -> Paths:
    return paths(name, layout.clusters(processes), held)


def _of_paths(round_paths: Paths, sizes: np.ndarray, *, c: Coefficients, wires: Wires) -> np.ndarray:
    """Return the factors of a, b and g for the longest path of each size."""
    of_rounds = np.stack(
        [_of_round(round_of_path, sizes, c=c, wires=wires) for round_of_path in round_paths.rounds]
    )  # rounds x sizes x 3
    sums = np.tensordot(round_paths.counts, of_rounds, axes=1)  # paths x sizes x 3
    longest = (sums[:, :, 0] + sums[:, :, 1]).argmax(axis=0)
    of_longest: np.ndarray = sums[longest, np.arange(len(sizes))]
    return of_longest


def _of_round(messages: Round, sizes: np.ndarray, *, c: Coefficients, wires: Wires) -> np.ndarray:
    """Return latency, transfer and messages (sizes x 3) of the last message that is waited for."""
    bytes_ = messages.blocks * sizes

    def way(far: bool, load: Load) -> np.ndarray:
        lines = wires.of(far)
        node = np.full_like(sizes, load.node)
        return np.stack([lines.latency(bytes_), lines.transfer(bytes_) * _crowd(load, c), node], axis=1)

    if messages.near is not None and messages.all is not None:  # alone until the far ones arrive, then among all
        alone, shared = way(False, messages.near), way(False, messages.all)
        head_start = wires.of(True).latency(bytes_) - alone[:, 0]
        shared[:, 0] += head_start * (1 - _crowd(messages.all, c) / _crowd(messages.near, c))
        return _later(alone, shared)
    ways = [way(far, load) for far, load in ((False, messages.all), (True, messages.far)) if load is not None]
    return ways[0] if len(ways) == 1 else _later(*ways)


def _later(first: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return for each size the row that ends later."""
    return np.where((other[:, :2].sum(axis=1) > first[:, :2].sum(axis=1))[:, None], other, first)


def _crowd(load: Load, c: Coefficients) -> float:
    """Return the factor by which contention lengthens a message's transfer."""
    return max(load.node, c.r_cluster * load.cluster, c.r_between * load.between)


@dataclass(frozen=True)
class Observations:
    """Measured times of one algorithm."""

    block_bytes: np.ndarray
    processes: np.ndarray
    time_s: np.ndarray


def fit_shape(name: str, seen: Observations, *, layout: Layout, wires: Wires, error: str = "mpe") -> Shape:
    """Fit the coefficients of a shape, all >= 0, to measured times.

    The formula is linear in a, b and g.  The two r are searched on a grid, one after the other in both orders, and then
    refined.

    Args:
        name: Name of the shape, a key of apps.traffic.collectives.ALGORITHMS.
        seen: The measured times.
        layout: Clusters of the processes.
        wires: Lines of the network.
        error: The error to be minimised, one of fit.ERRORS.
    """

    def columns(r: Shares) -> np.ndarray:
        alone = Coefficients(1.0, 1.0, 0.0, *r)
        return features(name, seen.block_bytes, seen.processes, c=alone, layout=layout, wires=wires)

    def rough(r: Shares) -> float:
        """Return the error of relative least squares, a fast estimate of the least error."""
        relative = columns(r) / seen.time_s[:, None]
        return float(np.abs(relative @ linear_fit(relative, np.ones(len(relative)), error="mse") - 1).mean())

    def fitted(r: Shares) -> tuple[float, Coefficients]:
        matrix = columns(r)
        fit = linear_fit(matrix, seen.time_s, error=error, nonnegative=True)
        a, b, g_s = fit.tolist()
        return mean_percentage_error(matrix @ fit, seen.time_s), Coefficients(a, b, g_s, *r)

    best = fitted((0.0, 0.0))
    if best[0] < _GOOD_PCT:  # only processes are bottlenecks
        return Shape(name, best[1])
    orders = ((0, 1), (1, 0)) if len(layout.hosts) > 1 else ((0,),)
    start = min((_along(order, rough) for order in orders), key=rough)
    best = min(best, fitted(start), key=lambda fitting: fitting[0])
    for step in (1.2, 1.05, 1.01):
        best = _refined(best, step, fitted)
    return Shape(name, best[1])


Shares = tuple[float, float]  # r_cluster, r_between


def _with(r: Shares, place: int, value: float) -> Shares:
    return (value, r[1]) if place == 0 else (r[0], value)


def _along(order: Sequence[int], error: Callable[[Shares], float]) -> Shares:
    """Return the best point of the grid, one coordinate after the other; of equals the least, where b is nearest 1."""
    r: Shares = (0.0, 0.0)
    for place in order:
        r = min((_with(r, place, share) for share in _SHARES), key=lambda trial: round(error(trial), 6))
    return r


def _refined(
    best: tuple[float, Coefficients], step: float, fitted: Callable[[Shares], tuple[float, Coefficients]]
) -> tuple[float, Coefficients]:
    """Return the best point that is reached by steps of a factor, in each coordinate that is not 0."""
    for place in (0, 1):
        for factor in (1 / step, step):
            while True:
                now = (best[1].r_cluster, best[1].r_between)
                if now[place] == 0:
                    break
                trial = fitted(_with(now, place, now[place] * factor))
                if trial[0] >= best[0] - 1e-9:
                    break
                best = trial
    return best
