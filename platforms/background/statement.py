"""Statements of background load: a file of the user, or a named one of ``presets.toml``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from platforms.background.distributions import AVAILABILITY, BANDWIDTH, LATENCY, Distribution, read_distribution
from platforms.background.ground import LoadableGrid
from platforms.errors import PlatformError, inside, known_names, matching
from platforms.files.checked_toml import CheckedTable, read_placed, read_toml

_KEYS = {
    "": ("source", "nodes", "clusters", "wan"),
    "nodes": ("availability", "epoch_s"),
    "wan": ("bandwidth", "latency", "links"),
}
EPOCH_RANGE_S = (1e-3, 1e9)


@dataclass(frozen=True)
class NodeLoad:
    """Load of the nodes of a cluster; every node has its own, independent of the others."""

    availability: Distribution
    # Mean length of the epochs of a node, s: each has its own value, and their lengths are exponentially distributed,
    # so that the correlation of two moments is exp(-distance / epoch_s).  None: one value for the whole run.
    epoch_s: float | None


@dataclass(frozen=True)
class Background:
    """Statement of the background load of a grid."""

    name: str
    source: str  # where its numbers come from; may be empty
    nodes: NodeLoad | None  # of clusters that are not named; None: they are quiet
    clusters: Mapping[str, NodeLoad]
    bandwidth: Distribution | None  # share of each wide-area link's, for a whole run; None: all of it
    latency: Distribution | None  # factor of each wide-area link's, for a whole run; None: 1
    links: tuple[str, ...] = ()  # patterns of the names of the links that are shared; (): all wide-area links

    def of_cluster(self, name: str) -> NodeLoad | None:
        """Return the load of a cluster's nodes; None: there is none."""
        return self.clusters.get(name, self.nodes)

    def shares(self, link: str) -> bool:
        """Return whether a wide-area link of this name has load."""
        return not self.links or any(fnmatchcase(link, pattern) for pattern in self.links)

    def check(self, grid: LoadableGrid) -> None:
        """Check that the grid has every cluster and wide-area link that is named.

        Raises:
            PlatformError: It has not.
        """
        names = [link.name for link in grid.wan_links]
        for pattern in self.links:
            if not any(fnmatchcase(name, pattern) for name in names):
                problem = f"grid {grid.name} has no wide-area link {pattern!r}"
                remedy = f"Known: {', '.join(names) or 'none'}"
                raise PlatformError(f"background {self.name}, wan, links", problem, remedy)
        known = [cluster.name for cluster in grid.clusters]
        for name in self.clusters:
            if name not in known:
                where = f"background {self.name}, clusters.{name}"
                raise PlatformError(where, f"grid {grid.name} has no such cluster", f"Known: {', '.join(known)}")


def background_names() -> tuple[str, ...]:
    """Return the names of the backgrounds that come with the project."""
    return tuple(_presets())


def asked_background(text: str) -> Background:
    """Return the background of this name or in this file.

    Raises:
        PlatformError: There is none, or the file is wrong.
    """
    name = matching(text, _presets())
    if name is not None:
        return _background(name, _presets()[name], f"background {name}")
    if not text.lower().endswith(".toml"):
        known = known_names(text, _presets())
        raise PlatformError(f"background {text!r}", "no such background", f"{known}, or give a FILE.toml")
    return _background(text, *read_placed(Path(text), "background file"))


def _background(name: str, values: dict[str, Any], where: str) -> Background:
    top = CheckedTable(values, where, _KEYS)
    wan = top.table("wan", "wan")
    named = top.value("clusters", {})
    if not isinstance(named, dict) or not all(isinstance(entry, dict) for entry in named.values()):
        place = inside(where, "", "clusters")
        raise PlatformError(place, "clusters is not a table of tables", "Write for example [clusters.c1]")
    places = {cluster: inside(where, f", clusters.{cluster}", "clusters", cluster) for cluster in named}
    clusters = {
        cluster: _node_load(CheckedTable(entry, places[cluster], _KEYS, "nodes")) for cluster, entry in named.items()
    }
    nodes = _node_load(top.table("nodes", "nodes")) if top.has("nodes") else None
    bandwidth, latency = read_distribution(wan, BANDWIDTH), read_distribution(wan, LATENCY)
    if nodes is None and not clusters and bandwidth is None and latency is None:
        raise PlatformError(where, "it states no load", "Give [nodes] or [wan]")
    links = tuple(wan.list_of("links", [], str, "names of links"))
    if links and bandwidth is None and latency is None:
        raise PlatformError(top.at("wan"), "links are named, but no load of theirs", "Give bandwidth or latency")
    return Background(name, top.text("source", ""), nodes, clusters, bandwidth, latency, links)


def _node_load(table: CheckedTable) -> NodeLoad:
    availability = read_distribution(table, AVAILABILITY)
    if availability is None:
        raise PlatformError(table.where, "'availability' is missing", "Give a distribution")
    epoch_s = table.number("epoch_s") if table.has("epoch_s") else None
    low_s, high_s = EPOCH_RANGE_S
    if epoch_s is not None and not low_s <= epoch_s <= high_s:
        raise PlatformError(table.of("epoch_s"), f"epoch_s is {epoch_s:g}", f"Give {low_s:g} to {high_s:g}")
    return NodeLoad(availability, epoch_s)


@functools.cache
def _presets() -> dict[str, Any]:
    return read_toml(Path(__file__).with_name("presets.toml"), "background file")
