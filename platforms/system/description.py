"""Systems from TOML files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from platforms.checked_toml import CheckedTable, read_checked, read_toml
from platforms.errors import PlatformError
from platforms.grid import WAN_SHAPES, WanLink, Wire
from platforms.hardware import Hardware, read_hardware
from platforms.network import named_network
from platforms.scenario import WIRE_KEYS, wire_of
from platforms.system.model import Level, Node, System
from platforms.system.units import PRECISIONS, units_of, wire_of_network, wire_under
from platforms.wan_links import wan_links

OWN = "own"  # the network of a LAN that gives its values itself
_LEVEL = ("name", "network", *WIRE_KEYS)
_KEYS = {
    "": ("name", "source", "hardware", "precision", "wan", "lan", "options"),
    "wan": (*_LEVEL, "shape", "duplex", "links", "wan", "lan"),
    "wan.links": ("between", "to", "network", *WIRE_KEYS, "duplex"),
    "lan": (*_LEVEL, "fabric", "node"),
    "node": (
        *("name", "count", "cpu", "sockets", "gpu", "slots", "power", "base_w"),
        *("unit", "bus", "memory", "disks", "link"),
    ),
    "unit": ("name", "cpu", "sockets", "gpu", "count", "slots", "power", "bus"),
    "power": ("idle_w", "full_w"),
    "wire": ("network", *WIRE_KEYS),
    "values": WIRE_KEYS,
}


def is_system_file(path: str | Path) -> bool:
    """Whether a TOML file describes a system of levels, not a grid of clusters.

    Raises PlatformError for a file that cannot be read or is not TOML.
    """
    top = read_toml(Path(path), "scenario or system file")
    wan = top.get("wan")
    above = isinstance(wan, dict) and ("lan" in wan or "wan" in wan)  # a scenario's [wan] holds nothing
    return "clusters" not in top and ("lan" in top or above)


def read_system(path: str | Path, hardware: Iterable[str | Path] = ()) -> System:
    """A system from a TOML file; ``hardware``: files of further hardware, beside those that it names.

    ::

        name = "lab"                        # default: as the file is called
        hardware = ["ours.toml"]            # files of hardware of one's own, as seen from this one
        precision = "double"                # the peak that counts as speed; or "single"
        [wan]                               # the top: a WAN, or [lan] alone
        network = "wan-metro"               # in the hardware database; or bandwidth_gbit_s and latency_us
        shape = "star"                      # each level has a link to a hub; or "mesh": each pair has one
        duplex = true                       # each direction has the bandwidth for itself
        [[wan.links]]                       # a link of its own kind
        to = "old"                          # in a mesh: between = ["old", "new"]
        latency_us = 500                    # or network, bandwidth_gbit_s
        [[wan.lan]]
        name = "new"                        # default lan1, lan2, ...: those without a name are
                                            # numbered as they come, the ones in WANs first
        network = "infiniband-qdr"          # between two nodes of it
        fabric = { bandwidth_gbit_s = 640 } # what all its messages share; default: its switch blocks nobody
        [[wan.lan.node]]
        name = "n"                          # hosts n-0, n-1, ...; default c1, c2, ... likewise
        count = 12                          # default 1
        cpu = "xeon-l5640"                  # or gpu = "tesla-k20"
        sockets = 2                         # CPUs that share memory: one unit
        slots = { master = 1, slave = 12 }  # processes of a label that each unit takes; "*": of any.  Default: as many
                                            # of any as it has cores.  {}: none
        power = { idle_w = 78, full_w = 151 }   # of the unit; default: that of its processors
        base_w = 40                         # what else a node takes, all the time
        memory = { bandwidth_gbit_s = 80, latency_us = 0.3 }    # of messages of a unit to itself; default: the link,
                                            # there and back
        disks = ["ssd-sata"]
        link = { bandwidth_gbit_s = 1 }     # of these nodes, where it is not the LAN's; its latency: to the switch
        [[wan.lan.node]]                    # nodes of several units
        bus = "pcie3-x16"                   # between the first CPU and every other unit; or a table of values
        [[wan.lan.node.unit]]
        cpu = "xeon-e5-2670"
        [[wan.lan.node.unit]]
        gpu = "tesla-k40"
        count = 2                           # gpu1 and gpu2
        [options]                           # SimGrid options, added to those of the LANs' networks
        "network/crosstraffic" = "no"

    A network's latency is from node to node (or from LAN to LAN): each of two links has half of it.  A WAN may hold
    WANs, [[wan.wan]]; one that holds a single level is that level, and needs no links.

    Raises PlatformError naming file and key for whatever is wrong.
    """
    path = Path(path)
    top = read_checked(path, _KEYS, "system file")
    own = [path.parent / name for name in top.list_of("hardware", [], str, "file names")]
    if top.has("wan") == top.has("lan"):
        raise PlatformError(str(path), "no top level", "Give either [wan] or [lan]")
    precision = top.text("precision", PRECISIONS[0])
    if precision not in PRECISIONS:
        raise PlatformError(f"{path}, precision", f"no {precision!r}", f"Known: {', '.join(PRECISIONS)}")
    reading = _Reading(read_hardware([*own, *hardware]), precision)
    try:
        level = reading.wan(top.table("wan", "wan"), 0) if top.has("wan") else reading.lan(top.table("lan", "lan"), 0)
        options = tuple((reading.options(str(path), top.has("options")) | top.options("options")).items())
        network = "+".join(dict.fromkeys(reading.networks))
        return System(top.text("name", path.stem), level, options, network, top.text("source", ""))
    except PlatformError as err:
        if err.where.startswith(str(path)):
            raise
        raise PlatformError(f"{path}: {err.where}", err.problem, err.remedy) from None


@dataclass
class _Reading:
    """What is known while a file is read."""

    hardware: Hardware
    precision: str
    networks: list[str] = field(default_factory=list)  # of its LANs, as they come
    _families: dict[str, str] = field(default_factory=dict)  # of SimGrid options: name -> the network that asks for it
    _wans: Iterator[int] = field(default_factory=lambda: count(1))
    _lans: Iterator[int] = field(default_factory=lambda: count(1))
    _groups: Iterator[int] = field(default_factory=lambda: count(1))

    def options(self, where: str, said: bool) -> dict[str, str]:
        """The SimGrid options of its LANs' networks.  ``said``: the file has options of its own."""
        if len(self._families) > 1 and not said:
            asking = " and ".join(self._families.values())
            raise PlatformError(
                where, f"{asking} need different SimGrid options", "Say in [options] which are to hold for all"
            )
        return dict(named_network(next(iter(self._families))).options) if len(self._families) == 1 else {}

    def wan(self, entry: CheckedTable, depth: int) -> Level:
        levels = [self.wan(one, depth + 1) for one in entry.tables("wan")]
        levels += [self.lan(one, depth + 1) for one in entry.tables("lan")]
        if len(levels) == 1:  # nothing to join
            return levels[0]
        name = _name(entry, "wan" if depth == 0 else None, "wan", self._wans)
        shape = entry.text("shape", "star")
        if shape not in WAN_SHAPES:
            raise PlatformError(entry.where, f"no shape {shape!r}", f"Known: {', '.join(WAN_SHAPES)}")
        return Level(name, "wan", levels=tuple(levels), shape=shape, links=self._links(entry, shape, levels))

    def lan(self, entry: CheckedTable, depth: int) -> Level:
        name = _name(entry, "lan" if depth == 0 else None, "lan", self._lans)
        between_nodes = wire_of_network(entry, self.hardware)
        network = entry.text("network", OWN)
        self.networks.append(network)
        if network != OWN:
            self._families.setdefault(self.hardware.network(network, entry.where).options_of, network)
        link = Wire(between_nodes.bandwidth_Bps, between_nodes.latency_s / 2)
        nodes = tuple(self._node(one, link) for one in entry.tables("node"))
        fabric = None
        if entry.has("fabric"):
            given = entry.table("fabric", "values")
            fabric = Wire(given.number("bandwidth_gbit_s") * 1e9 / 8, given.number("latency_us", 0) / 1e6)
        return Level(name, "lan", nodes=nodes, fabric=fabric)

    def _links(self, entry: CheckedTable, shape: str, levels: list[Level]) -> tuple[WanLink, ...]:
        zones = {level.name: level.zone for level in levels}
        if len(zones) != len(levels):
            raise PlatformError(entry.where, "two levels of one name", "Give each a name of its own")
        if len(levels) < 2:
            return ()  # which the system will say
        share = 2 if shape == "star" else 1  # of a star's links, a message crosses two
        usual = wire_of_network(entry, self.hardware)

        def wire(one: CheckedTable) -> Wire:
            whole = wire_of_network(one, self.hardware, usual)
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
        )


def _name(entry: CheckedTable, usual: str | None, prefix: str, numbers: Iterator[int]) -> str:
    """Its own; else the usual one, or the prefix with the next number: those that have names take none."""
    if entry.has("name"):
        return entry.text("name")
    return usual if usual is not None else f"{prefix}{next(numbers)}"
