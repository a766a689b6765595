"""Read systems from TOML files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from platforms.errors import Place, PlatformError
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.grids.grid import WAN_SHAPES, WanLink, Wire
from platforms.grids.network import named_network, wan_links
from platforms.grids.scenario import WIRE_KEYS, wire_of
from platforms.system.database import Hardware, read_hardware
from platforms.system.model import PartPlace, System
from platforms.system.parts import Level, Node
from platforms.system.units import PRECISIONS, units_of, wire_of_network, wire_under

OWN = "own"  # name of the network of a LAN that gives bandwidth and latency itself
_LEVEL = ("name", "network", *WIRE_KEYS)
_KEYS = {
    "": ("name", "source", "hardware", "precision", "wan", "lan", "options"),
    "wan": (*_LEVEL, "shape", "duplex", "links", "wan", "lan"),
    "wan.links": ("between", "to", "network", *WIRE_KEYS, "duplex"),
    "lan": (*_LEVEL, "fabric", "node"),
    "node": (
        *("name", "count", "cpu", "sockets", "gpu", "slots", "power", "base_w"),
        *("unit", "bus", "memory", "disks", "link", "thread_slowdown", "failures_per_year", "operation_ns"),
    ),
    "unit": ("name", "cpu", "sockets", "gpu", "count", "slots", "power", "bus", "thread_slowdown", "operation_ns"),
    "power": ("idle_w", "full_w", "threads_w", "thread_w", "most_w"),
    "operation_ns": ("core", "thread", "beyond", "beyond_each"),
    "wire": ("network", *WIRE_KEYS),
    "values": WIRE_KEYS,
}


def read_system(path: str | Path, hardware: Iterable[str | Path] = ()) -> System:
    """Read a system from a TOML file; ``hardware`` are further hardware files beside those that the file names.

    ::

        name = "lab"                        # default: the name of the file
        hardware = ["ours.toml"]            # the user's own hardware files, relative to this file
        precision = "double"                # the precision whose peak counts as speed; or "single"
        [wan]                               # the top level: a WAN, or else a single [lan]
        network = "wan-metro"               # in the hardware database; or bandwidth_gbit_s and latency_us
        shape = "star"                      # each level has a link to a hub; or "mesh": each pair has one
        duplex = true                       # each direction has the full bandwidth
        [[wan.links]]                       # a link with values of its own
        to = "old"                          # in a mesh: between = ["old", "new"]
        latency_us = 500                    # or network, bandwidth_gbit_s
        [[wan.lan]]
        name = "new"                        # default lan1, lan2, ...: LANs without a name are
                                            # numbered in order, those in inner WANs first
        network = "infiniband-qdr"          # between any two nodes of the LAN
        fabric = { bandwidth_gbit_s = 640 } # shared by all messages of the LAN; default: the switch limits nothing
        [[wan.lan.node]]
        name = "n"                          # hosts n-0, n-1, ...; default c1, c2, ... likewise
        count = 12                          # default 1
        cpu = "xeon-l5640"                  # or gpu = "tesla-k20"
        sockets = 2                         # CPUs that share memory: one unit
        slots = { master = 1, slave = 12 }  # processes of a label that each unit takes; "*" is any label.  Default: as
                                            # many of any label as the unit has cores.  {}: none
        power = { idle_w = 78, full_w = 136 }   # of the unit; default: the power of its processors.  With more threads
                                            # than cores, if measured: threads_w + thread_w n, at most most_w
        operation_ns = { core = 1.65, thread = 1.94, beyond = 0.329, beyond_each = 0.0796 } # measured time of an
                                            # operation in an application of blocks, instead of the speed: of a thread
                                            # with a core, of one of all hardware threads, and beyond + beyond_each n
        thread_slowdown = 1.18              # of a thread while all hardware threads are busy; default: the processor's
        base_w = 40                         # constant power of the rest of a node
        failures_per_year = 0.016           # of a node; default: those of its processors and disks, if all are known
        memory = { bandwidth_gbit_s = 80, latency_us = 0.3 }    # of messages of a unit to itself; default: they cross
                                            # the node's link in both directions
        disks = ["ssd-sata"]
        link = { bandwidth_gbit_s = 1 }     # of these nodes, if it differs from the LAN's; latency: to the switch
        [[wan.lan.node]]                    # nodes with several units
        bus = "pcie3-x16"                   # between the first CPU and every other unit; or a table of values
        [[wan.lan.node.unit]]
        cpu = "xeon-e5-2670"
        [[wan.lan.node.unit]]
        gpu = "tesla-k40"
        count = 2                           # gpu1 and gpu2
        [options]                           # SimGrid options, added to those of the LANs' networks
        "network/crosstraffic" = "no"

    The latency of a network is that from node to node (or from LAN to LAN); each of the two links on the way has half
    of it.  A WAN may contain WANs, [[wan.wan]].  A WAN with a single level stands for that level and needs no links.

    Raises:
        PlatformError: Something in the file is wrong; the message names file and key.
    """
    path = Path(path)
    top = read_checked(path, _KEYS, "system file")
    hardware_files = [path.parent / name for name in top.list_of("hardware", [], str, "file names")]
    if top.has("wan") == top.has("lan"):
        raise PlatformError(str(path), "no top level", "Give either [wan] or [lan]")
    precision = top.text("precision", PRECISIONS[0])
    if precision not in PRECISIONS:
        raise PlatformError(top.at("precision"), f"no {precision!r}", f"Known: {', '.join(PRECISIONS)}")
    reading = _Reading(read_hardware([*hardware_files, *hardware]), precision)
    try:
        level = reading.wan(top.table("wan", "wan"), 0) if top.has("wan") else reading.lan(top.table("lan", "lan"), 0)
        options = tuple((reading.options(top.where, top.has("options")) | top.options("options")).items())
        network = "+".join(dict.fromkeys(reading.networks))
        return System(top.text("name", path.stem), level, options, network, top.text("source", ""))
    except PlatformError as err:
        if isinstance(err.where, PartPlace):
            raise err.at(PartPlace(f"{path}: {err.where}", None, err.keys)) from None
        if isinstance(err.where, Place):  # which names the file
            raise
        raise err.at(f"{path}: {err.where}") from None


@dataclass
class _Reading:
    """State of reading one file."""

    hardware: Hardware
    precision: str
    networks: list[str] = field(default_factory=list)  # of the LANs, in their order
    _families: dict[str, str] = field(default_factory=dict)  # set of SimGrid options -> first network that needs it
    _wans: Iterator[int] = field(default_factory=lambda: count(1))
    _lans: Iterator[int] = field(default_factory=lambda: count(1))
    _groups: Iterator[int] = field(default_factory=lambda: count(1))

    def options(self, where: str, said: bool) -> dict[str, str]:
        """Return the SimGrid options of the LANs' networks; ``said`` is whether the file has [options]."""
        if len(self._families) > 1 and not said:
            asking = " and ".join(self._families.values())
            raise PlatformError(
                where, f"{asking} need different SimGrid options", "Write the common ones into [options]"
            )
        return dict(named_network(next(iter(self._families))).options) if len(self._families) == 1 else {}

    def wan(self, entry: CheckedTable, depth: int) -> Level:
        """Return the level of a [wan] table; ``depth`` is 0 at the top."""
        levels = [self.wan(table, depth + 1) for table in entry.tables("wan")]
        levels += [self.lan(table, depth + 1) for table in entry.tables("lan")]
        if len(levels) == 1:  # nothing to join
            return levels[0]
        name = _name(entry, "wan" if depth == 0 else None, "wan", self._wans)
        shape = entry.text("shape", "star")
        if shape not in WAN_SHAPES:
            raise PlatformError(entry.of("shape"), f"no shape {shape!r}", f"Known: {', '.join(WAN_SHAPES)}")
        return Level(name, "wan", levels=tuple(levels), shape=shape, links=self._links(entry, shape, levels))

    def lan(self, entry: CheckedTable, depth: int) -> Level:
        """Return the level of a [lan] table; ``depth`` is 0 at the top."""
        name = _name(entry, "lan" if depth == 0 else None, "lan", self._lans)
        between_nodes = wire_of_network(entry, self.hardware)
        network = entry.text("network", OWN)
        self.networks.append(network)
        if network != OWN:
            self._families.setdefault(self.hardware.network(network, entry.where).options_of, network)
        link = Wire(between_nodes.bandwidth_Bps, between_nodes.latency_s / 2)
        nodes = tuple(self._node(table, link) for table in entry.tables("node"))
        fabric = None
        if entry.has("fabric"):
            given = entry.table("fabric", "values")
            fabric = Wire(given.number("bandwidth_gbit_s") * 1e9 / 8, given.number("latency_us", 0) / 1e6)
        hardware = None if network == OWN else self.hardware.network(network, entry.where)
        return Level(name, "lan", nodes=nodes, fabric=fabric, hardware=hardware)

    def _links(self, entry: CheckedTable, shape: str, levels: list[Level]) -> tuple[WanLink, ...]:
        zones = {level.name: level.zone for level in levels}
        if len(zones) != len(levels):
            raise PlatformError(entry.where, "two levels have the same name", "Give each a name of its own")
        if len(levels) < 2:
            return ()  # check_system reports this
        share = 2 if shape == "star" else 1  # a message crosses two links of a star
        usual = wire_of_network(entry, self.hardware)

        def wire(table: CheckedTable) -> Wire:
            whole = wire_of_network(table, self.hardware, usual)
            return Wire(whole.bandwidth_Bps, whole.latency_s / share)

        return wan_links(entry, shape, zones, what="level", key="to", duplex=True, wire=wire)

    def _node(self, entry: CheckedTable, link: Wire) -> Node:
        return Node(
            _name(entry, None, "c", self._groups),
            entry.integer("count", 1),
            units_of(entry, self.hardware, self.precision),
            wire_of(entry.table("link", "values"), link),
            wire_under(entry, "memory", self.hardware, None),
            tuple(self.hardware.disk(name, entry.where) for name in entry.list_of("disks", [], str, "names")),
            _failures_per_year(entry),
        )


def _failures_per_year(entry: CheckedTable) -> float | None:
    if not entry.has("failures_per_year"):
        return None
    value = entry.number("failures_per_year")
    if not 0 <= value < float("inf"):
        raise PlatformError(entry.of("failures_per_year"), f"failures_per_year is {value:g}", "Give 0 or more")
    return value


def _name(entry: CheckedTable, usual: str | None, prefix: str, numbers: Iterator[int]) -> str:
    """Return the entry's own name, else ``usual``, else the prefix with the next number.

    Entries with a name of their own use up no number.
    """
    if entry.has("name"):
        return entry.text("name")
    return usual if usual is not None else f"{prefix}{next(numbers)}"
