"""Options for the settings of runs: computation, efficiency, iterations, engine, memory bus and time limit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apps.results.cautions import MEASURED
from apps.spec.checks import not_timed
from apps.spec.choices import COMPUTE, ENGINES, KERNEL_COMPUTE, REPEATS
from apps.spec.engine_options import parse_options
from apps.spec.settings import Settings, parse_iterations, parse_memory_bus
from apps.traffic import declared_names
from platforms.errors import UserError

if TYPE_CHECKING:
    from apps.machines.machine_file import Machine

WALL_LIMIT_S = 4 * 3600.0  # the longest single runs of class D take a tenth of it


def add_settings_arguments(parser: argparse._ActionsContainer, *, programs: bool = True) -> None:
    """Add the options that settings_from_arguments reads.

    These are --efficiency, --compute, --host-speed, --iterations, --engine, --memory-bus, --bytes-per-flop and --cfg.

    Args:
        parser: The parser, or a group of it.
        programs: The command also takes --program; the computation of the user's own program can be timed.
    """
    parser.add_argument(
        "--efficiency", default="reference", metavar="E", type=str.lower,
        help="share of a host's speed that a kernel sustains: a number in (0, 1], reference (default: the fractions "
        "of one real core), measured (on this machine, by python -m apps.calibrate), or platform (that of the kernel "
        "on a platform calibrated from a machine)",
    )  # fmt: skip
    computations = COMPUTE if programs else KERNEL_COMPUTE
    timed = "; measured times a program of your own on this machine, so that results vary from run to run"
    parser.add_argument(
        "--compute", "--computation", dest="compute", default="injected", metavar="HOW", type=str.lower,
        choices=computations,
        help=f"{' or '.join(computations)}: with none, computation takes no simulated time{timed if programs else ''}",
    )  # fmt: skip
    if programs:
        parser.add_argument(
            "--host-speed", type=float, metavar="GFLOPS",
            help="speed of one core of this machine on the scale of the platform's hosts, for --compute measured "
            "(default: its speed in a product of matrices, measured once)",
        )  # fmt: skip
    else:
        parser.set_defaults(host_speed=None)
    parser.add_argument(
        "--iterations",
        metavar="steady|full|K",
        help="iterations to simulate: steady, until they repeat (default); full, all (default with arithmetic); or "
        "K; the rest is extrapolated, with a stated bound that assumes that the repetition goes on",
    )
    parser.add_argument(
        "--engine", metavar="NAME", type=str.lower,
        help=f"{' or '.join(ENGINES)}: s4u runs the kernels {', '.join(declared_names())} as skeletons (default: smpi; "
        "s4u for a program in Python)",
    )  # fmt: skip
    parser.add_argument(
        "--memory-bus", metavar="GB/S|platform",
        help="bandwidth between a node's cores and its memory, which its ranks share: each computation is followed by "
        "moving the bytes that the kernel declares; platform: the bandwidth that the platform gives for each host "
        "(default: memory never limits)",
    )  # fmt: skip
    parser.add_argument(
        "--bytes-per-flop", type=float, metavar="B",
        help="with --memory-bus: bytes per operation instead of those that the kernel declares",
    )  # fmt: skip
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE", help="a SimGrid option; may be given several times"
    )


def settings_from_arguments(args: argparse.Namespace, machine: Machine | None = None) -> Settings:
    """Return the settings that the options of add_settings_arguments ask for.

    ``machine`` is the real machine on which runs are made; then --repeats is read too.

    Raises:
        UserError: The options do not fit together, or one is out of range.
    """
    if args.compute == "measured" and args.program is None:  # refused before this machine's speed is measured
        raise not_timed()
    return Settings(
        compute=args.compute,
        efficiency=args.efficiency,
        iterations=None if args.iterations is None else parse_iterations(args.iterations),
        options=parse_options(args.cfg),
        host_speed_flops=None if args.host_speed is None else args.host_speed * 1e9,
        engine=args.engine,
        memory_bus=None if args.memory_bus is None else parse_memory_bus(args.memory_bus),
        bytes_per_flop=args.bytes_per_flop,
        machine=machine,
        repeats=REPEATS if machine is None or args.repeats is None else args.repeats,
    )


def cautions(settings: Settings) -> list[str]:
    """Return the cautions for readers of results under these settings; commands with a store print them first."""
    if settings.compute != "measured":
        return []
    return [MEASURED, "runs whose computation is timed are not taken from the store"]


def add_wall_limit_argument(parser: argparse._ActionsContainer, *names: str) -> None:
    """Add an option with these names, which wall_limit_from_arguments reads."""
    parser.add_argument(
        *names, dest="wall_limit", type=float, default=WALL_LIMIT_S, metavar="S",
        help="stop a simulation that takes more than S seconds of wall time, such as an endless loop "
        f"(default: {WALL_LIMIT_S:g}, four hours; 0: no limit)",
    )  # fmt: skip


def wall_limit_from_arguments(args: argparse.Namespace) -> float | None:
    """Return the wall time that one simulation may take, s; None: any.

    Raises:
        UserError: The value is negative or infinite.
    """
    limit_s: float = args.wall_limit
    if not 0 <= limit_s < float("inf"):
        raise UserError(f"--wall-limit {limit_s:g}", "not a time", "Give seconds of wall time, or 0 for no limit")
    return limit_s or None
