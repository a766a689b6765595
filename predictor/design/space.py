"""The grids that a budget allows, and what each costs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property

from platforms.errors import UserError
from platforms.grid import Grid, wan_ends
from platforms.placement import Placement
from predictor.design.offer import NetworkKind, NodeKind
from predictor.design.request import Request

MOST_CANDIDATES = 200_000  # that are listed: some hundred megabytes, and minutes for the bounds alone
MOST_AFFORDABLE = 2_000_000  # that are looked at where few have a number of ranks that programs allow
_ROUNDING = 1 + 1e-12  # relative: sums of prices such as 0.1 may exceed a budget that they meet

Parts = tuple[tuple[NodeKind, int], ...]  # kind and number of nodes of each cluster, in the order of the ranks


@dataclass(frozen=True)
class Candidate:
    """A grid that can be bought."""

    network: NetworkKind
    parts: Parts
    ranks_per_node: tuple[int, ...]  # of each cluster
    price: float

    @property
    def nodes(self) -> int:
        return sum(nodes for _, nodes in self.parts)

    @cached_property
    def cluster_ranks(self) -> tuple[int, ...]:
        """Ranks on each cluster."""
        return tuple(nodes * ranks for (_, nodes), ranks in zip(self.parts, self.ranks_per_node, strict=True))

    @property
    def ranks(self) -> int:
        return sum(self.cluster_ranks)

    def grid(self) -> Grid:
        """As platforms.grid has it; its clusters are called kind_1, kind_2, ..."""
        clusters = [self.network.cluster(f"{kind.name}_{i}", kind, n) for i, (kind, n) in enumerate(self.parts, 1)]
        ends = wan_ends(self.network.wan_shape, [cluster.name for cluster in clusters])
        links = tuple(self.network.wan_link(*pair) for pair in ends)
        network = self.network
        return Grid("design", network.named, tuple(clusters), network.wan_shape, links, network.options)

    def placement(self, grid: Grid) -> Placement:
        """Cluster by cluster and node by node, each with its ranks: mapping ``block`` on all of the grid."""
        clusters = zip(grid.clusters, self.ranks_per_node, strict=True)
        return tuple(host for cluster, ranks in clusters for host in cluster.host_names for _ in range(ranks))

    @property
    def full_power_w(self) -> float:
        """Of all nodes, all their cores busy."""
        return sum(cluster.nodes * cluster.node_power.full_w for cluster in self.grid().clusters)

    def __str__(self) -> str:
        return " + ".join(f"{nodes} {kind.name}" for kind, nodes in self.parts)


def price_of(request: Request, network: NetworkKind, parts: Parts) -> float:
    """Nodes with their ports, clusters with their backbones, wide-area links."""
    return (
        sum(nodes * (kind.price + network.node_port_price) for kind, nodes in parts)
        + len(parts) * (request.clusters.price + network.backbone_price)
        + network.wan_links(len(parts)) * network.wan_link_price
    )


def candidates(request: Request) -> list[Candidate]:
    """Every grid of the lattice that the budget allows and on which every program of the mix may run.

    Clusters of one grid are unordered: they stand in the order of the kinds in the file, the larger ones first.  Of
    lone clusters that differ in wide-area links only, which they do not have, the cheapest is kept.

    Raises UserError where there is none, or more than MOST_CANDIDATES, or more than MOST_AFFORDABLE before their ranks
    are asked about.
    """
    found = []
    rule: dict[int, bool] = {}  # by number of ranks
    affordable = 0
    for network in request.networks:
        for parts in _lattice(request, network):
            affordable += 1
            per_node = tuple(request.ranks_on(kind) for kind, _ in parts)
            candidate = Candidate(network, parts, per_node, price_of(request, network, parts))
            ranks = candidate.ranks
            if ranks not in rule:
                rule[ranks] = all(program.problem.allows(ranks) for program in request.programs)
            if rule[ranks]:
                found.append(candidate)
            if len(found) > MOST_CANDIDATES or affordable > MOST_AFFORDABLE:
                most = MOST_CANDIDATES if len(found) > MOST_CANDIDATES else MOST_AFFORDABLE
                remedy = "Give fewer sizes of clusters (sizes, or a larger step), fewer clusters or a smaller budget"
                raise UserError(request.name, f"more than {most} grids are within the budget", remedy)
    if not found and affordable:
        problem = "no grid within the budget has a number of ranks that all programs allow"
        raise UserError(request.name, problem, "Give other sizes of clusters")
    if not found:
        raise UserError(request.name, f"a budget of {request.budget:g} buys no grid", "Raise it, or lower the least")
    return _without_twins(found)


def _without_twins(found: list[Candidate]) -> list[Candidate]:
    """Without lone clusters that are there for less, or as cheaply before."""
    cheapest: dict[tuple[Hashable, ...], Candidate] = {}
    for one in found:
        key = _lone_key(one)
        if len(one.parts) == 1 and (key not in cheapest or one.price < cheapest[key].price):
            cheapest[key] = one
    return [one for one in found if len(one.parts) > 1 or cheapest[_lone_key(one)] is one]


def _lone_key(candidate: Candidate) -> tuple[Hashable, ...]:
    """What makes a cluster without wide-area links what it is."""
    network = candidate.network
    return candidate.parts, network.node, network.backbone, network.options


def _lattice(request: Request, network: NetworkKind) -> Iterator[Parts]:
    """The grids that the budget allows, each followed by those that begin with its clusters."""
    limits = request.clusters
    nothing: Parts = ()
    open_ends: list[Iterator[tuple[Parts, int, int]]] = [iter([(nothing, 0, len(limits.sizes))])]
    while open_ends:
        if (following := next(open_ends[-1], None)) is None:
            open_ends.pop()
            continue
        parts, kind, sizes = following
        if len(parts) >= limits.least:
            yield parts
        if len(parts) < limits.most:
            open_ends.append(_extended(request, network, parts, kind, sizes))


def _extended(
    request: Request, network: NetworkKind, parts: Parts, first: int, sizes: int
) -> Iterator[tuple[Parts, int, int]]:
    """By one cluster, of the kinds from number ``first`` on; of that kind only the ``sizes`` smallest sizes.

    With each its last cluster's kind and size as these two say them.  More nodes never cost less, so those that are
    too dear are cut off together, and nothing dearer is built on them.
    """
    of_all = request.clusters.sizes
    for number in range(first, len(request.nodes)):
        kind = request.nodes[number]

        def price(nodes: int, kind: NodeKind = kind) -> float:
            return price_of(request, network, (*parts, (kind, nodes)))

        most = sizes if number == first else len(of_all)
        most = bisect_right(of_all, request.budget * _ROUNDING, hi=most, key=price)
        if kind.most is not None:
            left = kind.most - sum(nodes for other, nodes in parts if other is kind)
            most = bisect_right(of_all, left, hi=most)
        for size in range(most, 0, -1):
            yield (*parts, (kind, of_all[size - 1])), number, size
