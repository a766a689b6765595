"""Options that name a real machine, on which runs are made instead of simulated."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apps.errors import OptionError
from apps.spec.choices import MOST_REPEATS, REPEATS

if TYPE_CHECKING:
    from apps.machines.machine_file import Machine
    from platforms.model.platform import Platform

_OF_PLATFORM = ("scenario", "hardware", "network", "factors", "speeds", "frequency")


def add_machine_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the options --machine and --repeats, which the functions of this module read."""
    parser.add_argument(
        "--machine", metavar="FILE.toml",
        help="run on the real machine that this file describes, instead of simulating (docs/programs/machines.md); "
        "--platform may give its calibrated platform",
    )  # fmt: skip
    parser.add_argument(
        "--repeats",
        type=int,
        metavar="N",
        help=f"with --machine: how often a run is made (default: {REPEATS}); its time is the median",
    )


def machine_from_arguments(args: argparse.Namespace) -> Machine | None:
    """Return the machine that --machine names; None without the option.

    Raises:
        UserError: The file is wrong, or other options do not go with it.
    """
    if args.machine is None:
        if args.repeats is not None:
            raise OptionError(f"--repeats {args.repeats}", "goes with --machine", "Give that too, or leave it out")
        return None
    # Imported here for a quick start: it is slow to import.
    from apps.machines.machine_file import read_machine

    for option in _OF_PLATFORM:
        if getattr(args, option, None) is not None:
            raise OptionError(f"--{option}", "does not go with --machine", "Its file names the hosts: drop one")
    if args.engine is not None:
        raise OptionError(f"--engine {args.engine}", "does not go with --machine", "Drop one")
    if args.efficiency != "reference":
        raise OptionError(f"--efficiency {args.efficiency}", "a machine has its own", "Leave it out with --machine")
    if args.host_speed is not None:
        raise OptionError("--host-speed", "a machine computes in its own time", "Leave it out with --machine")
    if getattr(args, "jobs", None) is not None:
        raise OptionError(f"--jobs {args.jobs}", "a machine makes one run at a time", "Leave it out with --machine")
    if args.repeats is not None and not 1 <= args.repeats <= MOST_REPEATS:
        raise OptionError(
            f"--repeats {args.repeats}", f"not between 1 and {MOST_REPEATS}", "Give a number in that range"
        )
    return read_machine(args.machine)


def machines_platform(args: argparse.Namespace, machine: Machine) -> Platform:
    """Return the platform of a machine: the one that --platform gives, else its hosts with its nominal network.

    Raises:
        UserError: A file is wrong, or the platform has not the machine's hosts.
    """
    # Imported here for a quick start: they are slow to import.
    from apps.machines.machine_platform import check_hosts, machine_platform
    from platforms.arguments import platform_from_arguments

    if args.platform is None:
        if args.clusters:
            raise OptionError("--clusters", "goes with --platform", "The machine's file names its clusters")
        return machine_platform(machine)
    platform = platform_from_arguments(args)
    check_hosts(machine, platform)
    return platform
