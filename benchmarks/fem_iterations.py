"""Number of iterations that FEM needs on P ranks: runs with arithmetic fill apps/kernels/fem/iterations.csv.

Every rank has its own incomplete factors, so the number depends on N and P.  The sizes are those of Ichikawa,
Takahashi, Kawai, section 5.2, with one layer of elements.  Rows of the table are not run again.  All sizes take hours.
"""

from __future__ import annotations

import argparse
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from apps.errors import SimulationError
from apps.options.exit_status import exit_status
from apps.programs.kernel import named_kernel
from apps.programs.problem import FILE, Problem, read_table, sized_problem
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.files.caching import write_atomically
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.allocation.sizes import kernel_sizes

COLUMNS = ("n", "layers", "ranks", "iterations")
MOST_RANKS = 20


def measured_iterations(problem: Problem, nranks: int) -> tuple[int, float]:
    """Return the number of iterations that the method needs, and the wall time of the run, s.

    Raises:
        SimulationError: The method does not converge to the right solution.
    """
    platform = materialise(named_grid(f"grid1x{nranks}", "ideal", [1e9]))
    target = Target(problem, platform, block(platform, nranks))
    record = simulate(RunSpec(target, mode="verify", compute="none"))
    if not record.verified:
        raise SimulationError(f"{problem} on {nranks} ranks: verification failed: {record.checks}")
    return len(record.iteration_s[0]), record.wall_s


class Table:
    """The sorted file.  Every new row is written at once; no other process may write the file at the same time."""

    def __init__(self, path: Path):
        self.path, self.lock = path, threading.Lock()
        self.rows = read_table(path)[1] if path.exists() else {}

    def add(self, key: tuple[int, int, int], iterations: int) -> None:
        """Add a row and write the file."""
        with self.lock:
            self.rows[key] = iterations
            lines = [COLUMNS, *(sorted((*k, count) for k, count in self.rows.items()))]
            write_atomically(self.path, "".join(",".join(map(str, line)) + "\n" for line in lines).encode())


def fill(table: Table, wanted: list[tuple[int, int, int]], jobs: int) -> None:
    """Run the cases (N, layers, P) that the table does not have, the cheapest first."""

    def run(key: tuple[int, int, int]) -> None:
        n, layers, ranks = key
        iterations, wall_s = measured_iterations(sized_problem("fem", n, layers=layers), ranks)
        table.add(key, iterations)
        print(f"n {n} layers {layers} ranks {ranks}: {iterations} iterations, {wall_s:.0f} s", flush=True)

    missing = sorted(set(wanted) - table.rows.keys(), key=lambda key: (key[0] ** 2 * key[1], key[2]))
    pool = ThreadPoolExecutor(jobs)
    try:
        for _ in pool.map(run, missing):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


def _run(args: argparse.Namespace) -> int:
    wanted = [
        (n, n if args.cube else args.layers, ranks)
        for n in args.sizes
        for ranks in range(1, args.most_ranks + 1)
        if n % ranks == 0
    ]
    fill(Table(named_kernel("fem").folder / FILE), wanted, args.jobs)
    return 0


def main() -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    fem = kernel_sizes("fem")
    sizes = sorted({*fem.construction, *(fem.evaluation or ())})
    parser.add_argument("sizes", type=int, nargs="*", default=sizes, metavar="N", help="sizes (default: the paper's)")
    parser.add_argument("--layers", type=int, default=1, metavar="L", help="layers of elements along z (default: 1)")
    parser.add_argument("--cube", action="store_true", help="use N layers")
    parser.add_argument("--most-ranks", type=int, default=MOST_RANKS, metavar="P", help=f"default: {MOST_RANKS}")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="runs at a time (default: 1)")
    args = parser.parse_args()
    return exit_status(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
