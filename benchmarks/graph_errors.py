"""Errors of the graph predictors against simulated runs, class B.

Sets: `scenarios` (the six on four networks, block and cyclic), `random` (random platforms, seed below), `ablations`
(the fluid model without one of its parts), `options` (other factor tables, and a platform file whose capacities are
wrong by a factor of 2), `sensitivity` (every link changed at random between the measurement and the run).
"""

import argparse
import os
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from apps.probes.network.measure import measure
from apps.programs.problem import problem
from apps.runs.run_progress import RunProgress
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.grid import Grid, Wire
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import SCENARIOS, named_grid
from platforms.model.placement import MAPPINGS
from platforms.model.platform import Platform
from platforms.read.read import materialise, read_routes
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.known import known_network
from predictor.dpgraph.measured import measured_network
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Sections
from predictor.network.survey import next_plan
from predictor.network.value import Protocol

APPS = ("cg", "mg", "lu", "is", "ft", "ep")
NETWORKS = ("gigabit", "metro", "continental", "infiniband")
SEED = 20261121
# Limits of (mean, maximum) absolute error in % for dpgraph:known and for dpgraph
LIMITS = {"scenarios": ((0.05, 0.5), (1.0, 5.0)), "random": ((0.1, None), (2.0, None))}
OTHER_TABLES = {  # invented: fewer steps, at other sizes and with other values
    "smpi/bw-factor": "0:0.6;3000:0.9;40000:0.7",
    "smpi/lat-factor": "0:1.2;3000:1.9;40000:5",
}


class World:
    """Runs programs and messages, and keeps their results."""

    def __init__(self, runner: Runner, settings: Settings | None = None):
        self.runner, self.settings = runner, settings or Settings()

    def truth_s(self, target: Target) -> float:
        """Return the simulated time of the target, s."""
        return self.runner.record(self.settings.spec(target)).time_s

    def sections(self, target: Target) -> Sections:
        """Return the recorded sections of the target."""
        return Sections(self.runner.recording(self.settings.spec(target), min(3, target.iterations)))

    def known(self, platform: Platform, placement: tuple[str, ...], options: dict | None = None) -> NetworkModel:
        """Return the network of the platform file; ``options`` replace those of the runs."""
        routes = read_routes(platform.path, list(product(sorted(set(placement)), repeat=2)))
        own = {**dict(platform.options), **dict(self.settings.options)}
        return known_network(routes, {**own, **(options or {})})

    def measured(self, platform: Platform, placement: tuple[str, ...], real: Platform | None = None) -> NetworkModel:
        """Return the network measured by messages on ``real``, planned with the file of ``platform``."""
        results = []
        while plan := next_plan(platform, placement, results):
            plan = replace(plan, platform=real or platform, options=self.settings.options)
            results.append(self.runner.measure(plan) if real is None else measure(plan))
        return measured_network(platform, placement, results)

    def error_pct(self, target: Target, network: NetworkModel) -> float:
        """Return the error of the prediction with this network, %."""
        s_per_flop = [1 / target.platform.host(host).speed_flops for host in target.placement]
        made = estimate(self.sections(target), target.iterations, network, target.placement, s_per_flop)
        return 100 * (made.time_s / self.truth_s(target) - 1)


class Table:
    """A table of absolute errors by row and column, printed as Markdown."""

    def __init__(self, title: str):
        self.title = title
        self.cells: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, row: str, column: str, error_pct: float) -> None:
        """Add an error."""
        self.cells[row][column].append(abs(error_pct))
        self.cells[row]["all"].append(abs(error_pct))

    def show(self) -> None:
        """Print the table."""
        columns = [c for c in dict.fromkeys(c for row in self.cells.values() for c in row) if c != "all"] + ["all"]
        print(f"\n{self.title}: mean (largest) absolute error in %\n")
        print("| " + " | ".join(["", *columns]) + " |\n|" + " --- |" * (1 + len(columns)))
        for row, cells in self.cells.items():
            shown = [f"{statistics.mean(cells[c]):.2g} ({max(cells[c]):.2g})" if c in cells else "" for c in columns]
            print("| " + " | ".join([row, *shown]) + " |")


def targets(grids: Iterator[Grid] | list[Grid], apps: list[str], mappings=("block",)) -> Iterator[Target]:
    """Yield the apps on all hosts of every grid with every mapping."""
    for grid, mapping in product(grids, mappings):
        platform = materialise(grid)
        placement = MAPPINGS[mapping](platform, len(platform.hosts))
        yield from (Target(problem(app, "B"), platform, placement) for app in apps)


def compare(world: World, chosen: list[Target], table: Table, row: str = "") -> None:
    """Add the errors of both predictors to the table, and print the large ones."""
    world.runner.start(world.settings.spec(target) for target in chosen)
    networks: dict = {}
    for target in chosen:
        key = target.platform.content_hash, target.placement
        if key not in networks:
            networks = {key: {
                "dpgraph:known": world.known(target.platform, target.placement),
                "dpgraph": world.measured(target.platform, target.placement),
            }}  # fmt: skip
        for name, network in networks[key].items():
            error_pct = world.error_pct(target, network)
            table.add(f"{row}{name}", target.problem.name, error_pct)
            if abs(error_pct) > 0.5:
                print(f"  {target.platform.name} {target.platform.network} {target.problem} {name}: {error_pct:+.3f} %")


def scenarios(runner: Runner, args: argparse.Namespace) -> None:
    """Compare on the six scenarios."""
    world, table = World(runner), Table("Six scenarios, four networks")
    for network, mapping in product(NETWORKS, args.mappings.split(",")):
        grids = [named_grid(name, network) for name in SCENARIOS]
        compare(world, list(targets(grids, args.apps, (mapping,))), table, f"{network}, {mapping}, ")
    table.show()


def random(runner: Runner, args: argparse.Namespace) -> None:
    """Compare on random platforms."""
    table = Table(f"{args.platforms} random platforms, seed {SEED}")
    grids = [random_grid(SEED, number) for number in range(args.platforms)]
    compare(World(runner), list(targets(grids, args.apps)), table)
    table.show()


def ablations(runner: Runner, args: argparse.Namespace) -> None:
    """Compare the model without one of its parts."""
    world, table = World(runner), Table("dpgraph:known without one of its parts")
    grids = [named_grid(name, network) for network in NETWORKS[:2] for name in SCENARIOS]
    chosen = list(targets(grids, args.apps))
    runner.start(world.settings.spec(target) for target in chosen)
    for target in chosen:
        full = world.known(target.platform, target.placement)
        variants = {
            "complete": full,
            "no contention": full.without_contention(),
            "no latency factors": world.known(target.platform, target.placement, {"smpi/lat-factor": "0:1"}),
            "no bandwidth factors": world.known(target.platform, target.placement, {"smpi/bw-factor": "0:1"}),
            "all buffered": replace(full, protocol=Protocol(detached_below_bytes=np.inf)),
            "all rendezvous": replace(full, protocol=Protocol(detached_below_bytes=0)),
            "no cross traffic": world.known(target.platform, target.placement, {"network/crosstraffic": "no"}),
            "equal shares": world.known(target.platform, target.placement, {"network/weight-S": "0"}),
        }
        for name, network in variants.items():
            table.add(name, target.problem.name, world.error_pct(target, network))
    table.show()


def options(runner: Runner, args: argparse.Namespace) -> None:
    """Compare with other SimGrid options and with a wrong platform file."""
    grids = [named_grid(name, "gigabit") for name in ("grid4x4", "grid3x9")]
    table = Table("Other options, and a wrong file")
    other = World(runner, Settings(options=tuple(sorted(OTHER_TABLES.items()))))
    compare(other, list(targets(grids, args.apps)), table, "other factor tables, ")
    world = World(runner)
    for grid in grids:
        for target in targets([grid], args.apps):
            wrong = materialise(_changed(grid, lambda wire: replace(wire, bandwidth_Bps=2 * wire.bandwidth_Bps)))
            networks = {
                "dpgraph:known": world.known(wrong, target.placement),
                "dpgraph": world.measured(wrong, target.placement, real=target.platform),
            }
            for name, network in networks.items():
                table.add(
                    f"file with twice the bandwidths, {name}", target.problem.name, world.error_pct(target, network)
                )
    table.show()


def sensitivity(runner: Runner, args: argparse.Namespace) -> None:
    """Compare with links that changed after the measurement."""
    world, table = World(runner), Table(f"Links off by up to {args.off:g} %")
    draw = np.random.default_rng(SEED)

    def off(wire: Wire) -> Wire:
        bandwidth, latency = draw.uniform(1 - args.off / 100, 1 + args.off / 100, 2)
        return Wire(wire.bandwidth_Bps * bandwidth, wire.latency_s * latency)

    for name, network in product(SCENARIOS, NETWORKS[:3]):
        grid = named_grid(name, network)
        before = materialise(_changed(grid, off))
        for target in targets([grid], args.apps):
            error_pct = world.error_pct(target, world.measured(before, target.placement))
            table.add(f"{network}, dpgraph", target.problem.name, error_pct)
    table.show()


def _changed(grid: Grid, change) -> Grid:
    """Return the grid with every wire changed: node links and backbone of each cluster, and each WAN link."""
    clusters = tuple(replace(c, node=change(c.node), backbone=change(c.backbone)) for c in grid.clusters)
    links = tuple(replace(link, wire=change(link.wire)) for link in grid.wan_links)
    return replace(grid, clusters=clusters, wan_links=links)


SETS = {f.__name__: f for f in (scenarios, random, ablations, options, sensitivity)}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=list(SETS), action="append", help="run only this set (may be repeated)")
    parser.add_argument("--apps", default=",".join(APPS), help=f"default: {','.join(APPS)}")
    parser.add_argument("--platforms", type=int, default=50, help="random platforms (default: 50)")
    parser.add_argument("--mappings", default="block,cyclic", help="mappings on the scenarios (default: block,cyclic)")
    parser.add_argument("--off", type=float, default=10.0, help="change of links, %% (default: 10)")
    args = parser.parse_args()
    args.apps = args.apps.split(",")
    with Store() as store, Runner(jobs=os.cpu_count() or 1, store=store, progress=RunProgress()) as runner:
        for name in args.set or SETS:
            SETS[name](runner, args)


if __name__ == "__main__":
    main()
