"""Costs of blocks from the hardware data of a system: speeds, latencies, bandwidths, watts, and SimGrid's factors.

Processes share the cores of their unit, with the effect of hardware threads where it is known.  A message takes the
latency of its route plus its size over the smallest bandwidth of the route.  Collectives of P processes take the
following times, where L and B are the latency and the bandwidth of the slowest route between any two of their groups,
and d are the bytes of the block as defined in predictor.blocks.model (R. Thakur, R. Rabenseifner, W. Gropp,
"Optimization of Collective Communication Operations in MPICH", IJHPCA 19, 2005, section 4; one algorithm for all sizes,
no computation):

broadcast          ceil(log2 P) (L + d / B), a binomial tree;
scatter, gather    ceil(log2 P) L + (P - 1) / P d / B, a binomial tree that halves what it carries;
all-to-all         (P - 1) (L + d / B), pair by pair;
barrier            ceil(log2 P) L, dissemination.

Costs of blocks by SimGrid's SMPI network model, on a system's hardware data.

The following is added to the hardware data: latency and bandwidth are multiplied by factors that depend on the size of
the message; every message has an envelope of 16 bytes; a flow's rate is limited by its window; acknowledgements take
5 % of the capacity on the way back (predictor/dpgraph/known.py).  The machine serves to compare a description with its
simulation; real machines need measurements.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import ceil, log2

import numpy as np

from platforms.model.platform import Route
from platforms.system import System, UnitGroup
from platforms.system.database import DiskArray
from platforms.system.parts import YEAR_S
from platforms.system.scheduler import Schedule
from predictor.base import OutOfRange
from predictor.blocks.machines.machine import ALONE, ALONE_AT_DISK, DiskSharing, Group, MessageLoad, covered, groups_of
from predictor.dpgraph.known import known_network
from predictor.dpgraph.network import NetworkModel
from predictor.network.value import Protocol

Ends = tuple[UnitGroup, int, UnitGroup, int]  # the units of the sender and of the receiver
_PLAIN = {  # SimGrid's options for a network of links alone
    "smpi/bw-factor": "1",
    "smpi/lat-factor": "1",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "no",
    "network/weight-S": "0",
}
ENVELOPE_BYTES = int(Protocol.envelope_bytes)  # added to every MPI message


class HardwareMachine:
    """Machine (predictor/blocks/machines/machine.py) of a system and a schedule on it."""

    name = "hardware"
    whole_nodes = False
    note_bytes: int | None = None  # size of a read request or a write acknowledgement of a disk; None: no message
    envelope_bytes = 0  # added to every message
    collectives_are_messages = False  # those of which SimGrid's MPI makes them; otherwise `collective_s` has formulas

    def __init__(self, system: System, schedule: Schedule, *, failure_rate_per_s: float | None = None):
        """Create the machine; ``failure_rate_per_s`` of a node replaces that of the hardware."""
        self.system, self.schedule = system, schedule
        self.groups = groups_of(system, schedule)
        self._given_rate_per_s = failure_rate_per_s
        self._messages: dict[tuple[Hashable, ...], float] = {}

    @cached_property
    def failure_rate_per_s(self) -> float | None:
        """Failure rate of a node, 1/s, the mean over the nodes in use; None: that of some node is not known."""
        if self._given_rate_per_s is not None:
            return self._given_rate_per_s
        used: dict[int, list[range]] = {}
        of_node = {id(self.unit_of(group).node): self.unit_of(group).node for group in self.groups}
        for group in self.groups:
            used.setdefault(id(self.unit_of(group).node), []).append(group.nodes)
        counts = {key: covered(ranges) for key, ranges in used.items()}
        per_year = [(counts[key], node.failures_per_year) for key, node in of_node.items()]
        known = [count * rate for count, rate in per_year if rate is not None]
        nodes = sum(counts.values())
        return sum(known) / nodes / YEAR_S if nodes and len(known) == len(per_year) else None

    def unit_of(self, group: Group) -> UnitGroup:
        """Return the units that a group runs on."""
        return self.system.group_by_name[group.unit]

    def compute_s(self, group: Group, operations: float) -> float:
        """Return the operations over the speed of a core, which is shared if the unit has more processes than cores."""
        unit = self.unit_of(group).unit
        return operations / unit.speed_flops * unit.slowdown(group.threads)

    def message_s(
        self, source: Group, target: Group, size_bytes: int, *, same_node: bool = False, traffic: MessageLoad = ALONE
    ) -> float:
        """Return the time of a message, which shares links with the messages of ``traffic``."""
        key = source, target, size_bytes, same_node, traffic
        if key not in self._messages:
            ends = self.ends(source, target, same_node=same_node)
            flows = self.flows(ends, same_node=same_node, traffic=traffic)
            self._messages[key] = self._transfer_s(ends, size_bytes + self.envelope_bytes, flows)
        return self._messages[key]

    def network(self, routes: Sequence[Route]) -> NetworkModel:
        """Return the network of these routes, each in both directions: links of full bandwidth, which flows share."""
        plain = known_network(routes, _PLAIN)
        return replace(plain, protocol=replace(plain.protocol, envelope_bytes=self.envelope_bytes))

    def flows(self, ends: Ends, *, same_node: bool, traffic: MessageLoad) -> dict[str, int]:
        """Return the number of messages on each shared link of the route between two units."""
        here, i, there, j = ends
        names = self._links(ends)
        if traffic == ALONE:
            return {}
        if same_node:
            return dict.fromkeys(names, traffic.out)
        other_i, other_j = self._another(ends), self._another(_back(ends))
        flows_there = dict.fromkeys(names & self._links((here, other_i, there, j)), traffic.into)
        flows_there |= dict.fromkeys(names & self._links((here, i, there, other_j)), traffic.out)
        return flows_there | dict.fromkeys(names & self._links((here, other_i, there, other_j)), traffic.together)

    def _links(self, ends: Ends) -> frozenset[str]:
        return frozenset(link.name for link in self.system.way(*ends).links if link.sharing != "fatpipe")

    @staticmethod
    def _another(ends: Ends) -> int:
        """Return a unit of the first end's group on a node other than both ends; the end itself if there is none."""
        group, number, other, taken = ends
        excluded = {number, taken} if other.node is group.node else {number}
        return next((k for k in range(min(group.units, 3)) if k not in excluded), number)

    def ends(self, source: Group, target: Group, *, same_node: bool) -> Ends:
        """Return a unit of each group, on the same node or on different nodes."""
        here, there = self.unit_of(source), self.unit_of(target)
        i, last = source.first_unit, target.first_unit + target.units - 1
        if here.node is not there.node:
            return here, i, there, target.first_unit
        if same_node:
            i = max(source.first_unit, target.first_unit)
            return here, i, there, i
        if i == last:  # another unit of the source's group, or, if that has only one unit, any other node
            i = source.first_unit + source.units - 1
        if i == last:
            i = (last + 1) % there.units
        return here, i, there, last

    def collective_s(self, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
        """Return the time of a collective by the formulas of this module."""
        processes = sum(group.count for group in members)
        if processes == 1:
            return 0.0
        rounds = ceil(log2(processes))
        if block == "bcast":
            return rounds * self._slowest_s(members, size_bytes)
        if block == "alltoall":
            return (processes - 1) * self._slowest_s(members, size_bytes)
        latency_s = self._slowest_s(members, 0)
        if block == "barrier":
            return rounds * latency_s
        carried = ceil(size_bytes * (processes - 1) / processes)
        return (rounds - 1) * latency_s + self._slowest_s(members, carried)

    def _slowest_s(self, members: Sequence[Group], size_bytes: int) -> float:
        """Return the longest time of a message between two members."""
        pairs = [(first, other, False) for first, other in combinations(members, 2) if self._apart(first, other)]
        pairs += [(member, member, member.units == 1) for member in members if member.count > 1]
        pairs += [(first, other, True) for first, other in combinations(members, 2) if not self._apart(first, other)]
        return max(self.message_s(first, other, size_bytes, same_node=near) for first, other, near in pairs)

    @staticmethod
    def _apart(group: Group, other: Group) -> bool:
        """Return whether some processes of the two groups are on different nodes."""
        return group.units > 1 or other.units > 1 or group.first_node != other.first_node

    def disk_server(self, group: Group) -> str | None:
        """Return the name of the units with the group's network disk; None: each node uses its own disk."""
        unit = self.unit_of(group)
        server, _ = self._disk_of(unit)
        return None if server.node is unit.node else server.name

    def disk_s(self, group: Group, block: str, size_bytes: int, *, sharing: DiskSharing = ALONE_AT_DISK) -> float:
        """Return the disk's own time, plus the transfer time if the disk is on another node.

        Processes of one node share the links of the node; processes of all nodes share the links of the server.
        """
        unit = self.unit_of(group)
        server, disk = self._disk_of(unit)
        near, read = server.node is unit.node, block == "disk_read"
        latency_s, rate_Bps = (
            (disk.read_latency_s, disk.read_Bps) if read else (disk.write_latency_s, disk.write_Bps)
        )  # fmt: skip
        own_s = latency_s + size_bytes * (sharing.node if near else sharing.together) / rate_Bps
        if near:
            return own_s
        mine, theirs = (unit, group.first_unit), (server, 0)
        out_bytes, back_bytes = (self.note_bytes, size_bytes) if read else (size_bytes, self.note_bytes)
        return (
            self._moved_s((*mine, *theirs), out_bytes, sharing, outward=True)
            + own_s
            + self._moved_s((*theirs, *mine), back_bytes, sharing, outward=False)
        )

    def _moved_s(self, ends: Ends, size_bytes: int | None, sharing: DiskSharing, *, outward: bool) -> float:
        """Return the transfer time to a disk's server (``outward``) or from it.

        A link that transfers of another node would use too is shared by the processes of all nodes.
        """
        if size_bytes is None:
            return 0.0
        here, i, there, j = ends
        links = self._links(ends)
        if outward:
            others = self._links((here, self._another(ends), there, j))
        else:
            others = self._links((here, i, there, self._another(_back(ends))))
        flows = {name: sharing.together if name in others else sharing.node for name in links}
        return self._transfer_s(ends, size_bytes, flows)

    def _transfer_s(self, ends: Ends, size_bytes: int, flows: Mapping[str, float]) -> float:
        """Return the time of a transfer, with these numbers of flows on the links."""
        way = self.system.way(*ends)
        rate_Bps = min(link.bandwidth_Bps / flows.get(link.name, 1) for link in way.links)
        return way.latency_s + size_bytes / rate_Bps

    def _disk_of(self, unit: UnitGroup) -> tuple[UnitGroup, DiskArray]:
        """Return the disk of a process on this unit, after the unit that has the disk."""
        disks = self.system.disks_for(unit)
        if disks is None:
            raise OutOfRange(f"system {self.system.name}", "it has no disks", "Give a node `disks`")
        return disks

    def power_w(self, group: Group, threads: int) -> float:
        """Return the power of the unit with this number of busy threads, W.

        It is that of SimGrid's energy plugin up to a thread on each core, and with more threads where no watts of
        hardware threads are known.
        """
        power_w = self.unit_of(group).unit.power_w(threads)
        if power_w is None:
            raise OutOfRange(
                f"system {self.system.name}, unit {group.unit}", "its power is not known", "Give it `power`"
            )
        return power_w

    @cached_property
    def others_idle_w(self) -> float:
        """Idle power of the units without a process, on nodes in use, W; units of unknown power count as 0."""
        used: dict[int, list[range]] = {}
        for group in self.groups:
            node = self.unit_of(group).node
            used.setdefault(id(node), []).append(range(group.first_unit, group.first_unit + group.units))
        total_w = 0.0
        for unit_group in self.system.groups:
            if unit_group.unit.power is None or id(unit_group.node) not in used:
                continue
            here = [range(g.first_unit, g.first_unit + g.units) for g in self.groups if g.unit == unit_group.name]
            total_w += unit_group.unit.power.idle_w * (covered(used[id(unit_group.node)]) - covered(here))
        return total_w


def _back(ends: Ends) -> Ends:
    """Return the ends of the route back."""
    here, i, there, j = ends
    return there, j, here, i


class SimGridMachine(HardwareMachine):
    """Machine of a system and a schedule on it, with the SimGrid options of the system."""

    name = "simgrid"
    note_bytes = 1  # as in validation/blocks/blockprogram
    envelope_bytes = ENVELOPE_BYTES
    collectives_are_messages = True

    def __init__(self, system: System, schedule: Schedule, *, failure_rate_per_s: float | None = None):
        super().__init__(system, schedule, failure_rate_per_s=failure_rate_per_s)
        self._networks: dict[tuple[str, str], NetworkModel] = {}

    def _transfer_s(self, ends: Ends, amount_bytes: int, flows: Mapping[str, float]) -> float:
        here, i, there, j = ends
        pair = here.host(i), there.host(j)
        network = self._network(pair)
        way, timing = network.ways[pair], network.timing
        segment = int(np.searchsorted(timing.above_bytes, amount_bytes, side="left")) - 1
        share_Bps = way.bound_Bps
        for name, weight in way.links.items():
            share_Bps = min(share_Bps, network.capacity_Bps[name] / (weight * flows.get(name, 1)))
        rate_Bps = timing.factor[way.timing_class, segment] * share_Bps  # the flow's share is unchanged
        return float(timing.latency_s[way.timing_class, segment] + amount_bytes / rate_Bps)

    def network(self, routes: Sequence[Route]) -> NetworkModel:
        """Return SimGrid's network of these routes, each in both directions."""
        return known_network(routes, dict(self.system.options))

    def _network(self, pair: tuple[str, str]) -> NetworkModel:
        if pair not in self._networks:
            routes = self.system.routes(sorted({pair, pair[::-1]}))
            self._networks[pair] = self.network(routes)
        return self._networks[pair]
