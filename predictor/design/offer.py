"""What can be bought: kinds of nodes, networks and what they cost.  Prices are in one currency, whichever it is."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.grid import GridCluster, WanLink, Wire
from platforms.platform import Power


@dataclass(frozen=True)
class NodeKind:
    """Equal nodes, of which so many can be had."""

    name: str
    speed_flops: float  # of one core, flop/s, > 0
    cores: int  # of a node
    price: float  # of a node, >= 0
    most: int | None  # in the whole grid; None: any number
    power: Power | None  # of a node; None: in proportion to its speed


@dataclass(frozen=True)
class NetworkKind:
    """What joins nodes to clusters and clusters to a grid, all of one kind."""

    name: str
    named: str  # the network of platforms/networks.toml that gives what is not said
    node: Wire  # between a node and its cluster's backbone
    backbone: Wire
    wan: Wire  # between two clusters (mesh), or a cluster and the hub (star)
    wan_shape: str
    wan_duplex: bool
    options: tuple[tuple[str, str], ...]  # SimGrid options, those of the named network included
    own_options: tuple[tuple[str, str], ...]  # of these, what was said beside the named network
    node_port_price: float  # of a node's link, >= 0, as all prices
    backbone_price: float  # of a cluster's
    wan_link_price: float

    def cluster(self, name: str, kind: NodeKind, nodes: int) -> GridCluster:
        """So many nodes of a kind on this network."""
        return GridCluster(name, nodes, kind.speed_flops, self.node, self.backbone, kind.cores, kind.power)

    def wan_link(self, first: str, second: str | None) -> WanLink:
        return WanLink(first, second, self.wan, self.wan_duplex)

    def wan_links(self, clusters: int) -> int:
        """How many a grid of so many clusters needs; a lone cluster needs none."""
        if clusters < 2:
            return 0
        return clusters if self.wan_shape == "star" else clusters * (clusters - 1) // 2


@dataclass(frozen=True)
class ClusterLimits:
    """How many clusters a grid may have, and how large each may be."""

    least: int  # clusters, >= 1
    most: int
    sizes: tuple[int, ...]  # numbers of nodes that a cluster may have, ascending
    price: float  # of a cluster besides its nodes and network: a room, a rack
