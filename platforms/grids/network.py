"""Named networks, described in ``networks.toml``, and links of wide-area networks from a TOML file."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import PlatformError, known_names, matching, nearest
from platforms.files.checked_toml import CheckedTable
from platforms.grids.grid import WanLink, Wire, wan_ends

DEFAULT_NETWORK = "gigabit"

# Factors of SMPI by message size, which replace those of a network.  SimGrid's own were measured on one cluster with
# Gigabit Ethernet (networks.toml, gigabit); neutral ones leave latencies and bandwidths as the links have them.
FACTORS: Mapping[str, Mapping[str, str]] = {
    "neutral": {"smpi/bw-factor": "0:1", "smpi/lat-factor": "0:1"},
    "simgrid": {},
}


@dataclass(frozen=True)
class Network:
    """The kinds of links of a grid, and the SimGrid options that go with them."""

    name: str
    node: Wire
    backbone: Wire
    wan: Wire
    options: tuple[tuple[str, str], ...]
    source: str  # where the numbers come from


def named_network(name: str) -> Network:
    """Return the network of this name, in any case.

    Raises:
        PlatformError: The name is unknown; the message lists known names.

    >>> named_network("gigabit").wan
    Wire(bandwidth_Bps=1250000000.0, latency_s=0.0001)
    """
    table = _table()
    known = matching(name, table)
    if known is None:
        raise PlatformError(f"network {name!r}", "no such network", known_names(name, table))
    entry = table[known]
    return Network(
        known,
        node=wire(entry["node"]),
        backbone=wire(entry["backbone"]),
        wan=wire(entry["wan"]),
        options=tuple(entry.get("options", {}).items()),
        source=entry["source"],
    )


def with_factors(options: Iterable[tuple[str, str]], name: str) -> tuple[tuple[str, str], ...]:
    """Return the SimGrid options of a grid with its factors by message size replaced by a set of FACTORS.

    Raises:
        PlatformError: The name is unknown.

    >>> with_factors((("network/TCP-gamma", "0"), ("smpi/bw-factor", "0:0.9")), "neutral")
    (('network/TCP-gamma', '0'), ('smpi/bw-factor', '0:1'), ('smpi/lat-factor', '0:1'))
    """
    if name not in FACTORS:
        raise PlatformError(f"factors {name!r}", "no such set", known_names(name, FACTORS))
    others = {key: value for key, value in options if key not in FACTORS["neutral"]}
    return tuple({**others, **FACTORS[name]}.items())


def network_names() -> tuple[str, ...]:
    """Return the names of all networks, in the order of ``networks.toml``."""
    return tuple(_table())


def wire(entry: dict[str, float]) -> Wire:
    """Return a Wire in SI units from an entry of a TOML file in Gbit/s and microseconds."""
    # Dividing by a power of ten is exact to the last bit; multiplying by 1e-6 is not.
    return Wire(entry["bandwidth_gbit_s"] * 1e9 / 8, entry["latency_us"] / 1e6)


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("networks.toml").read_text("utf-8"))


def wan_links(
    entry: CheckedTable,
    shape: str,
    zones: Mapping[str, str],
    *,
    what: str,
    key: str,
    duplex: bool,
    wire: Callable[[CheckedTable], Wire],
) -> tuple[WanLink, ...]:
    """Return all links that a shape needs.

    A link that [[links]] describes has the values given there; all others have the values of the network.

    Args:
        entry: The table of the network, such as [wan].
        shape: One of WAN_SHAPES.
        zones: The zone of each item that the network joins, by the item's name in the file.
        what: The word for such an item in error messages, such as "cluster".
        key: The key with which a link of a star names its item.
        duplex: Whether links are duplex if the file does not say so.
        wire: Reads bandwidth and latency of the network, and of each of its links.

    Raises:
        PlatformError: A link is wrong; the message names it.
    """
    duplex = entry.boolean("duplex", duplex)
    usual = wire(entry)
    links = {ends: WanLink(*ends, usual, duplex) for ends in wan_ends(shape, list(zones.values()))}
    private = set()
    for table in entry.tables("links", "wan.links"):
        ends = _ends(table, shape, zones, what, key)
        if ends in private:
            raise PlatformError(table.where, "this link is given twice", "Keep one")
        private.add(ends)
        links[ends] = WanLink(*ends, wire(table), table.boolean("duplex", duplex))
    return tuple(links.values())


def _ends(entry: CheckedTable, shape: str, zones: Mapping[str, str], what: str, key: str) -> tuple[str, str | None]:
    """Return the ends of a link in the order of wan_ends."""
    first, second = [*zones, "c1", "c2"][:2]  # names for the example in messages
    if shape == "star":
        if entry.has("between"):
            raise PlatformError(
                entry.where, "'between' does not go with a star", f'Write {key} = "{first}": its link to the hub'
            )
        names = [entry.text(key)]
    else:
        if entry.has(key):
            raise PlatformError(
                entry.where, f"{key!r} does not go with a mesh", f'Write between = ["{first}", "{second}"]'
            )
        names = entry.texts("between", 2)
    for name in names:
        if name not in zones:
            raise PlatformError(entry.where, f"no {what} {name!r}", nearest(name, zones))
    if len(set(names)) != len(names):
        raise PlatformError(entry.where, f"both ends are the same {what}", "Name two")
    order = list(zones)
    first_zone, *other = (zones[name] for name in sorted(names, key=order.index))
    return first_zone, other[0] if other else None
