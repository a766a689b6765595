"""The command-line options for a platform and a placement, shared by every command."""

import argparse
import math
from pathlib import Path

from platforms.errors import PlatformError, UserError
from platforms.grid import Grid
from platforms.network import DEFAULT_NETWORK, network_names
from platforms.placement import MAPPINGS, Placement, read_host_file
from platforms.platform import Platform
from platforms.scenario import GRID_NAME, NAMED, SCENARIOS, named_grid, read_grid


def add_scenario_arguments(parser: argparse.ArgumentParser, *, all_scenarios: bool = False) -> None:
    """--scenario, --network and --speeds, as grid_from_arguments reads them; with ``all_scenarios`` the help says that
    the command takes "all" too."""
    every = f"; all for {SCENARIOS[0]} to {SCENARIOS[-1]}" if all_scenarios else ""
    parser.add_argument(
        "--scenario", metavar="NAME|FILE.toml",
        help=f"a grid: {', '.join(NAMED)}{every}; any grid{{N}}x{{M}} with --speeds, or a scenario file",
    )  # fmt: skip
    parser.add_argument(
        "--network", metavar="NAME",
        help=f"its network: {', '.join(network_names())} (default: that of the scenario, or {DEFAULT_NETWORK})",
    )  # fmt: skip
    parser.add_argument("--speeds", metavar="G1,G2,...", help="Gflop/s of a node of each cluster, such as 35,45,55")


def add_platform_arguments(parser: argparse.ArgumentParser, *, all_scenarios: bool = False) -> None:
    """The options of add_scenario_arguments, and --platform, as platform_from_arguments reads them."""
    add_scenario_arguments(parser, all_scenarios=all_scenarios)
    parser.add_argument("--platform", metavar="FILE", help="instead of a scenario: any SimGrid platform, .xml or .so")


def add_placement_arguments(parser: argparse.ArgumentParser) -> None:
    """--mapping, --hostfile and --ranks-per-host, as placement_from_arguments reads them."""
    parser.add_argument("--mapping", metavar="NAME", help=f"who runs where: {', '.join(MAPPINGS)} (default: block)")
    parser.add_argument("--hostfile", metavar="FILE", help="instead of a mapping: one host per line, in rank order")
    parser.add_argument(
        "--ranks-per-host", metavar="K", type=int,
        help="with a mapping: ranks on each host, up to its cores (default: 1)",
    )  # fmt: skip


def grid_from_arguments(args: argparse.Namespace) -> Grid:
    """The grid that --scenario, --network and --speeds describe.  Raises UserError for what does not fit."""
    if not args.scenario:
        raise UserError("--scenario", "is missing", f"Give one of {', '.join(NAMED)}, or a scenario file")
    speeds_flops = None if args.speeds is None else _speeds_flops(args.speeds)
    is_file = args.scenario.endswith(".toml") or Path(args.scenario).is_file()
    if is_file and not GRID_NAME.fullmatch(args.scenario):
        if speeds_flops is not None:
            raise UserError("--speeds", "does not go with a scenario file", "Write speed_gflops in the file")
        return read_grid(args.scenario, args.network)
    return named_grid(args.scenario, args.network, speeds_flops)


def platform_from_arguments(args: argparse.Namespace) -> Platform:
    """The platform that the options of add_platform_arguments name.  Raises UserError for what does not fit."""
    from platforms.read import materialise, read_platform

    if args.platform is None:
        if not args.scenario:
            raise UserError("platform", "none is given", "Give --scenario NAME or --platform FILE")
        return materialise(grid_from_arguments(args))
    for option in ("scenario", "network", "speeds"):
        if getattr(args, option) is not None:
            raise UserError(f"--{option}", "does not go with --platform", "The file defines all of it: drop one")
    return read_platform(args.platform)


def placement_from_arguments(args: argparse.Namespace, platform: Platform, nranks: int | None = None) -> Placement:
    """The placement that --mapping, --ranks-per-host or --hostfile describe.

    ``nranks``: None means as many as the host file has lines, or as the hosts take.  A host file longer than ``nranks``
    gives its first lines; one too short is an error, never wrapped round.  Raises UserError for what does not fit.
    """
    if args.hostfile is not None:
        for option, value in (("--mapping", args.mapping), ("--ranks-per-host", args.ranks_per_host)):
            if value is not None:
                raise UserError(option, "does not go with --hostfile", "Drop one")
        placement = read_host_file(args.hostfile, platform)
        if nranks is not None and nranks > len(placement):
            problem = f"{nranks} ranks, but it places {len(placement)}"
            raise PlatformError(f"host file {args.hostfile}", problem, "Add lines or lower the ranks")
        return placement[:nranks]
    mapping = args.mapping or "block"
    if mapping not in MAPPINGS:
        raise UserError(f"--mapping {mapping}", "no such mapping", f"Known: {', '.join(MAPPINGS)}")
    ranks_per_host = 1 if args.ranks_per_host is None else args.ranks_per_host
    if nranks is None:
        nranks = len(platform.hosts) * ranks_per_host
    return MAPPINGS[mapping](platform, nranks, ranks_per_host)


def _speeds_flops(text: str) -> list[float]:
    try:
        speeds = [float(part) * 1e9 for part in text.split(",")]
    except ValueError:
        speeds = []
    if not speeds or not all(0 < speed < math.inf for speed in speeds):
        raise UserError(f"--speeds {text}", "not positive numbers", "Write Gflop/s with commas, such as 35,45,55")
    return speeds
