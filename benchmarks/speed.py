"""Wall times of the main command as whole processes, medians of five, and their limits.

Measured are --scenario all with --no-store (limit: 15 s), from the store (2 s) and with --iterations full (at least ten
times the first; once, because it takes minutes); LU B on 48 ranks and its full run (40 times); two jobs and one (1.7);
and the time of this project's code, which is the time without a running simulation if simulations run one at a time
(1.5 s).
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

RUNS = 5


def wall_s(*options: str) -> float:
    """Return the wall time of `gridval run --scenario all` with these options."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "validation.run", "--scenario", "all", *options]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def own_s() -> tuple[float, float]:
    """Return the wall time of all scenarios, one simulation at a time, and its part without a running simulation."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "validation.run", "--scenario", "all", "--no-store", "--jobs", "1", "--json"]
    done = subprocess.run(command, check=True, capture_output=True)
    passed_s = time.perf_counter() - started
    rows = json.loads(done.stdout)["results"]
    # Rows of several predictors share a run, and several scenarios share a probe; every run has a different wall time.
    simulated = {row["simulation_wall_s"] for row in rows} | {row["evidence_wall_s"] for row in rows}
    return passed_s, passed_s - sum(simulated)


def median(name: str, *options: str) -> float:
    """Print and return the median wall time with these options, s."""
    times = [wall_s(*options) for _ in range(RUNS)]
    middle = statistics.median(times)
    print(f"{name}: median {middle:.2f} s of {RUNS} ({min(times):.2f} to {max(times):.2f})", flush=True)
    return middle


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skip-full", action="store_true", help="leave out the runs that take minutes")
    skip_full = parser.parse_args().skip_full
    wall_s("--no-store")  # warms the caches of compiled kernels and platforms
    steady = median("all scenarios, --no-store (limit: 15 s)", "--no-store")
    one, own = (statistics.median(times) for times in zip(*(own_s() for _ in range(RUNS)), strict=True))
    print(
        f"the same, one at a time: median {one:.2f} s of {RUNS}, {own:.2f} s of it outside simulations (limit: 1.5 s)"
    )
    print(f"throughput of the default number of jobs over one: {one / steady:.2f} (limit: 1.7)", flush=True)
    with tempfile.TemporaryDirectory() as store:
        wall_s("--store", store)
        median("all scenarios, from the store (limit: 2 s)", "--store", store)
    if skip_full:
        return
    full = wall_s("--no-store", "--iterations", "full")
    print(f"all scenarios, --iterations full: {full:.0f} s, {full / steady:.1f} times as long (limit: 10)")
    platform = materialise(named_grid("grid3x16"))
    target = Target(problem("lu", "B"), platform, block(platform, 48))
    steady_lu = statistics.median(simulate(Settings().spec(target)).wall_s for _ in range(RUNS))
    full_lu = simulate(Settings(iterations="full").spec(target)).wall_s
    print(f"LU B on 48 ranks: {steady_lu:.2f} s against {full_lu:.1f} s, {full_lu / steady_lu:.1f} times (limit: 40)")


if __name__ == "__main__":
    main()
