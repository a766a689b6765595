"""Targets on which predictors are checked, and the same targets on changed platforms.

The network is ``infiniband``, which has no TCP window and no CPU time of messages.  One other constant of SimGrid is in
seconds, and SETTINGS make it negligible: times are equal within 1 ns, which changes simulated times of CG by up to
1e-5.  On a platform of doubled speeds and bandwidths and halved latencies, every simulated time is then halved to the
last bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.grid import Grid, WanLink, Wire, wan_ends
from platforms.grids.scenario import named_grid
from platforms.grids.xml import platform_xml
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.read.read import kept_file, materialise, read_platform

NETWORK = "infiniband"
SETTINGS = Settings(options=(("surf/precision", "1e-12"),))
SPEEDS_FLOPS = (40e9, 50e9, 60e9, 70e9)
_UNKNOWN_PROGRAM = Path(__file__).with_name("unknown_program.c")


@dataclass(frozen=True)
class ConformanceCase:
    """Problems on all nodes of a grid, a rank on each."""

    clusters: int
    nodes: int  # of each cluster
    problems: tuple[tuple[str, str], ...]  # name and class
    ranks: tuple[int, ...] = ()  # numbers of ranks; (): as many as nodes

    @cached_property
    def grid(self) -> Grid:
        """The grid."""
        name = f"grid{self.clusters}x{self.nodes}"
        return named_grid(name, NETWORK, SPEEDS_FLOPS[: self.clusters])

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The targets."""
        platform = materialise(self.grid)
        placements = [block(platform, ranks) for ranks in self.ranks or (self.clusters * self.nodes,)]
        return tuple(
            Target(problem(*numbers), platform, placement) for numbers in self.problems for placement in placements
        )

    def __str__(self) -> str:
        ranks = f", {' and '.join(map(str, self.ranks))} ranks" if self.ranks else ""
        return f"{', '.join(f'{name} {preset}' for name, preset in self.problems)} on {self.grid.name}{ranks}"


# A predictor is checked on the first of these of which it answers at least two targets.
CASES = (
    ConformanceCase(4, 2, (("cg", "S"), ("ep", "S"), ("mg", "S"))),  # the least ranks that the validity map has
    ConformanceCase(1, 4, (("cg", "S"), ("ep", "S"), ("mg", "S"))),  # equal nodes
    ConformanceCase(2, 3, (("ep", "A"),), ranks=(6, 4)),  # smaller classes, and several nodes per cluster
    ConformanceCase(3, 4, (("cg", "S"), ("ep", "S"))),  # many smaller numbers of nodes
)


def scaled(case: ConformanceCase, targets: tuple[Target, ...], factor: float) -> tuple[Target, ...]:
    """Return the targets on a grid with speeds and bandwidths times ``factor``, and latencies divided by it."""

    def wire(other_wire: Wire) -> Wire:
        return Wire(other_wire.bandwidth_Bps * factor, other_wire.latency_s / factor)

    clusters = tuple(
        replace(
            cluster, speed_flops=cluster.speed_flops * factor, node=wire(cluster.node), backbone=wire(cluster.backbone)
        )
        for cluster in case.grid.clusters
    )
    links = tuple(replace(link, wire=wire(link.wire)) for link in case.grid.wan_links)
    platform = materialise(replace(case.grid, clusters=clusters, wan_links=links))
    return tuple(replace(target, platform=platform) for target in targets)


def renamed(case: ConformanceCase, targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return the targets on the same grid with other names, whose alphabetical order is the reverse."""
    clusters = case.grid.clusters
    names = {cluster.name: f"site{len(clusters) - i}" for i, cluster in enumerate(clusters)}
    grid = _with_clusters(case.grid, [(names[cluster.name], cluster.name) for cluster in clusters])
    hosts = {f"{cluster.name}-{k}": f"{names[cluster.name]}-{k}" for cluster in clusters for k in range(cluster.nodes)}
    return _moved(targets, materialise(grid), hosts)


def permuted(case: ConformanceCase, targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return the targets on the same grid with its clusters, and the hosts of each, in the reverse order.

    Every rank stays on an equal host.
    """
    clusters = case.grid.clusters
    grid = _with_clusters(case.grid, [(cluster.name, cluster.name) for cluster in reversed(clusters)])
    hosts = {
        f"{cluster.name}-{k}": f"{cluster.name}-{cluster.nodes - 1 - k}"
        for cluster in clusters
        for k in range(cluster.nodes)
    }
    return _moved(targets, materialise(grid), hosts)


def _with_clusters(grid: Grid, names: list[tuple[str, str]]) -> Grid:
    """Return the grid with its clusters in this order; each pair has the new and the old name of a cluster."""
    old = {cluster.name: cluster for cluster in grid.clusters}
    new_of = {before: name for name, before in names}
    wires = {frozenset((new_of[link.first], new_of[str(link.second)])): link.wire for link in grid.wan_links}
    ends = wan_ends(grid.wan_shape, [name for name, _ in names])
    links = tuple(WanLink(first, second, wires[frozenset((first, str(second)))]) for first, second in ends)
    return replace(grid, clusters=tuple(replace(old[b], name=n) for n, b in names), wan_links=links)


def _moved(targets: tuple[Target, ...], platform: Platform, hosts: dict[str, str]) -> tuple[Target, ...]:
    return tuple(
        replace(target, platform=platform, placement=tuple(hosts[host] for host in target.placement))
        for target in targets
    )


def odd_targets() -> Iterator[tuple[str, Target]]:
    """Yield targets that not every predictor has to answer, each with its description."""
    grid = named_grid("grid2x2", NETWORK, SPEEDS_FLOPS[:2])
    platform = materialise(grid)
    twice = tuple(host for host in block(platform, 2) for _ in range(2))
    two_cores = materialise(replace(grid, clusters=tuple(replace(cluster, cores=2) for cluster in grid.clusters)))
    one_cluster = read_platform(kept_file(platform_xml(named_grid("grid1x4", NETWORK, SPEEDS_FLOPS[:1]))), "file")
    cg = problem("cg", "S")
    yield "two ranks on each core", Target(cg, platform, twice)
    yield "a rank on each of two cores", Target(cg, two_cores, twice)
    yield "one rank", Target(cg, platform, twice[:1])
    yield "one host", Target(cg, platform, twice[:1] * 4)
    yield (
        "a program of its user",
        Target(own_problem(read_program(_UNKNOWN_PROGRAM, "{iterations}", 20)), platform, block(platform, 4)),
    )
    yield "a platform file of one cluster", Target(cg, one_cluster, block(one_cluster, 4))
