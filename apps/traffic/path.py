"""The longest path of a run: the operations, bytes and messages that follow one another on it.

A kernel that declares its path for every number q of ranks on each of p nodes has a module ``longest_path.py`` in its
folder, with the functions ``operations(params)`` (#op), ``longest_path(params, q, p, bytes_per_flop)`` and, if some
choices of parameters are not counted, ``cautions(params)``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from apps.traffic.collectives import all_to_all_algorithm

LARGE_BYTES = 65536  # from this size on a message is announced and answered before it is sent (rendezvous protocol)
_CROSSINGS = 3  # of the network by a large message: request, answer, data


@dataclass(frozen=True)
class Path:
    """Operations, bytes and messages of a run that follow one another.

    ``link_bytes`` are those of the busiest node: of all that its cores send or receive at the same time, their sum.
    """

    operations: float = 0.0  # of one core
    memory_bytes: float = 0.0  # that the cores of a node move, all together, while others of them wait
    link_bytes: float = 0.0  # between nodes
    inside_bytes: float = 0.0  # between the cores of one node, all together
    copied_bytes: float = 0.0  # the same, of one core alone: copies through memory do not wait for each other
    messages: float = 0.0  # between nodes, each of which waits for the one before; shorter than LARGE_BYTES
    large_messages: float = 0.0  # the same, from LARGE_BYTES on
    inside_messages: float = 0.0  # between the cores of one node
    inside_large_messages: float = 0.0

    def __add__(self, other: Path) -> Path:
        return Path(*(getattr(self, name) + getattr(other, name) for name in _FIELDS))

    def __mul__(self, times: float) -> Path:
        return Path(*(times * getattr(self, name) for name in _FIELDS))

    @property
    def latencies(self) -> float:
        """Number of times that the path crosses the network between nodes and waits for its latency."""
        return self.messages + _CROSSINGS * self.large_messages

    @property
    def inside_latencies(self) -> float:
        """The same within nodes, of messages that cross the network there too."""
        return self.inside_messages + _CROSSINGS * self.inside_large_messages


_FIELDS = tuple(field.name for field in fields(Path))


@dataclass(frozen=True)
class Route:
    """The way of messages of one size that many ranks send at the same time, in one stage or several."""

    crossing: float = 0.0  # number of stages in which messages go from node to node
    load: float = 0.0  # messages that leave or enter the busiest node at the same time, summed over these stages
    staying: float = 0.0  # number of stages in which messages stay inside their nodes
    beside: float = 0.0  # messages inside one node at the same time, summed over these stages

    def __add__(self, other: Route) -> Route:
        return Route(
            self.crossing + other.crossing,
            self.load + other.load,
            self.staying + other.staying,
            self.beside + other.beside,
        )

    def __mul__(self, times: float) -> Route:
        return Route(times * self.crossing, times * self.load, times * self.staying, times * self.beside)

    def path(self, size_bytes: npt.ArrayLike, times: npt.ArrayLike = 1.0) -> Path:
        """Return the path of messages of these sizes, one after another, each sent ``times`` times."""
        size, number = np.broadcast_arrays(np.asarray(size_bytes, float), np.asarray(times, float))
        total, count = float((size * number).sum()), float(number.sum())
        large = float(number[size >= LARGE_BYTES].sum())
        return Path(
            link_bytes=self.load * total,
            inside_bytes=self.beside * total,
            copied_bytes=self.staying * total,
            messages=self.crossing * (count - large),
            large_messages=self.crossing * large,
            inside_messages=self.staying * (count - large),
            inside_large_messages=self.staying * large,
        )


def even_path(operations: float, q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of operations that all ranks share evenly."""
    return Path(operations=operations / (q * p), memory_bytes=bytes_per_flop * operations / p)


def all_to_all_path(block_bytes: float, q: int, p: int) -> Path:
    """Return the path of an all-to-all of blocks of this size, by the algorithm that SMPI chooses for them."""
    ranks = q * p
    if ranks == 1:
        return Path()
    chosen = all_to_all_algorithm(ranks, block_bytes)
    if chosen == "linear":  # all messages at once: those within a node are over before the others
        inside = q * (q - 1.0)
        return (Route(staying=1, beside=inside) if p == 1 else Route(1, q * (ranks - q), 0, inside)).path(block_bytes)
    if chosen == "pairwise":  # with the rank whose number differs in the bits of 1, 2 ...
        return Route(ranks - q, q * (ranks - q), q - 1, q * (q - 1)).path(block_bytes)
    whole_path, reach = Path(), 1  # Bruck: half of the blocks to the rank 1, 2, 4 ... further on
    while reach < ranks:
        blocks = sum(1 for distance in range(1, ranks) if distance & reach)
        across = min(q, reach)
        route = Route(1, across, 0, q - across) if p > 1 else Route(staying=1, beside=q)
        whole_path += route.path(block_bytes * blocks)
        reach *= 2
    return whole_path
