"""Grids by name (those of ``scenarios.toml``, any grid{N}x{M}) and from users' own TOML files."""

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from platforms.errors import PlatformError, known_names, matching
from platforms.files.checked_toml import CheckedTable, read_checked, read_toml
from platforms.grids.grid import WAN_SHAPES, Grid, GridCluster, WanLink, Wire, wan_ends
from platforms.grids.network import DEFAULT_NETWORK, named_network, wan_links
from platforms.model.frequency import CUBIC, Frequencies, known_frequencies, known_speeds_flops
from platforms.model.platform import Power

_TABLE = tomllib.loads(Path(__file__).with_name("scenarios.toml").read_text("utf-8"))

GRID_NAME = re.compile(r"grid([1-9]\d{0,4})x([1-9]\d{0,5})")
SCENARIOS: tuple[str, ...] = tuple(filter(GRID_NAME.fullmatch, _TABLE))  # of Fanfakh 2019, Table 1, in its order
NAMED: tuple[str, ...] = tuple(_TABLE)  # these, and the machines of other papers
WIRE_KEYS = ("bandwidth_gbit_s", "latency_us")
_KEYS = {
    "": ("name", "network", "clusters", "wan", "options", "source"),
    "clusters": (
        *("name", "nodes", "speed_gflops", "cores", "node", "backbone", "power"),
        *("frequencies", "frequency_ghz", "memory_gbyte_s"),
    ),
    "frequencies": ("max_ghz", "min_ghz", "step_ghz", "dynamic_exponent"),
    "wan": ("shape", *WIRE_KEYS, "duplex", "links"),
    "wan.links": ("between", "cluster", *WIRE_KEYS, "duplex"),
    "power": ("idle_w", "full_w"),
    "wire": WIRE_KEYS,
}


def names_file(text: str) -> bool:
    """Return whether a text is the name of a file and not the name of a scenario."""
    return (text.endswith(".toml") or os.path.isfile(text)) and not GRID_NAME.fullmatch(text)


def is_system_file(path: str | Path) -> bool:
    """Return whether a TOML file describes a system of levels and not a grid of clusters.

    Raises:
        PlatformError: The file cannot be read or is not TOML.
    """
    top = read_toml(Path(path), "scenario or system file")
    wan = top.get("wan")
    above = isinstance(wan, dict) and ("lan" in wan or "wan" in wan)  # a scenario's [wan] contains no levels
    return "clusters" not in top and ("lan" in top or above)


def named_grid(name: str, network: str | None = None, speeds_flops: Sequence[float] | None = None) -> Grid:
    """Return a grid by its name: one of NAMED, or any grid{N}x{M}, which has N clusters of M nodes.

    The clusters of a grid{N}x{M} are called c1, c2, ..., and their hosts c1-0, c1-1, ...

    Args:
        name: The grid's name, in any case.
        network: Name of the network; None takes the scenario's own network if it names one, else the default.
        speeds_flops: Speed of a node of each cluster, flop/s: N values.  Required for a grid{N}x{M} that is not in
            SCENARIOS, refused for names of other forms.

    Raises:
        PlatformError: The name or the network is unknown, or the speeds do not fit the name.

    >>> [(cluster.nodes, cluster.speed_flops / 1e9) for cluster in named_grid("grid4x8").clusters]
    [(8, 40.0), (8, 50.0), (8, 60.0), (8, 70.0)]
    """
    where = f"scenario {name!r}"
    name = matching(name, NAMED) or (name.lower() if GRID_NAME.fullmatch(name.lower()) else name)
    shape = GRID_NAME.fullmatch(name)
    if shape is None and name in _TABLE:
        if speeds_flops is not None:
            raise PlatformError(where, "its speeds are those of the machine", "Drop the speeds, or write a .toml file")
        return _described(CheckedTable(_TABLE[name], where, _KEYS), name, network)
    if shape is None:
        remedy = known_names(name, NAMED, more=", any grid{N}x{M} with --speeds, a .toml file")
        raise PlatformError(where, "no such scenario", remedy)
    count, nodes = int(shape[1]), int(shape[2])
    if speeds_flops is None:
        if name not in _TABLE:
            remedy = f"Give {count} of them: --speeds 40,50,... (Gflop/s)"
            raise PlatformError(where, "its speeds are not known", remedy)
        speeds_flops = [gflops * 1e9 for gflops in _TABLE[name]["speeds_gflops"]]
    if len(speeds_flops) != count:
        raise PlatformError(where, f"{len(speeds_flops)} speeds for {count} clusters", "Give one speed per cluster")
    net = named_network(DEFAULT_NETWORK if network is None else network)
    clusters = tuple(
        GridCluster(f"c{i}", nodes, float(speed), net.node, net.backbone) for i, speed in enumerate(speeds_flops, 1)
    )
    links = tuple(WanLink(*ends, net.wan) for ends in wan_ends("mesh", [cluster.name for cluster in clusters]))
    return Grid(name, net.name, clusters, "mesh", links, net.options)


def read_grid(path: str | Path, network: str | None = None) -> Grid:
    """Read a grid from a TOML file; ``network``, if given, replaces the file's ``network``.

    ::

        network = "gigabit"                 # gives the values that are absent below; default gigabit
        [[clusters]]
        nodes = 12                          # required
        speed_gflops = 40                   # required: of one core
        cores = 1                           # of a node
        name = "c1"                         # default c1, c2, ...
        node = { bandwidth_gbit_s = 1, latency_us = 50 }        # and backbone = { ... }: either key or both
        power = { idle_w = 4, full_w = 24 }                     # of a node; default: in proportion to its speed
        frequencies = { max_ghz = 2.5, min_ghz = 1.2, step_ghz = 0.1, dynamic_exponent = 3 }
                                            # speed and power above hold at the highest level; the power above idle is
                                            # proportional to the frequency to this exponent (default 3)
        frequency_ghz = 1.8                 # the level at which the nodes run; default the highest
        memory_gbyte_s = 77                 # of a node, for --memory-bus platform
        [wan]
        shape = "mesh"                      # or "star": one link per cluster to a hub
        bandwidth_gbit_s = 10               # of all WAN links; also latency_us
        duplex = false                      # true: each direction has the full bandwidth
        [[wan.links]]                       # a link with values of its own
        between = ["c1", "c2"]              # in a star: cluster = "c1"
        latency_us = 5000
        [options]                           # SimGrid options, added to those of the network
        "network/crosstraffic" = "no"

    ``name`` and ``source`` (where the numbers come from) are texts.

    Raises:
        PlatformError: Something in the file is wrong; the message names the file and the key.
    """
    path = Path(path)
    return _described(read_checked(path, _KEYS, "scenario file"), path.stem, network)


def _described(entry: CheckedTable, name: str, network: str | None) -> Grid:
    """Return the grid of a scenario file or of an entry of scenarios.toml; ``name`` is used if the entry has none."""
    entry.text("source", "")  # checked only: it informs readers of the file
    net = named_network(entry.text("network", DEFAULT_NETWORK) if network is None else network)
    clusters = tuple(_cluster(table, i, net.node, net.backbone) for i, table in enumerate(entry.tables("clusters"), 1))
    if not clusters:
        raise PlatformError(entry.where, "no [[clusters]]", "Give at least one, with nodes and speed_gflops")
    shape, links = _wan(entry.table("wan", "wan"), [cluster.name for cluster in clusters], net.wan)
    options = dict(net.options) | entry.options("options")
    try:
        return Grid(entry.text("name", name), net.name, clusters, shape, links, tuple(options.items()))
    except PlatformError as err:
        raise err.at(f"{entry.where}: {err.where}") from None


def with_frequencies(grid: Grid) -> Grid:
    """Return the same grid with frequency levels for every cluster.

    A cluster without levels of its own gets those of the node type of its speed (frequencies.toml).

    Raises:
        PlatformError: A cluster has no levels and its speed is that of no known node type.
    """
    return replace(grid, clusters=tuple(_with_frequencies(cluster, grid.name) for cluster in grid.clusters))


def _with_frequencies(cluster: GridCluster, grid: str) -> GridCluster:
    if cluster.frequencies is not None:
        return cluster
    known = known_frequencies(cluster.speed_flops)
    if known is None:
        speeds = ", ".join(f"{speed / 1e9:g}" for speed in known_speeds_flops())
        raise PlatformError(
            f"grid {grid!r}, cluster {cluster.name!r}",
            f"the frequencies of its nodes are not known, only those of nodes of {speeds} Gflop/s",
            "Give them in a scenario file: frequencies = { max_ghz = 2.5, min_ghz = 1.2, step_ghz = 0.1 }",
        )
    return replace(cluster, frequencies=known)


def _cluster(entry: CheckedTable, number: int, node: Wire, backbone: Wire) -> GridCluster:
    frequencies = _frequencies(entry.table("frequencies", "frequencies")) if entry.has("frequencies") else None
    return GridCluster(
        entry.text("name", f"c{number}"),
        entry.integer("nodes"),
        entry.number("speed_gflops") * 1e9,
        wire_of(entry.table("node", "wire"), node),
        wire_of(entry.table("backbone", "wire"), backbone),
        cores=entry.integer("cores", 1),
        power=_power(entry.table("power", "power")) if entry.has("power") else None,
        frequencies=frequencies,
        frequency_hz=_frequency_hz(entry, frequencies),
        memory_Bps=entry.number("memory_gbyte_s") * 1e9 if entry.has("memory_gbyte_s") else None,
    )


def _frequencies(entry: CheckedTable) -> Frequencies:
    max_hz, min_hz, step_hz = (entry.number(key) * 1e9 for key in ("max_ghz", "min_ghz", "step_ghz"))
    try:
        return Frequencies(max_hz, min_hz, step_hz, entry.number("dynamic_exponent", CUBIC))
    except PlatformError as err:
        raise PlatformError(entry.where, f"{err.where}: {err.problem}", err.remedy) from None


def _frequency_hz(entry: CheckedTable, frequencies: Frequencies | None) -> float | None:
    if not entry.has("frequency_ghz"):
        return None
    asked_hz = entry.number("frequency_ghz") * 1e9
    return asked_hz if frequencies is None else frequencies.level_hz(asked_hz, entry.at("frequency_ghz"))


def _power(entry: CheckedTable) -> Power:
    idle_w = entry.number("idle_w")
    return Power(idle_w, entry.number("full_w"), epsilon_w=idle_w)


def _wan(entry: CheckedTable, clusters: list[str], default: Wire) -> tuple[str, tuple[WanLink, ...]]:
    shape = entry.text("shape", "mesh")
    if shape not in WAN_SHAPES:
        raise PlatformError(entry.of("shape"), f"no shape {shape!r}", f"Known: {', '.join(WAN_SHAPES)}")
    return shape, wan_links(
        entry, shape, dict(zip(clusters, clusters, strict=True)), what="cluster", key="cluster", duplex=False,
        wire=lambda table: wire_of(table, wire_of(entry, default)),
    )  # fmt: skip


def wire_of(entry: CheckedTable, default: Wire) -> Wire:
    """Return the Wire of a link's keys ``bandwidth_gbit_s`` and ``latency_us``; absent keys come from ``default``."""
    bandwidth_Bps, latency_s = default.bandwidth_Bps, default.latency_s
    if entry.has("bandwidth_gbit_s"):
        bandwidth_Bps = entry.number("bandwidth_gbit_s") * 1e9 / 8
    if entry.has("latency_us"):
        latency_s = entry.number("latency_us") / 1e6
    return Wire(bandwidth_Bps, latency_s)
