"""Reports of the router, the pacers and the keeper of an emulated grid."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class RouterTally:
    """Work of the router; a packet is late by the time between its computed and its true delivery."""

    wall_s: float
    cpu_s: float
    delivered: int  # packets
    lost: int  # packets dropped by a full queue or a node
    very_late: int  # packets: later than 0.5 ms
    mean_late_s: float
    most_late_s: float
    most_waiting_bytes: float  # in the longest queue


@dataclass(frozen=True)
class RankTally:
    """Work of the pacer of one rank, from MPI_Init to MPI_Finalize."""

    host: str
    wall_s: float
    cpu_s: float
    queued_s: float  # time it was runnable while the processor was busy with others
    held_s: float  # slept, because the node is slower than this machine
    short_s: float  # time by which the rank fell behind its node; it may have caught up later
    lost_s: float  # the part of it that it cannot catch up
    holds: int
    operations_told: int  # calls in which the program reported its counted operations


@dataclass(frozen=True)
class Report:
    """Everything known about a command that ran on an emulated grid."""

    status: int | None  # of the command; None: it was stopped
    error: str | None  # of the emulation
    router: RouterTally | None
    ranks: tuple[RankTally, ...]


def read_report(lines: Iterable[str]) -> Report:
    """Return the report written by apps/emulate/grid as lines of JSON."""
    status, error, router = None, None, None
    ranks = []
    for line in lines:
        for key, value in json.loads(line).items():
            if key == "status":
                status = value
            elif key == "error":
                error = error or value  # the first one is the cause
            elif key == "router":
                router = RouterTally(**value)
            else:
                ranks.append(RankTally(**value))
    return Report(status, error, router, tuple(ranks))
