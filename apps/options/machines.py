"""Options that name a real machine, on which runs are made instead of simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.errors import OptionError
from apps.options.runner import RunnerOptions
from apps.options.settings import SettingsOptions
from apps.spec.choices import MOST_REPEATS, REPEATS
from platforms.addons import provided
from platforms.command.request import option
from platforms.options import PlatformOptions, platform_from_request

if TYPE_CHECKING:
    from apps.spec.choices import RealMachine
    from platforms.model.platform import Platform

_OF_PLATFORM = ("scenario", "hardware", "network", "factors", "speeds", "frequency")


@dataclass(frozen=True, kw_only=True)
class MachineOptions(PlatformOptions, SettingsOptions):
    """A platform, or a real machine on which runs are made instead of simulated, and the settings of the runs."""

    machine: str | None = option(
        None,
        "FILE.toml",
        "run on the real machine that this file describes, instead of simulating (docs/programs/machines.md); "
        "--platform may give its calibrated platform",
    )
    repeats: int | None = option(
        None, "N", f"with --machine: how often a run is made (default: {REPEATS}); its time is the median"
    )


def machine_from_request(request: MachineOptions) -> RealMachine | None:
    """Return the machine that --machine names; None without the option.

    Raises:
        UserError: The file is wrong, or other options do not go with it.
    """
    if request.machine is None:
        if request.repeats is not None:
            raise OptionError(f"--repeats {request.repeats}", "goes with --machine", "Give that too, or leave it out")
        return None

    for name in _OF_PLATFORM:
        if getattr(request, name) not in (None, (), []):
            raise OptionError(f"--{name}", "does not go with --machine", "Its file names the hosts: drop one")
    if request.engine is not None:
        raise OptionError(f"--engine {request.engine}", "does not go with --machine", "Drop one")
    if request.efficiency != "reference":
        raise OptionError(f"--efficiency {request.efficiency}", "a machine has its own", "Leave it out with --machine")
    if request.host_speed is not None:
        raise OptionError("--host-speed", "a machine computes in its own time", "Leave it out with --machine")
    if isinstance(request, RunnerOptions) and request.jobs is not None:
        raise OptionError(f"--jobs {request.jobs}", "a machine makes one run at a time", "Leave it out with --machine")
    if request.repeats is not None and not 1 <= request.repeats <= MOST_REPEATS:
        raise OptionError(
            f"--repeats {request.repeats}", f"not between 1 and {MOST_REPEATS}", "Give a number in that range"
        )
    machine: RealMachine = provided("apps.machines.machine_file:read_machine")(request.machine)
    return machine


def machines_platform(request: MachineOptions, machine: RealMachine) -> Platform:
    """Return the platform of a machine: the one that --platform gives, else its hosts with its nominal network.

    Raises:
        UserError: A file is wrong, or the platform has not the machine's hosts.
    """
    of_machines = provided("apps.machines.machine_platform")
    if not request.platform:
        if request.clusters:
            raise OptionError("--clusters", "goes with --platform", "The machine's file names its clusters")
        nominal: Platform = of_machines.machine_platform(machine)
        return nominal
    platform = platform_from_request(request)
    of_machines.check_hosts(machine, platform)
    return platform
