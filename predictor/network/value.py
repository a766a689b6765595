"""Parts of a network that messages show: times by size and path, links, and protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

DETACHED_BELOW_BYTES = 65536  # smpi/send-is-detached-thresh


@dataclass(frozen=True)
class Protocol:
    """The sizes that decide whether a sender waits for its receiver and whether a message waits for its receive."""

    detached_below_bytes: float = DETACHED_BELOW_BYTES  # a smaller message is buffered: its sender does not block
    eager_below_bytes: float = 0  # a smaller message moves before its receive is posted
    envelope_bytes: float = 16  # added to the size of every message


@dataclass(frozen=True)
class Timing:
    """The times of messages by size on an idle network.  Segment s holds for sizes above ``above_bytes[s]``.

    Each class of paths has a row.  A message of n bytes alone takes latency_s + n / (factor * bound of its path).
    """

    above_bytes: np.ndarray  # f8, ascending, sizes of payload and envelope together; the first is below all sizes
    latency_s: np.ndarray  # f8, classes x segments
    factor: np.ndarray  # f8, classes x segments


@dataclass(frozen=True)
class DirectedPath:
    """The path between two hosts in one direction."""

    timing_class: int  # row of Timing
    bound_Bps: float  # upper bound of one flow's rate
    penalty: float  # flows share a link in proportion to 1 / penalty
    links: Mapping[str, float]  # bytes of each link that one byte of the flow uses


@dataclass(frozen=True)
class Unexplained:
    """A cluster in which the links found do not explain all sharing."""

    cluster: str
    hosts: frozenset[str]
    excess_rel: float  # excess time of simultaneous messages between all its nodes over the time by the links
