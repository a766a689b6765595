"""Times of collectives by the shapes of their algorithms, which differ from the formulas of Table 1.

A shape adds up the rounds of an algorithm's longest path.  A round with messages of m bytes takes

    time = a L(m) + b w(m) max(node, r_cluster x cluster, r_between x between) + g x node

L and w are the latency and the transfer time of such a message alone, from the lines of the calibrated network
(fit.py).  node, cluster and between are the numbers of messages at the busiest process, in the busiest cluster's
network and on the busiest link between clusters.  r_cluster and r_between are the rate of a message alone over the rate
that the cluster's network, or the link, carries.  The regression finds a and b, which are near 1, and g, the time in
seconds that each message takes of its process whatever its size.  If a round has near and far messages, the later ones
count: the far ones start late, and the near ones share the network with all.

Messages of collectives: which of them wait for each other, how many share the busiest resources, and their sizes.

The algorithms are those of apps/traffic/collectives.py, which dpgraph and the graph of blocks use too.  A round is
a set of messages that are in flight together.  A path is a chain of rounds of which each waits for the previous one; a
collective takes as long as its longest path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from apps.recording.events import Op
from apps.traffic.collectives import ALGORITHMS, Call, all_to_all_algorithm
from predictor.blocks.calibration.fit import Clustered, Layout, Wires, linear_fit, mean_percentage_error

_SHARES = (0.0, *np.geomspace(1e-3, 4, 25).tolist())  # grid of values for each r, before refinement
_GOOD_PCT = 0.1  # mean error below which the r are not searched


@dataclass(frozen=True)
class Load:
    """Numbers of messages of a round at the busiest places."""

    node: int  # messages that one process sends, or that one process receives
    cluster: int  # messages that cross the network of one cluster: those within it, and those that leave or enter it
    between: int  # messages that cross the link between one pair of clusters, both directions together


@dataclass(frozen=True)
class Round:
    """Messages of equal size that are in flight together.  The next round waits for all of them if ``near`` is None."""

    blocks: int  # size of each message, in blocks of the collective
    all: Load | None  # load of all messages; None: no message stays within a cluster
    far: Load | None  # load of the messages between clusters; None: there are none
    near: Load | None = None  # load of the messages within a cluster, if only these are waited for


@dataclass(frozen=True)
class Paths:
    """Chains of rounds; path p has round r ``counts[p, r]`` times."""

    rounds: tuple[Round, ...]
    counts: np.ndarray  # paths x rounds

    @classmethod
    def of(cls, chains: Sequence[Sequence[Round]]) -> Paths:
        """Return the paths of these chains, without duplicates of rounds and chains."""
        rounds = tuple(dict.fromkeys(round_of_chain for chain in chains for round_of_chain in chain))
        place = {round_of_chain: i for i, round_of_chain in enumerate(rounds)}
        counts = np.zeros((len(chains), len(rounds)))
        for row, chain in zip(counts, chains, strict=True):
            for round_of_chain in chain:
                row[place[round_of_chain]] += 1
        return cls(rounds, np.unique(counts, axis=0))


def paths(name: str, cluster: np.ndarray, held: bool) -> Paths:
    """Return the paths of an algorithm.

    Args:
        name: A key of apps.traffic.collectives.ALGORITHMS.
        cluster: The cluster of each process.
        held: Whether the sender of a broadcast waits until a message has arrived before it begins the next one.
    """
    step, source, destination, blocks = _messages(name, len(cluster))
    if name == "bcast-binomial":
        return _tree(source, destination, cluster, held)
    each = [step == number for number in np.unique(step)]
    return Paths.of([[_round(source[here], destination[here], cluster, int(blocks[here][0])) for here in each]])


def _messages(name: str, processes: int) -> np.ndarray:
    """Return the messages: the sender's step, sender, receiver and size in blocks (4 x messages)."""
    messages = [
        (number, rank, partner, blocks)
        for rank in range(processes)
        for number, message in enumerate(ALGORITHMS[name](Call(Op.ALLTOALL, rank, processes, 0, 1, ())))
        for is_send, partner, blocks in message.operations
        if is_send
    ]
    columns = np.array(messages, int).reshape(-1, 4).T
    columns[3] = np.maximum(columns[3], 1)  # a barrier's messages are empty
    return columns


def _tree(parent: np.ndarray, place: np.ndarray, cluster: np.ndarray, held: bool) -> Paths:
    """Return the paths of a broadcast in which each process sends to its children, the farthest first.

    If senders are held, messages of equal reach are in flight together.  Otherwise a sender sends to all its children
    at once, and so do all senders of its generation.
    """
    order = np.argsort(parent - place, kind="stable")  # in the order in which the vector reaches them
    parent, place = parent[order], place[order]
    together = parent - place if held else np.array([rank.bit_count() for rank in place.tolist()])
    distant = cluster[parent] != cluster[place]
    children, far_children = np.bincount(parent), np.bincount(parent, distant).astype(int)
    loads = {
        int(when): _load(parent[together == when], place[together == when], cluster) for when in np.unique(together)
    }
    chains: list[list[Round]] = [[] for _ in cluster]
    for r, p, when, is_far in zip(place.tolist(), parent.tolist(), together.tolist(), distant.tolist(), strict=True):
        sent, sent_far = (1, int(is_far)) if held else (int(children[p]), int(far_children[p]))
        chains[r] = [*chains[p], _hop(is_far, sent, sent_far, loads[when])]
        if held:
            chains[p] = chains[r]  # the parent sends the next message, of shorter reach, when this one has arrived
    return Paths.of(chains[1:])


def _hop(is_far: bool, sent: int, sent_far: int, generation: Load) -> Round:
    """Return the round of a message to one child; its parent sends ``sent`` at once, ``sent_far`` to other clusters."""

    def load(messages: int) -> Load | None:
        return Load(messages, generation.cluster, generation.between) if messages else None

    near = sent - sent_far
    if is_far:
        return Round(1, load(sent) if near else None, load(sent_far))
    return Round(1, load(sent), None, load(near) if sent_far else None)


def _round(source: np.ndarray, destination: np.ndarray, cluster: np.ndarray, blocks: int) -> Round:
    far = cluster[source] != cluster[destination]
    return Round(
        blocks,
        None if far.all() else _load(source, destination, cluster),
        _load(source[far], destination[far], cluster) if far.any() else None,
    )


def _load(source: np.ndarray, destination: np.ndarray, cluster: np.ndarray) -> Load:
    here, there = cluster[source], cluster[destination]
    far = here != there
    crossing = np.bincount(np.concatenate([here, there[far]]))
    pairs = np.minimum(here, there)[far] * (cluster.max() + 1) + np.maximum(here, there)[far]
    return Load(
        int(max(np.bincount(source).max(), np.bincount(destination).max())),
        int(crossing.max()),
        int(np.bincount(pairs).max()) if len(pairs) else 0,
    )


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
