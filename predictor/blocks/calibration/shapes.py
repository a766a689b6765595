"""Times of collectives by the shape of their algorithm, where Table 1's formula has another.

A shape adds up the rounds of an algorithm's longest path (rounds.py).  Of a round with messages of m bytes,

    time = a L(m) + b w(m) max(node, r_cluster x cluster, r_between x between) + g x node

L and w: latency and transfer time of such a message alone, from the lines of the calibrated network (wires.py); node,
cluster, between: how many messages meet at the busiest process, in the busiest cluster's network, on the busiest link
between clusters; r: the rate of a message alone over the rate that those carry; a and b, near 1, and g, the seconds
that a message takes of its process whatever its size, are the regression's.  Where near and far messages share a round,
the later of them counts: the far ones start late, the near ones have to share with all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from predictor.blocks.calibration.fit import linear_fit, mean_percentage_error
from predictor.blocks.calibration.rounds import ALGORITHMS, Load, Paths, Round
from predictor.blocks.calibration.wires import Clustered, Layout, Wires
from predictor.dpgraph.collectives import all_to_all_algorithm

_SHARES = (0.0, *np.geomspace(1e-3, 4, 25).tolist())  # tried for r, before it is refined
_GOOD_PCT = 0.1  # mean error that needs no search


def shape_of(block: str, block_bytes: float, processes: int) -> str:
    """The name of the shape of SMPI's algorithm; ``block_bytes``: between two processes."""
    if block == "alltoall":
        return f"alltoall-{all_to_all_algorithm(processes, block_bytes)}"
    return {
        "bcast": "bcast-binomial",
        "scatter": "scatter-linear",
        "gather": "gather-linear",
        "barrier": "barrier-linear",
    }[block]


@dataclass(frozen=True)
class Coefficients:
    """Of a shape on one platform."""

    a: float  # of latencies
    b: float  # of transfers
    g_s: float  # s per message of the busiest process
    r_cluster: float  # of a message's rate, per rate of a cluster's network; 0: it carries everything
    r_between: float  # the same of the links between clusters


@dataclass(frozen=True)
class Shape:
    """The time of one algorithm."""

    name: str  # of ALGORITHMS
    coefficients: Coefficients

    def time_s(self, block_bytes: np.ndarray, processes: int, *, layout: Clustered, wires: Wires) -> np.ndarray:
        """For blocks of these sizes (the vector of a broadcast) among so many processes, s."""
        c = self.coefficients
        found = features(self.name, block_bytes, processes, c, layout=layout, wires=wires)
        time_s: np.ndarray = found @ np.array([c.a, c.b, c.g_s])
        return time_s


def features(
    name: str, block_bytes: np.ndarray, processes: int, c: Coefficients, *, layout: Clustered, wires: Wires
) -> np.ndarray:
    """What a, b and g multiply, for each size: sizes x (s, s, messages), of the path that is longest with a = b = 1."""
    sizes = np.asarray(block_bytes, dtype=float)
    found = np.zeros((len(sizes), 3))
    held = wires.held(sizes)
    for waits in (False, True):
        chosen = held == waits
        if chosen.any():
            found[chosen] = _of_paths(_paths(name, layout, processes, waits), sizes[chosen], c, wires)
    return found


@lru_cache(maxsize=4096)
def _paths(name: str, layout: Clustered, processes: int, held: bool) -> Paths:
    return ALGORITHMS[name](layout.clusters(processes), held)


def _of_paths(paths: Paths, sizes: np.ndarray, c: Coefficients, wires: Wires) -> np.ndarray:
    """Of the longest path for each size."""
    of_rounds = np.stack([_of_round(one, sizes, c, wires) for one in paths.rounds])  # rounds x sizes x 3
    sums = np.tensordot(paths.counts, of_rounds, axes=1)  # paths x sizes x 3
    longest = (sums[:, :, 0] + sums[:, :, 1]).argmax(axis=0)
    of_longest: np.ndarray = sums[longest, np.arange(len(sizes))]
    return of_longest


def _of_round(one: Round, sizes: np.ndarray, c: Coefficients, wires: Wires) -> np.ndarray:
    """Latency, transfer, messages: sizes x 3, of the messages that come last of those that are waited for."""
    bytes_ = one.blocks * sizes

    def way(far: bool, load: Load) -> np.ndarray:
        lines = wires.of(far)
        node = np.full_like(sizes, load.node)
        return np.stack([lines.latency(bytes_), lines.transfer(bytes_) * _crowd(load, c), node], axis=1)

    if one.near is not None and one.all is not None:  # alone as long as the far ones are on their way, then among all
        alone, shared = way(False, one.near), way(False, one.all)
        head_start = wires.of(True).latency(bytes_) - alone[:, 0]
        shared[:, 0] += head_start * (1 - _crowd(one.all, c) / _crowd(one.near, c))
        return _later(alone, shared)
    ways = [way(far, load) for far, load in ((False, one.all), (True, one.far)) if load is not None]
    return ways[0] if len(ways) == 1 else _later(*ways)


def _later(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """For each size the one that ends later."""
    return np.where((other[:, :2].sum(axis=1) > one[:, :2].sum(axis=1))[:, None], other, one)


def _crowd(load: Load, c: Coefficients) -> float:
    """How many times a message's transfer takes as long as alone."""
    return max(load.node, c.r_cluster * load.cluster, c.r_between * load.between)


@dataclass(frozen=True)
class Observations:
    """Measured times of one algorithm."""

    block_bytes: np.ndarray
    processes: np.ndarray
    time_s: np.ndarray


def fit_shape(name: str, seen: Observations, *, layout: Layout, wires: Wires, error: str = "mpe") -> Shape:
    """The shape whose coefficients minimise the error, none of them below 0.

    a, b and g are linear; for the two r a grid is searched, one after the other from both ends, then refined.
    """

    def columns(r: Shares) -> np.ndarray:
        return _columns(name, seen, Coefficients(1.0, 1.0, 0.0, *r), layout, wires)

    def rough(r: Shares) -> float:
        """The error by relative least squares: quick, and not far from the least one."""
        relative = columns(r) / seen.time_s[:, None]
        return float(np.abs(relative @ linear_fit(relative, np.ones(len(relative)), error="mse") - 1).mean())

    def fitted(r: Shares) -> tuple[float, Coefficients]:
        matrix = columns(r)
        found = linear_fit(matrix, seen.time_s, error=error, nonnegative=True)
        a, b, g_s = found.tolist()
        return mean_percentage_error(matrix @ found, seen.time_s), Coefficients(a, b, g_s, *r)

    best = fitted((0.0, 0.0))
    if best[0] < _GOOD_PCT:  # nothing but processes is crowded
        return Shape(name, best[1])
    orders = ((0, 1), (1, 0)) if len(layout.hosts) > 1 else ((0,),)
    start = min((_along(order, rough) for order in orders), key=rough)
    best = min(best, fitted(start), key=lambda one: one[0])
    for step in (1.2, 1.05, 1.01):
        best = _refined(best, step, fitted)
    return Shape(name, best[1])


Shares = tuple[float, float]  # r_cluster, r_between


def _with(r: Shares, place: int, value: float) -> Shares:
    return (value, r[1]) if place == 0 else (r[0], value)


def _along(order: Sequence[int], error: Callable[[Shares], float]) -> Shares:
    """The best of the grid, one coordinate after the other; of equals the least, where b is nearest to 1."""
    r: Shares = (0.0, 0.0)
    for place in order:
        r = min((_with(r, place, share) for share in _SHARES), key=lambda trial: round(error(trial), 6))
    return r


def _refined(
    best: tuple[float, Coefficients], step: float, fitted: Callable[[Shares], tuple[float, Coefficients]]
) -> tuple[float, Coefficients]:
    """The best that can be reached by steps of a factor, in each coordinate that is not 0."""
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


def _columns(name: str, seen: Observations, c: Coefficients, layout: Layout, wires: Wires) -> np.ndarray:
    """Observations x (latency, transfer, messages)."""
    matrix = np.zeros((len(seen.time_s), 3))
    for P in np.unique(seen.processes):
        rows = seen.processes == P
        matrix[rows] = features(name, seen.block_bytes[rows], int(P), c, layout=layout, wires=wires)
    return matrix
