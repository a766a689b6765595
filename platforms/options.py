"""The command-line options for a platform and a placement, shared by every command."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.errors import PlatformError, UserError, printable
from platforms.frequency import parse_frequency
from platforms.grid import Grid
from platforms.network import DEFAULT_NETWORK, network_names
from platforms.placement import MAPPINGS, Placement, read_host_file
from platforms.platform import Platform
from platforms.scenario import NAMED, SCENARIOS, named_grid, read_grid, with_frequencies

if TYPE_CHECKING:
    from platforms.system.model import System

MOST_RANKS_UNASKED = 4096  # SMPI starts so many in 6 s, and twice as many in 42 s


def add_scenario_arguments(parser: argparse._ActionsContainer, *, all_scenarios: bool = False) -> None:
    """--scenario, --network, --speeds and --frequency, as grid_from_arguments reads them.

    ``all_scenarios``: the help says that the command takes "all" too.
    """
    every = f"; all for {SCENARIOS[0]} to {SCENARIOS[-1]}" if all_scenarios else ""
    parser.add_argument(
        "--scenario", metavar="NAME|FILE.toml",
        help=f"a grid: {', '.join(NAMED)}{every}; any grid{{N}}x{{M}} with --speeds, a scenario file or a system file",
    )  # fmt: skip
    parser.add_argument(
        "--hardware", metavar="FILE", action="append",
        help="with a system file: processors, networks and disks of your own (may be given several times)",
    )  # fmt: skip
    parser.add_argument(
        "--network", metavar="NAME",
        help=f"its network: {', '.join(network_names())} (default: that of the scenario, or {DEFAULT_NETWORK})",
    )  # fmt: skip
    parser.add_argument("--speeds", metavar="G1,G2,...", help="Gflop/s of a node of each cluster, such as 35,45,55")
    parser.add_argument(
        "--frequency", metavar="F|F1,F2,...",
        help="at which its nodes run: GHz, min or max, for all clusters or one for each (default: that of the "
        "scenario, or the highest)",
    )  # fmt: skip


def add_platform_arguments(parser: argparse._ActionsContainer, *, all_scenarios: bool = False) -> None:
    """The options of add_scenario_arguments, --platform and --clusters, as platforms_from_arguments reads them."""
    add_scenario_arguments(parser, all_scenarios=all_scenarios)
    several = "; several with commas, or the option again" if all_scenarios else ""
    parser.add_argument(
        "--platform", metavar="FILE", action="append",
        help=f"instead of a scenario: any SimGrid platform, .xml or .so{several} (docs/platforms/platform-files.md)",
    )  # fmt: skip
    parser.add_argument(
        "--clusters", metavar="NAME=PATTERN,...", action="append",
        help="with --platform: which hosts make a cluster, by patterns of their names such as left=node-[0-9]*; the "
        "first match wins, -=PATTERN leaves hosts out (default: the platform's zones, split by speed)",
    )  # fmt: skip


def add_placement_arguments(parser: argparse.ArgumentParser) -> None:
    """--mapping, --hostfile and --ranks-per-host, as placement_from_arguments reads them."""
    parser.add_argument("--mapping", metavar="NAME", help=f"who runs where: {', '.join(MAPPINGS)} (default: block)")
    parser.add_argument("--hostfile", metavar="FILE", help="instead of a mapping: one host per line, in rank order")
    parser.add_argument(
        "--ranks-per-host", metavar="K", type=int,
        help="with a mapping: ranks on each host, up to its cores (default: 1)",
    )  # fmt: skip


def grid_from_arguments(args: argparse.Namespace) -> Grid:
    """The grid that --scenario, --network, --speeds and --frequency describe.

    Raises UserError for what does not fit.
    """
    grid = _grid(args)
    return grid if args.frequency is None else at_frequency(grid, args.frequency)


def at_frequency(grid: Grid, text: str) -> Grid:
    """The same at what an option --frequency asks for.  Raises PlatformError for what is no level."""
    grid = with_frequencies(grid)
    levels = [(cluster.name, cluster.frequencies) for cluster in grid.clusters if cluster.frequencies is not None]
    return grid.at(parse_frequency(text, levels))


def system_from_arguments(args: argparse.Namespace) -> System | None:
    """The system that --scenario and --hardware describe; None where --scenario is not a system file.

    Raises UserError for what does not fit.
    """
    from platforms.system.description import is_system_file
    from platforms.system.named import names_file, system_named

    is_file = args.scenario and names_file(args.scenario)
    if is_file and args.speeds is not None:
        raise UserError("--speeds", "does not go with a scenario file", "Write speeds into the file")
    if not (is_file and is_system_file(args.scenario)):
        if args.hardware:
            raise UserError("--hardware", "goes with a system file only", "Give one as --scenario, or drop it")
        return None
    if args.network is not None:
        raise UserError("--network", "does not go with a system file", "Write it into the file")
    return system_named(args.scenario, hardware=args.hardware or ())


def _grid(args: argparse.Namespace) -> Grid:
    from platforms.system.named import names_file

    if not args.scenario:
        raise UserError("--scenario", "is missing", f"Give one of {', '.join(NAMED)}, or a scenario file")
    system = system_from_arguments(args)
    if system is not None:
        return _grid_of(system)
    speeds_flops = None if args.speeds is None else _speeds_flops(args.speeds)
    if names_file(args.scenario):
        return read_grid(args.scenario, args.network)
    return named_grid(args.scenario, args.network, speeds_flops)


def platform_from_arguments(args: argparse.Namespace) -> Platform:
    """The platform that the options of add_platform_arguments name.

    Raises UserError for what does not fit, and for several files.
    """
    found = platforms_from_arguments(args)
    if len(found) > 1:
        raise UserError("--platform", f"{len(found)} files, but this command takes one", "Name one of them")
    return found[0]


def platforms_from_arguments(args: argparse.Namespace) -> list[Platform]:
    """All platforms that the options of add_platform_arguments name.  Raises UserError for what does not fit."""
    if args.platform is None:
        if args.clusters:
            raise UserError(f"--clusters {args.clusters[0]}", "goes with --platform", "A scenario names its clusters")
        return [_platform_of_scenario(args)]
    for option in ("scenario", "network", "speeds", "frequency", "hardware"):
        if getattr(args, option) is not None:
            raise UserError(f"--{option}", "does not go with --platform", "The file defines all of it: drop one")
    if not all(text.strip() for text in args.clusters or ()):
        raise UserError("--clusters", "an empty text", "Leave it out to take the platform's zones")
    return read_platforms(_files(args.platform), ",".join(args.clusters or ()))


def read_platforms(files: Sequence[str | Path], clusters: str = "") -> list[Platform]:
    """The platforms in these files, each with a name of its own, and clusters by the patterns of --clusters, if any.

    Raises UserError for what does not fit.
    """
    from platforms.clusters import parse_clusters, regroup
    from platforms.read import read_platform

    patterns = parse_clusters(clusters) if clusters.strip() else ()
    paths = [Path(file) for file in dict.fromkeys(map(str, files))]
    stems = [path.stem for path in paths]
    names = [printable(path.stem if stems.count(path.stem) == 1 else str(path)) for path in paths]
    found = [read_platform(path, name) for path, name in zip(paths, names, strict=True)]
    return [regroup(platform, patterns) for platform in found] if patterns else found


def _files(texts: Sequence[str]) -> list[str]:
    """Names with commas between them; a file whose own name has commas is taken as it is."""
    files = [name for text in texts for name in ([text] if os.path.isfile(text) else text.split(","))]
    if not all(name.strip() for name in files):
        raise UserError(f"--platform {','.join(texts)!r}", "an empty name", "Name files, separated by commas")
    return [name if os.path.isfile(name) else name.strip() for name in files]


def _platform_of_scenario(args: argparse.Namespace) -> Platform:
    from platforms.read import materialise

    if not args.scenario:
        raise UserError("platform", "none is given", "Give --scenario NAME or --platform FILE")
    system = system_from_arguments(args)
    if system is not None and args.frequency is None:
        from platforms.system.convert import materialise_system

        return materialise_system(system)
    return materialise(grid_from_arguments(args))


def placement_from_arguments(args: argparse.Namespace, platform: Platform, nranks: int | None = None) -> Placement:
    """The placement that --mapping, --ranks-per-host or --hostfile describe.

    ``nranks``: None means as many as the host file has lines, or as the hosts take if that is at most 4,096.  A host
    file longer than ``nranks`` gives its first lines; one too short is an error, never wrapped round.  Raises UserError
    for what does not fit, and for hosts of a user's own platform that cannot send messages to each other.
    """
    placement = _placement(args, platform, nranks)
    check_usable(platform, placement)
    return placement


def check_usable(platform: Platform, placement: Placement) -> None:
    """Raises PlatformError for hosts of a user's own platform that are off, or have no way to each other."""
    if platform.network is not None:
        return
    from platforms.read import check_connected

    for change in platform.changes_for(placement):
        if change.kind == "state" and change.resource == "host" and change.from_s == 0:
            problem = f"host {change.name!r} is switched off when a run begins, by its state profile"
            raise PlatformError(f"platform {platform.name}", problem, "Leave it out (--clusters, --hostfile)")
    check_connected(platform.path, placement)


def _placement(args: argparse.Namespace, platform: Platform, nranks: int | None) -> Placement:
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
        if nranks > MOST_RANKS_UNASKED:
            problem = f"it would take {nranks} ranks to fill it, and a simulation long to start them"
            raise UserError(f"platform {platform.name}", problem, "Say with --ranks how many you want")
    return MAPPINGS[mapping](platform, nranks, ranks_per_host)


def _grid_of(system: System) -> Grid:
    from platforms.system.grids import as_grid

    grid = as_grid(system)
    if grid is None:
        problem = "not a grid of clusters, each of a single kind of node with one compute unit"
        raise UserError(f"system {system.name!r}", problem, "Use a command that takes any platform")
    return grid


def _speeds_flops(text: str) -> list[float]:
    try:
        speeds = [float(part) * 1e9 for part in text.split(",")]
    except ValueError:
        speeds = []
    if not speeds or not all(0 < speed < math.inf for speed in speeds):
        raise UserError(f"--speeds {text}", "not positive numbers", "Write Gflop/s with commas, such as 35,45,55")
    return speeds
