"""Named networks, described in ``networks.toml``."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import PlatformError, nearest
from platforms.grids.grid import Wire

DEFAULT_NETWORK = "gigabit"


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
    """Return the network of this name.

    Raises:
        PlatformError: The name is unknown; the message lists known names.

    >>> named_network("gigabit").wan
    Wire(bandwidth_Bps=1250000000.0, latency_s=0.0001)
    """
    table = _table()
    if name not in table:
        raise PlatformError(f"network {name!r}", "no such network", nearest(name, table))
    entry = table[name]
    return Network(
        name,
        node=wire(entry["node"]),
        backbone=wire(entry["backbone"]),
        wan=wire(entry["wan"]),
        options=tuple(entry.get("options", {}).items()),
        source=entry["source"],
    )


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
