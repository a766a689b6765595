"""The command-line options for a platform and a placement, shared by all commands."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from platforms.addons import provided
from platforms.command.parser import any_case
from platforms.command.request import Request, given, option
from platforms.errors import PlatformError, UserError, known_names, printable
from platforms.grids.grid import Grid
from platforms.grids.network import DEFAULT_NETWORK, FACTORS, network_names, with_factors
from platforms.grids.scenario import (
    NAMED,
    SCENARIOS,
    is_system_file,
    named_grid,
    names_file,
    read_grid,
    with_frequencies,
)
from platforms.grids.xml import platform_xml
from platforms.model.frequency import parse_frequency
from platforms.model.placement import MAPPINGS, Placement, RanksPerHost, places, read_host_file
from platforms.model.platform import Platform
from platforms.read.clusters import parse_clusters, regroup


def _any_scenario(text: str) -> str:
    return any_case("all", *NAMED)(text)


MOST_RANKS_UNASKED = 4096  # unless --ranks asks for more: SMPI starts 4,096 ranks in 6 s, twice as many in 42 s


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions(Request):
    """A grid: a named scenario or a file of one, and what is changed of it."""

    all_scenarios: ClassVar[bool] = False  # the command accepts "all" too

    scenario: str | None = option(None, "NAME|FILE.toml", lambda request: _scenarios(request), parse=_any_scenario)
    hardware: tuple[str, ...] = option(
        (), "FILE", "with a system file: processors, networks and disks of your own (may be given several times)"
    )
    network: str | None = option(
        None,
        "NAME",
        lambda _: f"its network: {', '.join(network_names())} (default: that of the scenario, or {DEFAULT_NETWORK})",
        parse=lambda text: any_case(*network_names())(text),
    )
    factors: str | None = option(
        None,
        "",
        "factors of latency and bandwidth by message size: neutral for none, simgrid for SimGrid's defaults "
        "(default: those of the network)",
        choices=tuple(FACTORS),
    )
    speeds: str | None = option(None, "G1,G2,...", "Gflop/s of a node of each cluster, such as 35,45,55")
    frequency: str | None = option(
        None,
        "F|F1,F2,...",
        "frequency at which the nodes run: GHz, min or max, one for all clusters or one for each (default: that of the "
        "scenario, or the highest)",
    )


def _scenarios(request: type[Request]) -> str:
    """Return the help of --scenario."""
    assert issubclass(request, ScenarioOptions)
    every = f"; all for {SCENARIOS[0]} to {SCENARIOS[-1]}" if request.all_scenarios else ""
    return f"a grid: {', '.join(NAMED)}{every}; any grid{{N}}x{{M}} with --speeds, a scenario file or a system file"


@dataclass(frozen=True, kw_only=True)
class PlatformOptions(ScenarioOptions):
    """A platform: a grid, or any platform file of SimGrid."""

    platform: tuple[str, ...] = option((), "FILE", lambda request: _files_help(request))
    clusters: tuple[str, ...] = option(
        (),
        "NAME=PATTERN,...",
        "with --platform: which hosts make a cluster, by patterns of their names such as left=node-[0-9]*; the first "
        "match wins, -=PATTERN leaves hosts out (default: the platform's zones, split by speed)",
    )

    def __post_init__(self) -> None:
        """Take ``--platform FILE.toml`` as ``--scenario FILE.toml``: both name a scenario or system file."""
        if len(self.platform) == 1 and is_grid_file(self.platform[0]) and not (self.scenario or self.clusters):
            object.__setattr__(self, "scenario", self.platform[0])
            object.__setattr__(self, "platform", ())


def _files_help(request: type[Request]) -> str:
    """Return the help of --platform."""
    assert issubclass(request, ScenarioOptions)
    several = "; several with commas, or the option again" if request.all_scenarios else ""
    every = "any SimGrid platform, .xml or .so, or a scenario or system file, .toml"
    return f"instead of a scenario: {every}{several} (docs/platforms/platform-files.md)"


def is_grid_file(name: str | Path) -> bool:
    """Return whether a file has the ending of scenario files and system files.

    >>> is_grid_file("three.toml"), is_grid_file("three.xml")
    (True, False)
    """
    return Path(name).suffix == ".toml"


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(Request):
    """The hosts of the ranks."""

    mapping: str | None = option(
        None, "NAME", f"mapping of ranks to hosts: {', '.join(MAPPINGS)} (default: block)", parse=str.lower
    )
    hostfile: str | None = option(None, "FILE", "instead of a mapping: one host per line, in rank order")
    ranks_per_host: RanksPerHost | None = option(
        None,
        "K|cores",
        "with a mapping: ranks on each host, up to its cores, or cores for one on each core, also where hosts have "
        "different numbers of them (default: 1)",
        parse=lambda text: _ranks_per_host(text),
    )


def _ranks_per_host(text: str) -> RanksPerHost:
    if text.lower() == "cores":
        return "cores"
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"neither a whole number nor cores: {text!r}") from None


def grid_from_request(request: ScenarioOptions) -> Grid:
    """Return the grid that --scenario, --network, --factors, --speeds and --frequency describe.

    Raises:
        UserError: The options do not describe a grid.
    """
    grid = _grid(request)
    if request.factors is not None:
        grid = replace(grid, options=with_factors(grid.options, request.factors))
    return grid if request.frequency is None else at_frequency(grid, request.frequency)


def at_frequency(grid: Grid, text: str) -> Grid:
    """Return the same grid at the frequencies that a value of --frequency asks for.

    Raises:
        PlatformError: A frequency is not a level of its cluster.
    """
    grid = with_frequencies(grid)
    levels = [(cluster.name, cluster.frequencies) for cluster in grid.clusters if cluster.frequencies is not None]
    return grid.at(parse_frequency(text, levels))


def system_file(request: ScenarioOptions) -> str | None:
    """Return the system file that --scenario names, or None if it names no system file.

    Raises:
        UserError: The options contradict each other, or the file is wrong.
    """
    is_file = request.scenario and names_file(request.scenario)
    if is_file and request.speeds is not None:
        raise UserError("--speeds", "does not go with a scenario file", "Write speeds into the file")
    if not (is_file and is_system_file(given(request.scenario))):
        if request.hardware:
            raise UserError("--hardware", "goes with a system file only", "Give one as --scenario, or drop it")
        return None
    for name in ("network", "factors"):
        if getattr(request, name) is not None:
            raise UserError(f"--{name}", "does not go with a system file", "Write it into the file")
    return request.scenario


def _systems() -> Any:
    """Return what makes platforms of systems (platforms/system/convert.py)."""
    return provided("platforms.system.convert")


def platform_file_from_request(request: ScenarioOptions) -> bytes:
    """Return the SimGrid platform file of the scenario or system that a request names."""
    system = system_file(request) if request.frequency is None else None
    if system is not None:
        content: bytes = _systems().content_of_file(system, request.hardware)
        return content
    return platform_xml(grid_from_request(request))


def _grid(request: ScenarioOptions) -> Grid:
    if not request.scenario:
        raise UserError("--scenario", "is missing", f"Give one of {', '.join(NAMED)}, or a scenario file")
    system = system_file(request)
    if system is not None:
        grid: Grid = _systems().grid_of_file(system, request.hardware)
        return grid
    speeds_flops = None if request.speeds is None else _speeds_flops(request.speeds)
    if names_file(request.scenario):
        return read_grid(request.scenario, request.network)
    return named_grid(request.scenario, request.network, speeds_flops)


def platform_from_request(request: PlatformOptions) -> Platform:
    """Return the platform that a request names.

    Raises:
        UserError: The options contradict each other, a file is wrong, or several files are named.
    """
    platforms = platforms_from_request(request)
    if len(platforms) > 1:
        raise UserError("--platform", f"{len(platforms)} files, but this command takes one", "Name one of them")
    return platforms[0]


def platforms_from_request(request: PlatformOptions) -> list[Platform]:
    """Return all platforms that a request names.

    Raises:
        UserError: The options contradict each other, or a file is wrong.
    """
    if not request.platform:
        if request.clusters:
            raise UserError(
                f"--clusters {request.clusters[0]}", "goes with --platform", "A scenario names its clusters"
            )
        return [_platform_of_scenario(request)]
    for name in ("scenario", "network", "factors", "speeds", "frequency", "hardware"):
        if getattr(request, name) not in (None, (), []):
            raise UserError(f"--{name}", "does not go with --platform", "The file defines all of it: drop one")
    if not all(text.strip() for text in request.clusters):
        raise UserError("--clusters", "an empty text", "Leave it out to take the platform's zones")
    return read_platforms(_files(request.platform), ",".join(request.clusters))


def read_platforms(files: Sequence[str | Path], clusters: str = "") -> list[Platform]:
    """Return the platforms in these files, of SimGrid, scenarios or systems, each under a different name.

    ``clusters`` is a value of --clusters: patterns that define the clusters; "" keeps the clusters of the files.

    Raises:
        UserError: A file or the patterns are wrong.
    """
    # Imported here because it is slow to import.
    from platforms.read.read import read_platform

    patterns = parse_clusters(clusters) if clusters.strip() else ()
    paths = [Path(file) for file in dict.fromkeys(map(str, files))]
    stems = [path.stem for path in paths]
    names = [printable(path.stem if stems.count(path.stem) == 1 else str(path)) for path in paths]
    read = [
        replace(_of_grid_file(path), name=name) if is_grid_file(path) else read_platform(path, name)
        for path, name in zip(paths, names, strict=True)
    ]
    return [regroup(platform, patterns) for platform in read] if patterns else read


def _of_grid_file(path: Path) -> Platform:
    """Return the platform of a scenario file or system file."""
    # Imported here because it is slow to import.
    from platforms.read.read import materialise

    if not is_system_file(path):
        return materialise(read_grid(path))
    platform: Platform = _systems().platform_of_file(str(path), ())
    return platform


def _files(texts: Sequence[str]) -> list[str]:
    """Split the values of --platform at commas, except where a value with commas is the name of a file."""
    files = [name for text in texts for name in ([text] if os.path.isfile(text) else text.split(","))]
    if not all(name.strip() for name in files):
        raise UserError(f"--platform {','.join(texts)!r}", "an empty name", "Name files, separated by commas")
    return [name if os.path.isfile(name) else name.strip() for name in files]


def _platform_of_scenario(request: PlatformOptions) -> Platform:
    # Imported here because it is slow to import.
    from platforms.read.read import materialise

    if not request.scenario:
        raise UserError("platform", "none is given", "Give --scenario NAME or --platform FILE")
    system = system_file(request)
    if system is not None and request.frequency is None:
        platform: Platform = _systems().platform_of_file(system, request.hardware)
        return platform
    return materialise(grid_from_request(request))


def placement_from_request(request: PlacementOptions, platform: Platform, nranks: int | None = None) -> Placement:
    """Return the placement that --mapping, --ranks-per-host or --hostfile describe.

    Args:
        request: How the ranks are placed.
        platform: The platform on which the ranks are placed.
        nranks: Number of ranks.  None means as many as the host file places, or as fit on the hosts if that is at most
            4,096.  Of a host file with more ranks the first ``nranks`` are used; a host file with fewer is an error and
            is never repeated.

    Raises:
        UserError: The options contradict each other or do not fit the platform, or hosts of a user's own platform
            cannot send messages to each other.
    """
    placement = _placement(request, platform, nranks)
    check_usable(platform, placement)
    return placement


def check_usable(platform: Platform, placement: Placement) -> None:
    """Check that the hosts of a placement on a user's own platform are on and connected.

    Raises:
        PlatformError: A host is switched off at the start, or there is no route between two hosts.
    """
    check_all_usable(platform, [placement])


def check_all_usable(platform: Platform, placements: Sequence[Placement]) -> None:
    """Check all placements on a platform as ``check_usable`` does; hosts that many of them share are checked once.

    Raises:
        PlatformError: As ``check_usable`` does, for the first placement that is not usable.
    """
    if platform.network is not None:
        return
    # Imported here because it is slow to import.
    from platforms.read.read import check_connected

    for placement in placements:
        for change in platform.changes_for(placement):
            if change.kind == "state" and change.resource == "host" and change.from_s == 0:
                problem = f"host {change.name!r} is switched off when a run begins, by its state profile"
                raise PlatformError(f"platform {platform.name}", problem, "Leave it out (--clusters, --hostfile)")
    largest = _largest(placements)
    if len(largest) < len(placements):
        try:
            for group_checked in largest:
                check_connected(platform, group_checked)
            return
        except PlatformError:
            pass  # the first placement without a route is found below, for the message
    for placement in placements:
        check_connected(platform, placement)


def _largest(placements: Sequence[Placement]) -> list[Placement]:
    """Return placements whose connections imply those of all others.

    A placement stands for those on some of its hosts, if SimGrid checks all pairs of both, or only some pairs of both
    with the same first host.
    """
    # Imported here because it is slow to import.
    from platforms.read.read import MOST_PAIRWISE

    largest_by_hosts: list[tuple[frozenset[str], Placement]] = []
    distinct = {frozenset(placement): placement for placement in reversed(placements)}
    for hosts, placement in sorted(distinct.items(), key=lambda item: -len(item[0])):
        small = len(hosts) <= MOST_PAIRWISE
        if not any(
            hosts <= others and (len(others) <= MOST_PAIRWISE if small else other[0] == placement[0])
            for others, other in largest_by_hosts
        ):
            largest_by_hosts.append((hosts, placement))
    return [placement for _, placement in largest_by_hosts]


def _placement(request: PlacementOptions, platform: Platform, nranks: int | None) -> Placement:
    if request.hostfile is not None:
        for name, value in (("--mapping", request.mapping), ("--ranks-per-host", request.ranks_per_host)):
            if value is not None:
                raise UserError(name, "does not go with --hostfile", "Drop one")
        placement = read_host_file(request.hostfile, platform)
        if nranks is not None and nranks > len(placement):
            problem = f"{nranks} ranks, but it places {len(placement)}"
            raise PlatformError(f"host file {request.hostfile}", problem, "Add lines or lower the ranks")
        return placement[:nranks]
    mapping = "block" if request.mapping is None else request.mapping
    if mapping not in MAPPINGS:
        raise UserError(f"--mapping {mapping or repr(mapping)}", "no such mapping", known_names(mapping, MAPPINGS))
    ranks_per_host: RanksPerHost = 1 if request.ranks_per_host is None else request.ranks_per_host
    if nranks is None:
        nranks = places(platform, ranks_per_host)
        if nranks > MOST_RANKS_UNASKED:
            problem = f"it would take {nranks} ranks to fill it, and a simulation would take long to start them"
            raise UserError(f"platform {platform.name}", problem, "Give the number of ranks with --ranks")
    return MAPPINGS[mapping](platform, nranks, ranks_per_host)


def _speeds_flops(text: str) -> list[float]:
    try:
        speeds = [float(part) * 1e9 for part in text.split(",")]
    except ValueError:
        speeds = []
    if not speeds or not all(0 < speed < math.inf for speed in speeds):
        raise UserError(f"--speeds {text}", "not positive numbers", "Write Gflop/s with commas, such as 35,45,55")
    return speeds
