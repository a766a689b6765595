"""Disks in a graph: what a process moves to and from its disk, as ways of its own (NetworkModel.own_ways).

A disk has SimGrid's three limits: for reading, for writing, and the larger of both for all.  For a disk on another node
the request or the data first cross the network, and the data or an acknowledgement come back (blockprogram.cpp).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from platforms.system import System
from platforms.system.database import DiskArray
from platforms.system.scheduler import Schedule
from predictor.base import OutOfRange
from predictor.blocks.stream.instructions import Disk, Stream
from predictor.dpgraph.network import NetworkModel
from predictor.network.value import DirectedPath, Timing

PAUSE = -1  # instead of the number of a way
NOTE_BYTES = 1  # size of a read request to a disk, and of the acknowledgement of a write, in the simulation


@dataclass(frozen=True)
class Server:
    """The disk that a process uses."""

    mine: str  # host of the process
    host: str  # host of the disk
    name: str  # of the disk
    disk: DiskArray


@dataclass
class Disks:
    """The ways that the disk blocks of an application need, by number."""

    stream: Stream
    system: System
    schedule: Schedule
    note_bytes: int | None = NOTE_BYTES  # size of a request or an acknowledgement; None: there is none
    numbers: dict[tuple[str, str, bool | None], int] = field(default_factory=dict)  # ends; None: over the network
    arrays: dict[str, DiskArray] = field(default_factory=dict)  # by name of the disk

    def moves(self, process: int, disk: Disk) -> list[tuple[int, float]]:
        """Return the ways of a disk block in order, with the bytes on each (PAUSE: with seconds).

        Raises:
            OutOfRange: If the system has no disks.
        """
        server = self.server(process)
        latency_s = server.disk.write_latency_s if disk.writes else server.disk.read_latency_s
        self.arrays[server.name] = server.disk
        disk_moves = [(PAUSE, latency_s), (self._number(server.name, server.name, disk.writes), float(disk.size_bytes))]
        if server.host == server.mine:
            return disk_moves
        there, here = (self._number(*ends, None) for ends in ((server.mine, server.host), (server.host, server.mine)))
        data = [(there if disk.writes else here, float(disk.size_bytes))]
        note = [] if self.note_bytes is None else [(here if disk.writes else there, float(self.note_bytes))]
        return [*data, *disk_moves, *note] if disk.writes else [*note, *disk_moves, *data]

    def server(self, process: int) -> Server:
        """Return the disk that a process uses.

        Raises:
            OutOfRange: If the system has no disks.
        """
        group, number = self.schedule.place(self.stream.labels[process], self.stream.indices[process])
        disks = self.system.disks_for(group)
        if disks is None:
            raise OutOfRange(f"system {self.system.name}", "it has no disks", "Give a node `disks`")
        unit, disk = disks
        there = number if unit.node is group.node else 0
        host = unit.node.host_name(there, unit.node.units[0])
        return Server(group.host(number), host, unit.node.disk_name(there, disk), disk)

    def pairs(self) -> set[tuple[str, str]]:
        """Return the pairs of hosts between which data of disks cross the network."""
        return {(a, b) for a, b, writes in self.numbers if writes is None}

    def joined(self, network: NetworkModel) -> NetworkModel:
        """Return the network with the ways of the disks."""
        timing, capacity = network.timing, dict(network.capacity_Bps)
        still = len(timing.latency_s)  # a row without latency, for the disks themselves
        rows = np.zeros((1, len(timing.above_bytes)))
        ways = []
        for a, b, writes in self.numbers:
            if writes is None:
                ways.append(network.ways[a, b])
                continue
            disk = self.arrays[a]
            rate_Bps = disk.write_Bps if writes else disk.read_Bps
            limit = f"disk {a} {'write' if writes else 'read'}"
            capacity |= {limit: rate_Bps, f"disk {a}": max(disk.read_Bps, disk.write_Bps)}
            ways.append(DirectedPath(still, rate_Bps, 1.0, {limit: 1.0, f"disk {a}": 1.0}))
        timing = Timing(timing.above_bytes, np.vstack([timing.latency_s, rows]), np.vstack([timing.factor, rows + 1]))
        return replace(network, capacity_Bps=capacity, timing=timing, own_ways=tuple(ways))

    def _number(self, a: str, b: str, writes: bool | None) -> int:
        return self.numbers.setdefault((a, b, writes), len(self.numbers))
