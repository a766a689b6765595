"""The networks by name, as ``networks.toml`` describes them."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import PlatformError, nearest
from platforms.grid import Wire

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
    """Raises PlatformError for an unknown name, listing the known ones.

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
    return tuple(_table())


def wire(entry: dict[str, float]) -> Wire:
    """A Wire in SI units from Gbit/s and microseconds, as TOML files have them."""
    # Divisions by powers of ten are exact to the last bit where products with 1e-6 are not.
    return Wire(entry["bandwidth_gbit_s"] * 1e9 / 8, entry["latency_us"] / 1e6)


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("networks.toml").read_text("utf-8"))
