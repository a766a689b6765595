"""Speed of the search for a configuration in a warm process.

The search estimates all times from fitted NP-T models and takes the best, exhaustively and by branch and bound, for
time and for energy: for the 404 configurations of Table VI of Ichikawa, Takahashi and Kawai (limit: 1 ms; in the paper:
20 to 320 ms) and for a million (limit: 1 s).  Listing the million configurations is timed separately, because it does
not depend on the size.
"""

import argparse
import statistics
import time
from collections.abc import Callable

from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.objectives import TIME, energy
from predictor.allocation.search import branch_and_bound, exhaustive
from predictor.allocation.space import Space
from predictor.nodes.drivers import perturb
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.models import NptModels
from predictor.npt.tables import equations

SIZES = (400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400)
GFLOPS = (5.0, 3.5, 1.2)  # of one PE of each sub-cluster
POWER_W = (200.0, 150.0, 60.0)
SPACES = {"404": Limits((4, 4, 4), (2, 2, 1)), "a million": Limits((25, 25, 25), (4, 4, 4))}


def run_time_s(gflops: float, pes: int, processes: int, size: int) -> float:
    """Return the time of an invented HPL: flops over speed, panel exchange, and an overhead per additional process."""
    compute_s = (2 / 3 * size**3 + 2 * size**2) / (1e9 * gflops * pes)
    exchange_s = (pes > 1) * 8 * size**2 * (1 + 0.1 * pes * processes) / 1e8
    return compute_s * (1 + 0.05 * (processes - 1)) + exchange_s + 1e-3


def models_of(limits: Limits) -> NptModels:
    """Return models fitted to noisy times of the invented HPL."""
    runs = []
    for i, gflops in enumerate(GFLOPS):
        for pes in range(1, min(4, limits.pes[i]) + 1):
            for processes in range(1, limits.processes[i] + 1):
                shares = tuple((pes, processes) if j == i else (0, 0) for j in range(len(GFLOPS)))
                for size in SIZES:
                    time_s = run_time_s(gflops, pes, processes, size)
                    runs.append(Measurement(Configuration(shares), size, time_s))
    return fit_models(perturb(Measurements.of(runs), sigma=0.02, seed=1), equations("hpl"))


def median_s(work: Callable[[], object], runs: int) -> float:
    """Return the median wall time of some work, s."""
    work()
    took = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=9600, help="N (default: 9600)")
    parser.add_argument("--runs", type=int, default=51, help="runs for the median (default: 51)")
    args = parser.parse_args()
    for name, limits in SPACES.items():
        models, space = models_of(limits), Space(limits)
        listing_s = median_s(lambda limits=limits: len(Space(limits)), max(3, args.runs // 10))
        print(f"{name}: {len(space)} configurations, listed in {1e3 * listing_s:.2f} ms")
        for objective in (TIME, energy(POWER_W)):

            def through_all(models=models, space=space, objective=objective):
                times_s, table_s = models.times(space, args.size)
                return exhaustive(space, times_s, objective, table_s=table_s)

            def bounded(models=models, space=space, objective=objective):
                return branch_and_bound(space, models.table_s(space, args.size), objective)

            for way, search in (("exhaustive", through_all), ("branch and bound", bounded)):
                choice, took_s = search(), median_s(search, args.runs)
                print(f"  {objective.name:6} {way:16} {1e3 * took_s:8.3f} ms, {choice.examined} examined: "
                      f"{choice.configuration}, {choice.value:.5g} {objective.unit}")  # fmt: skip


if __name__ == "__main__":
    main()
