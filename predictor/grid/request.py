"""Read a design file: the hardware on offer with its prices, the budget, and the programs to run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apps.options.programs import KEYS as PROBLEM_KEYS
from apps.options.programs import problem_of_table, said_of
from apps.programs.problem import Problem
from platforms.errors import PlatformError, UserError
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.grids.grid import MOST_NODES, WAN_SHAPES, Grid, GridCluster, WanLink, Wire, wan_ends
from platforms.grids.network import Network, named_network
from platforms.grids.scenario import WIRE_KEYS, wire_of
from platforms.model.platform import Power

MOST_OFFERS = 10_000  # kinds of nodes times networks
CORES = "cores"  # value of ranks_per_node: one rank per core
_KEYS = {
    "": ("source", "budget", "currency", "ranks_per_node", "nodes", "networks", "clusters", "programs"),
    "nodes": ("source", "name", "speed_gflops", "cores", "price", "most", "power"),
    "power": ("idle_w", "full_w"),
    "networks": (
        *("source", "name", "network", "node", "backbone", "wan", "options"),
        *("node_port_price", "backbone_price", "wan_link_price"),
    ),
    "wire": WIRE_KEYS,
    "wan": ("shape", *WIRE_KEYS, "duplex"),
    "clusters": ("least", "most", "sizes", "most_nodes", "step", "price"),
    "programs": (*PROBLEM_KEYS, "weight"),
}


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


@dataclass(frozen=True)
class Program:
    """A program of the mix, with its weight."""

    problem: Problem
    weight: float  # > 0: factor of its time in the weighted sum, such as the number of its runs


@dataclass(frozen=True)
class DesignQuestion:
    """Contents of a design file."""

    name: str
    budget: float
    currency: str
    nodes: tuple[NodeKind, ...]
    networks: tuple[NetworkKind, ...]
    clusters: ClusterLimits
    programs: tuple[Program, ...]
    ranks_per_node: int | None  # None: one rank per core

    def ranks_on(self, kind: NodeKind) -> int:
        """Return the number of ranks on each node of a kind."""
        return kind.cores if self.ranks_per_node is None else self.ranks_per_node

    def with_budget(self, budget: float) -> DesignQuestion:
        """Return the request with another budget.

        Raises:
            UserError: The budget is not positive and finite.
        """
        if not 0 < budget < math.inf:
            raise UserError(f"budget {budget:g}", "not an amount", "Give a positive number")
        return replace(self, budget=budget)


def read_request(path: str | Path, problems: Sequence[Problem] | None = None) -> DesignQuestion:
    """Read a request from a TOML file, whose keys are described in docs/planning/grid-design.md.

    Args:
        path: The file; names of programs in it are relative to its folder.
        problems: Problems in place of those of the file, each with weight 1; None: those of the file.

    Raises:
        UserError: The file cannot be read, or a value is wrong; the error names file and key.
    """
    path = Path(path)
    top = read_checked(path, _KEYS, "design file")
    top.text("source", "")  # information for readers of the file; only its type is checked
    request = DesignQuestion(
        name=path.stem,
        budget=top.number("budget"),
        currency=top.text("currency", ""),
        nodes=tuple(_node(entry) for entry in _some(top, "nodes")),
        networks=tuple(_network(entry) for entry in _some(top, "networks")),
        clusters=_clusters(top.table("clusters", "clusters")),
        programs=(
            tuple(_program(entry, path.parent) for entry in _some(top, "programs"))
            if problems is None
            else tuple(Program(asked, 1.0) for asked in problems)
        ),
        ranks_per_node=_ranks_per_node(top),
    )
    _check_names(top, "nodes", [kind.name for kind in request.nodes])
    _check_names(top, "networks", [kind.name for kind in request.networks])
    _check_names(top, "programs", [str(program.problem) for program in request.programs])
    _check_hardware(top, request)
    with said_of(top.where):
        return request.with_budget(request.budget)


def _some(top: CheckedTable, key: str) -> list[CheckedTable]:
    entries = top.tables(key)
    if not entries:
        raise PlatformError(top.where, f"no [[{key}]]", "Give at least one")
    return entries


def _node(entry: CheckedTable) -> NodeKind:
    entry.text("source", "")
    most = entry.integer("most") if entry.has("most") else None
    if most is not None and most < 1:
        raise PlatformError(entry.of("most"), f"most = {most}", "Give at least 1, or leave the kind out")
    power = None
    if entry.has("power"):
        watts = entry.table("power", "power")
        power = Power(watts.number("idle_w"), watts.number("full_w"), epsilon_w=watts.number("idle_w"))
    return NodeKind(
        name=entry.text("name"),
        speed_flops=entry.number("speed_gflops") * 1e9,
        cores=entry.integer("cores", 1),
        price=_price(entry, "price", required=True),
        most=most,
        power=power,
    )


def _network(entry: CheckedTable) -> NetworkKind:
    entry.text("source", "")
    name = entry.text("name")
    named = entry.text("network", name)
    with said_of(entry.where):
        base = named_network(named)
    wan = entry.table("wan", "wan")
    shape = wan.text("shape", "mesh")
    if shape not in WAN_SHAPES:
        raise PlatformError(wan.of("shape"), f"no shape {shape!r}", f"Known: {', '.join(WAN_SHAPES)}")
    options = entry.options("options")
    return NetworkKind(
        name=name,
        named=base.name,
        node=wire_of(entry.table("node", "wire"), base.node),
        backbone=wire_of(entry.table("backbone", "wire"), base.backbone),
        wan=wire_of(wan, base.wan),
        wan_shape=shape,
        wan_duplex=wan.boolean("duplex", False),
        options=_options(base, options),
        own_options=tuple(options.items()),
        node_port_price=_price(entry, "node_port_price"),
        backbone_price=_price(entry, "backbone_price"),
        wan_link_price=_price(entry, "wan_link_price"),
    )


def _options(base: Network, options: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple({**dict(base.options), **options}.items())


def _clusters(entry: CheckedTable) -> ClusterLimits:
    least, most = entry.integer("least", 1), entry.integer("most")
    if not 1 <= least <= most:
        raise PlatformError(entry.where, f"{least} to {most} clusters", "Give 1 <= least <= most")
    if entry.has("sizes") == entry.has("most_nodes"):
        raise PlatformError(entry.where, "'sizes' or 'most_nodes' is needed, and one of them only", "Give one of them")
    if entry.has("sizes"):
        if entry.has("step"):
            raise PlatformError(entry.where, "'step' goes with 'most_nodes'", "Drop it")
        sizes: Sequence[int] = sorted(set(entry.list_of("sizes", [], int, "numbers of nodes")))
    else:
        step = entry.integer("step", 1)
        if step < 1:
            raise PlatformError(entry.of("step"), f"step = {step}", "Give at least 1")
        sizes = range(step, entry.integer("most_nodes") + 1, step)
    if not sizes or sizes[0] < 1:
        raise PlatformError(entry.where, f"clusters of {sizes[0] if sizes else 'no'} nodes", "Give sizes from 1")
    if sizes[-1] > MOST_NODES:
        raise PlatformError(entry.where, f"clusters of {sizes[-1]} nodes", f"Give at most {MOST_NODES}")
    return ClusterLimits(least, most, tuple(sizes), _price(entry, "price"))


def _program(entry: CheckedTable, folder: Path) -> Program:
    weight = entry.number("weight", 1.0)
    if not 0 < weight < math.inf:
        raise PlatformError(entry.of("weight"), f"weight = {weight:g}", "Give a positive number")
    return Program(problem_of_table(entry, folder), weight)


def _ranks_per_node(top: CheckedTable) -> int | None:
    if top.value("ranks_per_node", CORES) == CORES:
        return None
    ranks = top.integer("ranks_per_node")
    if ranks < 1:
        raise PlatformError(top.of("ranks_per_node"), f"ranks_per_node = {ranks}", f'Give at least 1, or "{CORES}"')
    return ranks


def _price(entry: CheckedTable, key: str, *, required: bool = False) -> float:
    price = entry.number(key) if required else entry.number(key, 0.0)
    if not 0 <= price < math.inf:
        raise PlatformError(entry.of(key), f"{key} = {price:g}", "Give 0 or more")
    return price


def _check_names(top: CheckedTable, key: str, names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise PlatformError(top.at(key), f"{min(twice)!r} is given twice", "Keep one")


def _check_hardware(top: CheckedTable, request: DesignQuestion) -> None:
    """Check that every kind of node makes a valid grid on every network, and that its ranks have a core each."""
    offers = len(request.nodes) * len(request.networks)
    if offers > MOST_OFFERS:
        problem = f"{len(request.nodes)} kinds of nodes on {len(request.networks)} networks"
        raise PlatformError(top.where, problem, f"Give at most {MOST_OFFERS} combinations")
    for i, kind in enumerate(request.nodes, 1):
        for j, network in enumerate(request.networks, 1):
            clusters = tuple(network.cluster(f"{kind.name}_{k}", kind, 1) for k in (1, 2))
            ends = wan_ends(network.wan_shape, [cluster.name for cluster in clusters])
            try:
                Grid("offer", network.named, clusters, network.wan_shape, tuple(network.wan_link(*e) for e in ends))
            except PlatformError as err:
                where = f"{top.where}, nodes {i} on networks {j}: {err.where}"
                raise PlatformError(where, err.problem, err.remedy) from None
        if request.ranks_on(kind) > kind.cores:
            what = f"ranks_per_node = {request.ranks_per_node}, but a node of kind {kind.name} has {kind.cores} core(s)"
            raise PlatformError(f"{top.where}, nodes {i}", what, f'Give at most the cores, or "{CORES}"')
