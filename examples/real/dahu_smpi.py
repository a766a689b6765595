"""Compare settings of the measured runs of HPL on Dahu with SMPI, on smaller matrices and with the kernel's exchange.

    .venv/bin/python examples/real/dahu_smpi.py --platform dahu1024.xml --size 12800 --block 128 --broadcast 2-ring

Both have the platform that `gridval platform calibrate` makes from the times of messages between two nodes of Dahu, one
rank on each host, all of one speed (see docs/validation/clusters.md).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from dahu import curves  # it lies beside this file

from apps.options.exit_status import exit_status
from apps.programs.problem import sized_problem
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.command.parser import CommandParser
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.read.read import read_platform
from predictor.factorisation.evaluate import BROADCASTS, Problem, evaluate
from predictor.factorisation.machine import Curves, Machine

FREE_LOOKS = (("smpi/iprobe", "0"),)  # a look for a panel that fails takes 0.1 ms otherwise


def simulated(args: argparse.Namespace, platform: Platform) -> float:
    """Return the time of the kernel in SMPI, s."""
    problem = sized_problem(
        "hpl", args.size, nb=args.block, grid_rows=args.rows, broadcast=args.broadcast, depth=args.depth
    )
    target = Target(problem, platform, block(platform, args.rows * args.columns, 1))
    return run_iterations(RunSpec(target, efficiency=1.0, options=FREE_LOOKS), 1).time_s


def followed(args: argparse.Namespace, platform: Platform) -> float:
    """Return the time of the same messages and operations as predictor.factorisation follows them, s."""
    n, ranks = args.size, args.rows * args.columns
    shape, link_Bps = curves()
    hosts = Curves(shape.between, shape.between, shape.sender, shape.receiver, shape.eager_bytes)
    speeds = np.array([platform.host(host).speed_flops for host in block(platform, ranks, 1)])
    # The kernel sends 2 nb rows at each distance of its exchange, and charges the published operations.
    charged = (2 / 3 * n**3 + 2 * n**2) / (2 / 3 * n**3 + 3 / 2 * n**2 - 7 / 6 * n)
    problem = Problem(
        n, args.block, args.rows, args.columns, args.broadcast, args.depth, exchanged=2.0, operation=charged
    )
    machine = Machine(np.arange(ranks), 2 / speeds, hosts, node_Bps=link_Bps, seen_early=True)
    return evaluate(problem, machine).time_s


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(prog="examples/real/dahu_smpi.py", description=__doc__)
    parser.add_argument("--platform", type=Path, required=True, help="calibrated platform with a host for each rank")
    parser.add_argument("--size", type=int, default=12800, help="order of the matrix (default: 12800)")
    parser.add_argument("--block", type=int, default=128, help="columns of a panel (default: 128)")
    parser.add_argument("--rows", type=int, default=32, help="rows of the process grid (default: 32)")
    parser.add_argument("--columns", type=int, default=32, help="columns of the process grid (default: 32)")
    parser.add_argument("--broadcast", choices=BROADCASTS, default="2-ring", help="of panels (default: 2-ring)")
    parser.add_argument("--depth", type=int, choices=(0, 1), default=1, help="of the look-ahead (default: 1)")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print both times, their difference, and the seconds of wall time that they took."""
    platform = read_platform(args.platform)
    started = time.monotonic()
    model_s = followed(args, platform)
    between = time.monotonic()
    smpi_s = simulated(args, platform)
    settings = f"n {args.size}, block {args.block}, {args.rows} x {args.columns}, {args.broadcast}, depth {args.depth}"
    times = f"SMPI {smpi_s:.5f} s, followed {model_s:.5f} s, difference {100 * (model_s / smpi_s - 1):+.2f} %"
    print(f"{settings}: {times}; took {time.monotonic() - between:.0f} s and {between - started:.1f} s")
    return 0


def main() -> int:
    """Run the command and return its exit status."""
    args = build_parser().parse_args()
    return exit_status(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
