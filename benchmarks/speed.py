"""Limits on the times of the main command, as whole processes: medians of five.

--scenario all with --no-store (limit: 15 s), from the store (2 s) and with --iterations full (at least ten times the
first; once, it takes minutes); LU B on 48 ranks against its full run (40 times); two jobs against one (1.7); what our
own code takes of it besides SimGrid, which is the time in which no simulation runs when they run one at a time (1.5 s).
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

from apps.catalog import problem
from apps.engine import simulate
from apps.spec import Settings, Target
from platforms.placement import block
from platforms.read import materialise
from platforms.scenario import named_grid

RUNS = 5


def wall_s(*options: str) -> float:
    """Wall time of `python -m validation.run --scenario all` with these options."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "validation.run", "--scenario", "all", *options]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def own_s() -> tuple[float, float]:
    """Wall time of all scenarios, one simulation at a time, and the part of it in which none runs."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "validation.run", "--scenario", "all", "--no-store", "--jobs", "1", "--json"]
    done = subprocess.run(command, check=True, capture_output=True)
    passed_s = time.perf_counter() - started
    rows = json.loads(done.stdout)["results"]
    # Rows of several predictors share a run, and several scenarios a probe: each has its wall time to itself.
    simulated = {row["simulation_wall_s"] for row in rows} | {row["evidence_wall_s"] for row in rows}
    return passed_s, passed_s - sum(simulated)


def median(name: str, *options: str) -> float:
    times = [wall_s(*options) for _ in range(RUNS)]
    middle = statistics.median(times)
    print(f"{name}: median {middle:.2f} s of {RUNS} ({min(times):.2f} to {max(times):.2f})", flush=True)
    return middle


def main() -> None:
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
