"""List the grids that a budget allows, with their prices."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from apps.traffic import runs_on
from platforms.errors import UserError
from platforms.grids.grid import Grid, wan_ends
from platforms.model.placement import Placement
from predictor.grid.request import DesignQuestion, NetworkKind, NodeKind

MOST_CANDIDATES = 200_000  # limit of the list: some hundred megabytes, and minutes for the bounds alone
MOST_AFFORDABLE = 2_000_000  # limit of the grids within the budget, of which few may suit the programs
_ROUNDING = 1 + 1e-12  # tolerance factor: a rounded sum of prices such as 0.1 may exceed a budget that it meets
_NUMBERS_SHOWN = 8  # largest length of a list of numbers of ranks in a message

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
        """Number of nodes."""
        return sum(nodes for _, nodes in self.parts)

    @cached_property
    def cluster_ranks(self) -> tuple[int, ...]:
        """Number of ranks on each cluster."""
        return tuple(nodes * ranks for (_, nodes), ranks in zip(self.parts, self.ranks_per_node, strict=True))

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return sum(self.cluster_ranks)

    def grid(self) -> Grid:
        """Return the candidate as a grid; its clusters are named <kind>_1, <kind>_2, ..."""
        clusters = [self.network.cluster(f"{kind.name}_{i}", kind, n) for i, (kind, n) in enumerate(self.parts, 1)]
        ends = wan_ends(self.network.wan_shape, [cluster.name for cluster in clusters])
        links = tuple(self.network.wan_link(*pair) for pair in ends)
        network = self.network
        return Grid("design", network.named, tuple(clusters), network.wan_shape, links, network.options)

    def placement(self, grid: Grid) -> Placement:
        """Return the placement on all nodes, cluster by cluster and node by node (mapping ``block``)."""
        clusters = zip(grid.clusters, self.ranks_per_node, strict=True)
        return tuple(host for cluster, ranks in clusters for host in cluster.host_names for _ in range(ranks))

    @property
    def full_power_w(self) -> float:
        """Power of all nodes with all cores busy, W."""
        return sum(cluster.nodes * cluster.node_power.full_w for cluster in self.grid().clusters)

    def __str__(self) -> str:
        return " + ".join(f"{nodes} {kind.name}" for kind, nodes in self.parts)


def price_of(request: DesignQuestion, network: NetworkKind, parts: Parts) -> float:
    """Return the price of a grid: nodes with their ports, clusters with their backbones, and wide-area links."""
    return (
        sum(nodes * (kind.price + network.node_port_price) for kind, nodes in parts)
        + len(parts) * (request.clusters.price + network.backbone_price)
        + network.wan_links(len(parts)) * network.wan_link_price
    )


@dataclass(frozen=True)
class Refused:
    """Grids within the budget that are left out, because a program does not run on their numbers of ranks."""

    grids: int  # number of grids
    ranks: Mapping[str, tuple[int, ...]]  # numbers of ranks by the program that refuses them, ascending

    def __str__(self) -> str:
        return "; ".join(f"{program} does not run on {_numbers(ranks)} ranks" for program, ranks in self.ranks.items())


@dataclass(frozen=True)
class Affordable:
    """The grids within a budget."""

    candidates: list[Candidate]
    refused: Refused


def candidates(request: DesignQuestion) -> list[Candidate]:
    """Return every grid of the lattice that the budget allows and on which every program of the mix runs.

    Raises:
        UserError: As ``affordable``.
    """
    return affordable(request).candidates


def affordable(request: DesignQuestion) -> Affordable:
    """List the grids of the lattice that the budget allows, without those whose ranks a program of the mix refuses.

    The clusters of a grid are unordered: they are listed in the order of the kinds in the file, larger ones first.
    Single clusters that differ only in wide-area links, which they do not have, are listed once, the cheapest.

    Raises:
        UserError: There is no grid, or there are more than MOST_CANDIDATES, or more than MOST_AFFORDABLE with those
            that programs refuse.
    """
    possible = []
    refusing: dict[int, tuple[str, ...]] = {}  # programs that do not run, by number of ranks
    within, left_out = 0, 0
    for network in request.networks:
        for parts in _lattice(request, network):
            within += 1
            per_node = tuple(request.ranks_on(kind) for kind, _ in parts)
            candidate = Candidate(network, parts, per_node, price_of(request, network, parts))
            ranks = candidate.ranks
            if ranks not in refusing:
                problems = (program.problem for program in request.programs)
                refusing[ranks] = tuple(str(problem) for problem in problems if not runs_on(problem, ranks))
            if refusing[ranks]:
                left_out += 1
            else:
                possible.append(candidate)
            if len(possible) > MOST_CANDIDATES or within > MOST_AFFORDABLE:
                most = MOST_CANDIDATES if len(possible) > MOST_CANDIDATES else MOST_AFFORDABLE
                remedy = "Give fewer sizes of clusters (sizes, or a larger step), fewer clusters or a smaller budget"
                raise UserError(request.name, f"more than {most} grids are within the budget", remedy)
    refused = Refused(left_out, _by_program(refusing))
    if not possible and within:
        problem = f"no grid within the budget has a number of ranks on which all programs run: {refused}"
        raise UserError(request.name, problem, "Give other sizes of clusters")
    if not possible:
        raise UserError(request.name, f"a budget of {request.budget:g} buys no grid", "Raise it, or lower the least")
    return Affordable(_without_twins(possible), refused)


def _by_program(refusing: Mapping[int, tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of ranks that each program refuses, ascending."""
    ranks: dict[str, list[int]] = {}
    for number in sorted(refusing):
        for program in refusing[number]:
            ranks.setdefault(program, []).append(number)
    return {program: tuple(numbers) for program, numbers in ranks.items()}


def _numbers(numbers: tuple[int, ...]) -> str:
    """Return numbers as a list for a message, shortened where it is long."""
    shown = ", ".join(map(str, numbers[:_NUMBERS_SHOWN]))
    more = len(numbers) - _NUMBERS_SHOWN
    return f"{shown} and {more} other numbers of" if more > 0 else shown


def _without_twins(possible: list[Candidate]) -> list[Candidate]:
    """Remove single clusters of which an equal one is cheaper, or as cheap and earlier in the list."""
    cheapest: dict[tuple[Hashable, ...], Candidate] = {}
    for candidate in possible:
        key = _lone_key(candidate)
        if len(candidate.parts) == 1 and (key not in cheapest or candidate.price < cheapest[key].price):
            cheapest[key] = candidate
    return [
        candidate for candidate in possible if len(candidate.parts) > 1 or cheapest[_lone_key(candidate)] is candidate
    ]


def _lone_key(candidate: Candidate) -> tuple[Hashable, ...]:
    """Return the properties that matter for a cluster without wide-area links."""
    network = candidate.network
    return candidate.parts, network.node, network.backbone, network.options


def _lattice(request: DesignQuestion, network: NetworkKind) -> Iterator[Parts]:
    """Yield the grids that the budget allows, each followed by those that begin with its clusters."""
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
    request: DesignQuestion, network: NetworkKind, parts: Parts, first: int, sizes: int
) -> Iterator[tuple[Parts, int, int]]:
    """Yield ``parts`` extended by one cluster, with its kind and size in the form of ``first`` and ``sizes``.

    The new cluster is of the kinds from number ``first`` on; of kind ``first`` it has one of the ``sizes`` smallest
    sizes.  More nodes never cost less, so all sizes that are too expensive are cut off together and never extended.
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
