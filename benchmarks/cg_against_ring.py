"""Overhead of this project's kernels over bare SMPI: CG B on grid4x8 in full, and a ring with as many messages.

Prints the wall times of alternating runs, their medians and the median of the ratios pair by pair (limit: 1.2).
"""

import argparse
import statistics

from bare import run_ring

from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="alternating runs of each (default: 5)")
    pairs = parser.parse_args().pairs
    platform = materialise(named_grid("grid4x8"))
    target = Target(problem("cg", "B"), platform, block(platform, 32))
    spec = Settings(iterations="full").spec(target)
    per_rank = sum(simulate(spec).messages) // target.nranks  # the warm-up
    kernel, ring = [], []
    for pair in range(pairs):
        kernel.append(simulate(spec).wall_s)
        ring.append(run_ring(target, per_rank).wall_s)
        print(f"pair {pair + 1}: CG B {kernel[-1]:.2f} s, ring {ring[-1]:.2f} s, ratio {kernel[-1] / ring[-1]:.3f}")
    ratio = statistics.median(k / r for k, r in zip(kernel, ring, strict=True))
    print(f"{per_rank * target.nranks} messages each; medians: CG B {statistics.median(kernel):.2f} s, "
          f"ring {statistics.median(ring):.2f} s; median ratio {ratio:.3f} (limit: 1.2)")  # fmt: skip


if __name__ == "__main__":
    main()
