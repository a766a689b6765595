"""Errors of steady-state simulation and of its bound, against full runs, class B.

There are two sets: the six scenarios on three networks, and random platforms (ranges of random_grid.py, seed
below).  Full runs are kept in the store, so an interrupted measurement continues where it stopped; all full runs take
half an hour on two cores.
"""

import argparse
import os
import statistics
from dataclasses import replace

from apps.programs.problem import problem
from apps.runs.run_progress import RunProgress
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import SCENARIOS, named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

APPS = ("cg", "mg", "lu")
NETWORKS = ("gigabit", "metro", "continental")
SEED = 20261121
# (largest error, largest bound, share of cases in which the bound must hold)
LIMITS = {"scenarios": (1e-5, 1e-4, 1.0), "random": (1e-3, 1e-2, 0.99)}


def grids(which: str, count: int):
    """Return the grids of a set."""
    if which == "scenarios":
        return [named_grid(name, network) for network in NETWORKS for name in SCENARIOS]
    return [random_grid(SEED, number) for number in range(count)]


def measure(which: str, count: int, runner: Runner) -> list[dict]:
    """Return errors and bounds of a set."""
    cases = []
    for grid in grids(which, count):
        platform = materialise(grid)
        for app in APPS:
            spec = Settings().spec(Target(problem(app, "B"), platform, block(platform, len(platform.hosts))))
            cases.append((f"{grid.name} {grid.network} {app}", spec, replace(spec, iterations="full")))
    runner.start(spec for _, _, spec in cases)
    runner.start(spec for _, spec, _ in cases)
    rows = []
    for name, steady_spec, full_spec in cases:
        full, steady = runner.record(full_spec), runner.record(steady_spec)
        how = steady.extrapolation
        rows.append(
            {
                "name": name,
                "error": abs(steady.time_s - full.time_s) / full.time_s,
                "bound": how.bound_rel if how else 0.0,
                "simulated": how.simulated if how else full_spec.target.iterations,
                "period": how.period if how else 0,
                "speed_up": full.wall_s / steady.wall_s,
            }
        )
    return rows


def report(which: str, rows: list[dict]) -> None:
    """Print the results of a set and their limits."""
    held = [row["error"] <= row["bound"] for row in rows]
    error, bound, share = LIMITS[which]
    for row, holds in zip(rows, held, strict=True):
        if not holds or row["bound"] > 1e-8 or row["simulated"] > 10:
            print(
                f"  {row['name']}: error {row['error']:.1e}, bound {row['bound']:.1e}, {row['simulated']} iterations,"
                f" period {row['period']}{'' if holds else ', BOUND DOES NOT HOLD'}"
            )
    median_error, median_bound = (statistics.median(row[key] for row in rows) for key in ("error", "bound"))
    ratio = median_bound / median_error
    print(f"{which}, {len(rows)} cases:")
    print(f"  largest error {max(row['error'] for row in rows):.1e} (limit {error:g})")
    print(f"  largest bound {max(row['bound'] for row in rows):.1e} (limit {bound:g})")
    print(f"  bound holds in {100 * sum(held) / len(held):.1f} % (limit {100 * share:g} %)")
    print(f"  median error {median_error:.1e}, median bound {median_bound:.1e}, ratio {ratio:.1f} (limit 20)")
    print(f"  median speed-up over full simulation {statistics.median(row['speed_up'] for row in rows):.1f}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=list(LIMITS), help="only one of the two")
    parser.add_argument("--platforms", type=int, default=100, help="random platforms (default: 100)")
    args = parser.parse_args()
    for which in [args.set] if args.set else list(LIMITS):
        with Store() as store, Runner(jobs=os.cpu_count() or 1, store=store, progress=RunProgress()) as runner:
            rows = measure(which, args.platforms, runner)
        report(which, rows)


if __name__ == "__main__":
    main()
