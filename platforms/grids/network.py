"""Named networks, described in ``networks.toml``."""

import functools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import PlatformError, known_names, matching
from platforms.grids.grid import Wire

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
