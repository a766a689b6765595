"""Growth of the simulation cost with the ranks: CG class D on 4 clusters, compared with a bare SMPI ring.

Two iterations are simulated for 8 to 1,024 ranks, then all of CG D on 4 x 256 nodes by steady state.  Wall times and
peak memory are printed and drawn (scaling.png in the folder given by --out).
"""

import argparse
from pathlib import Path

from bare import run_ring
from matplotlib.figure import Figure

from apps.programs.problem import problem
from apps.runs.engines import run_iterations
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

SPEEDS_FLOPS = (40e9, 50e9, 60e9, 70e9)
RANKS = (8, 16, 32, 64, 128, 256, 512, 1024)
RING_MESSAGES = 100_000


def target_of(ranks: int) -> Target:
    """Return CG D on this number of ranks."""
    platform = materialise(named_grid(f"grid4x{ranks // 4}", speeds_flops=SPEEDS_FLOPS))
    return Target(problem("cg", "D"), platform, block(platform, ranks))


def draw(rows: list[tuple], path: Path) -> None:
    """Draw wall times and peak memory."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    cost, memory = figure.subplots(1, 2)
    ranks = [row[0] for row in rows]
    cost.plot(ranks, [row[1] for row in rows], color="#0072B2", marker="o", label="CG D")
    cost.plot(ranks, [row[2] for row in rows], color="#D55E00", marker="s", linestyle="--", label="bare SMPI ring")
    cost.set_ylabel("wall time per message, microseconds")
    cost.legend()
    memory.plot(ranks, [row[3] for row in rows], color="#0072B2", marker="o", label="CG D")
    memory.plot(ranks, [row[4] for row in rows], color="#D55E00", marker="s", linestyle="--", label="bare SMPI ring")
    memory.set_ylabel("peak memory, MB")
    for axes in (cost, memory):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [str(p) for p in ranks])
        axes.set_xlabel("ranks")
        axes.set_ylim(bottom=0)
        axes.grid(color="0.9")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results", help="folder for the plot (default: results)")
    parser.add_argument("--most-ranks", type=int, default=max(RANKS), help="largest number of ranks (default: 1024)")
    args = parser.parse_args()
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    print("ranks  CG D us/message  ring us/message  CG D MB  ring MB")
    for ranks in (p for p in RANKS if p <= args.most_ranks):
        target = target_of(ranks)
        cg = run_iterations(Settings().spec(target), 2)
        ring = run_ring(target, max(1, RING_MESSAGES // ranks))
        ring_us = 1e6 * ring.wall_s / (max(1, RING_MESSAGES // ranks) * ranks)
        cg_us = 1e6 * cg.wall_s / sum(cg.messages)
        rows.append((ranks, cg_us, ring_us, cg.peak_memory_bytes / 1e6, ring.peak_memory_bytes / 1e6))
        print(f"{ranks:5}  {rows[-1][1]:15.1f}  {rows[-1][2]:15.1f}  {rows[-1][3]:7.0f}  {rows[-1][4]:7.0f}")
    draw(rows, folder / "scaling.png")
    if args.most_ranks >= 1024:
        whole = simulate(Settings().spec(target_of(1024)))
        how = whole.extrapolation
        print(
            f"CG D on 1024 ranks: {whole.time_s:.4g} s simulated from {how.simulated} of {how.iterations} iterations, "
            f"wall {whole.wall_s:.0f} s, peak memory {whole.peak_memory_bytes / 1e6:.0f} MB"
        )
    print(f"drawn in {folder / 'scaling.png'}")


if __name__ == "__main__":
    main()
