"""The hardware on offer: kinds of nodes, networks and their prices, all in the same currency."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.grids.grid import GridCluster, WanLink, Wire
from platforms.model.platform import Power


@dataclass(frozen=True)
class NodeKind:
    """A kind of node on offer."""

    name: str
    speed_flops: float  # speed of one core, flop/s, > 0
    cores: int  # per node
    price: float  # of a node, >= 0
    most: int | None  # largest number in the whole grid; None: any number
    power: Power | None  # of a node; None: in proportion to its speed


@dataclass(frozen=True)
class NetworkKind:
    """A kind of network on offer, which joins nodes to clusters and clusters to a grid."""

    name: str
    named: str  # network of platforms/grids/networks.toml, which gives the values that the design file leaves out
    node: Wire  # between a node and its cluster's backbone
    backbone: Wire
    wan: Wire  # between two clusters (mesh), or between a cluster and the hub (star)
    wan_shape: str
    wan_duplex: bool
    options: tuple[tuple[str, str], ...]  # SimGrid options, including those of the named network
    own_options: tuple[tuple[str, str], ...]  # the options that the design file gives
    node_port_price: float  # per node, >= 0, as all prices
    backbone_price: float  # per cluster
    wan_link_price: float  # per wide-area link

    def cluster(self, name: str, kind: NodeKind, nodes: int) -> GridCluster:
        """Return a cluster of ``nodes`` nodes of one kind on this network."""
        return GridCluster(name, nodes, kind.speed_flops, self.node, self.backbone, kind.cores, kind.power)

    def wan_link(self, first: str, second: str | None) -> WanLink:
        """Return the wide-area link between two clusters, or between a cluster and the hub (None)."""
        return WanLink(first, second, self.wan, self.wan_duplex)

    def wan_links(self, clusters: int) -> int:
        """Return the number of wide-area links of a grid with ``clusters`` clusters; a single cluster needs none."""
        if clusters < 2:
            return 0
        return clusters if self.wan_shape == "star" else clusters * (clusters - 1) // 2


@dataclass(frozen=True)
class ClusterLimits:
    """Limits of the number of clusters in a grid, and of their sizes."""

    least: int  # smallest number of clusters, >= 1
    most: int  # largest number of clusters
    sizes: tuple[int, ...]  # numbers of nodes that a cluster may have, ascending
    price: float  # of a cluster without its nodes and network, such as a room or a rack
