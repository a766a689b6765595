"""Speed of the graph predictor in a warm process.

Measured are the messages per second of one core in the evaluation of 20 iterations, all of them executed (limit: 5
million, in the median of many), the ratio to the steady-state and the full simulation, and a sweep of random platforms
for one app on 32 ranks (limit for LU: 1,000 in 10 s of processor time), for which iterations are left out that repeat.
"""

import argparse
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np

from apps.programs.problem import problem
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.grid import Grid
from platforms.grids.random_grid import Ranges, random_grid
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.dpgraph import fluid
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.instructions import Instructions
from predictor.dpgraph.known import known_network
from predictor.dpgraph.program import Sections

RUNS = 21
ITERATIONS = 20
PART = 10  # platforms that a process predicts at a time
SEED = 20261121


def sections_of(app: str, ranks: int) -> Sections:
    """Return the recorded sections of an app."""
    platform = materialise(named_grid(f"grid1x{ranks}", "gigabit", [50e9]))
    target = Target(problem(app, "B"), platform, block(platform, ranks))
    with Store() as store:
        return Sections(record_events(Settings().spec(target), min(3, target.iterations), store=store))


def network_of(sections: Sections, grid: Grid, placement: tuple[str, ...]):
    """Return the network between the ranks that exchange messages."""
    pairs = {(placement[a], placement[b]) for a, b in sections.partners}
    return known_network(grid.routes(pairs | {pair[::-1] for pair in pairs}), dict(grid.options))


def evaluation(app: str, grid: Grid) -> tuple[float, int]:
    """Return processor seconds (the median of many) and messages of the iterations."""
    placement = tuple(host for cluster in grid.clusters for host in cluster.host_names)
    sections = sections_of(app, len(placement))
    network = network_of(sections, grid, placement)
    s_per_flop = [1 / cluster.speed_flops for cluster in grid.clusters for _ in cluster.host_names]
    program = sections.looped(ITERATIONS)
    loop = program.loop
    assert loop is not None
    messages, paths = network.carry(program, placement)
    instructions = Instructions(program.code, program.argument, program.value, program.first)
    marks_s = np.empty(program.marks.shape)
    took = []
    for _ in range(RUNS):
        started = time.thread_time()
        fluid.evaluate(instructions, messages, paths, np.asarray(s_per_flop), marks_s, loop)
        took.append(time.thread_time() - started)
    return statistics.median(took), loop.fixed + (program.nmessages - loop.fixed) * loop.copies


def against_simulation(app: str, grid: Grid, full: bool) -> None:
    """Print the times of a prediction and of simulations."""
    platform = materialise(grid)
    target = Target(problem(app, "B"), platform, block(platform, len(platform.hosts)))
    sections = sections_of(app, target.nranks)
    network = network_of(sections, grid, target.placement)
    s_per_flop = [1 / platform.host(host).speed_flops for host in target.placement]
    took = []
    for _ in range(RUNS):
        started = time.perf_counter()
        estimate(sections, target.iterations, network, target.placement, s_per_flop)
        took.append(time.perf_counter() - started)
    ours_s = statistics.median(took)
    line = f"  whole prediction {1e3 * ours_s:.0f} ms"
    for name in ["steady", "full"] if full else ["steady"]:
        wall_s = simulate(Settings(iterations=name).spec(target)).wall_s
        line += f"; {name} simulation {wall_s:.2f} s, {wall_s / ours_s:.0f} times as long"
    print(line, flush=True)


@cache
def _warm(app: str) -> Sections:
    return sections_of(app, 32)


def _sweep(app: str, numbers: range) -> float:
    """Return the processor time of the predictions."""
    sections = _warm(app)
    started = time.thread_time()
    ranges = Ranges(clusters=(4, 4), nodes=(8, 8))
    for number in numbers:
        grid = random_grid(SEED, number, ranges)
        placement = tuple(host for cluster in grid.clusters for host in cluster.host_names)
        s_per_flop = [1 / cluster.speed_flops for cluster in grid.clusters for _ in cluster.host_names]
        iterations = problem(app, "B").iterations_on(len(placement))
        estimate(sections, iterations, network_of(sections, grid, placement), placement, s_per_flop)
    return time.thread_time() - started


def sweep(app: str, platforms: int) -> None:
    """Print the time to predict an app on random platforms."""
    jobs = os.cpu_count() or 1
    with ProcessPoolExecutor(jobs) as pool:
        list(pool.map(_sweep, [app] * jobs, [range(1)] * jobs))  # warm-up: compiled code and recordings
        started = time.perf_counter()
        parts = [range(i, min(i + PART, platforms)) for i in range(0, platforms, PART)]
        busy_s = sum(pool.map(_sweep, [app] * len(parts), parts))
        took_s = time.perf_counter() - started
    line = f"{app} B on 32 ranks of {platforms} random platforms: {took_s:.1f} s in {jobs} processes, "
    print(f"{line}{busy_s:.1f} s of processor time", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platforms", type=int, default=1000, help="platforms of the sweep (default: 1000)")
    parser.add_argument("--full", action="store_true", help="compare with full simulations too, which take minutes")
    args = parser.parse_args()
    for app, nodes in (("cg", 8), ("mg", 8), ("lu", 8), ("lu", 12)):
        grid = named_grid(f"grid4x{nodes}", "gigabit", [40e9, 50e9, 60e9, 70e9])
        seconds, messages = evaluation(app, grid)
        print(f"{app} B on {4 * nodes} ranks, {ITERATIONS} iterations: {1e3 * seconds:.1f} ms for {messages} messages, "
              f"{messages / seconds / 1e6:.2f} million per second")  # fmt: skip
        against_simulation(app, grid, args.full)
    for app in ("cg", "mg", "lu"):
        sweep(app, args.platforms)


if __name__ == "__main__":
    main()
