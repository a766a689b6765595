"""The longest path of a run: what is done one after another on it, and how long a machine takes for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Params = Mapping[str, Any]  # parameters of a problem

LARGE_BYTES = 65536  # from this size on a message is announced and answered before it is sent (rendezvous protocol)
_CROSSINGS = 3  # of the network by a large message: request, answer, data


@dataclass(frozen=True)
class Speeds:
    """A machine: what one core computes, and what one node moves."""

    core_flops: float  # l_c
    memory_Bps: float  # b_m, of a node; inf: memory never limits
    network_Bps: float  # b_cl, of the link of a node, in each direction
    latency_s: float  # of a small message between two nodes
    inside_Bps: float = float("inf")  # of every single message within a node
    inside_is_network: bool = False  # True: messages within a node cross its link, with its latency and bandwidth


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

    def compute_s(self, on: Speeds) -> float:
        """Return the time of the operations, s."""
        return self.operations / on.core_flops

    def memory_s(self, on: Speeds) -> float:
        """Return the time for which cores wait for their node's memory, s."""
        return self.memory_bytes / on.memory_Bps

    def latency_s(self, on: Speeds) -> float:
        """Return the part of the messages' time that is latency, s."""
        inside = self.inside_messages + _CROSSINGS * self.inside_large_messages if on.inside_is_network else 0.0
        return (self.latencies + inside) * on.latency_s

    def exchange_s(self, on: Speeds) -> float:
        """Return the time of the messages, s, with their latency."""
        inside_s = self.inside_bytes / on.network_Bps if on.inside_is_network else self.copied_bytes / on.inside_Bps
        return self.link_bytes / on.network_Bps + inside_s + self.latency_s(on)

    def time_s(self, on: Speeds) -> float:
        """Return the time of the whole path, s.

        Two nodes that compute 1e9 operations on each of their cores and then send 1 Mbyte each way:

        >>> one = Path(operations=1e9, link_bytes=1e6, large_messages=1)
        >>> round(one.time_s(Speeds(1e9, float("inf"), 1e9, latency_s=1e-6)), 9)
        1.001003
        """
        return self.compute_s(on) + self.memory_s(on) + self.exchange_s(on)


_FIELDS = tuple(one.name for one in fields(Path))


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
        """Return the path of messages of these sizes, one after another, each sent so many times."""
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
