"""Options of commands that take an application, a system and a model of the blocks' costs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING

from platforms.command.request import Request, argument, option
from predictor.blocks.names import HARDWARE, POWER_RULES, SIMGRID, SettingError

if TYPE_CHECKING:
    from predictor.blocks.application import Application
    from predictor.blocks.machines.machine import Machine
    from predictor.blocks.setting import Setting


@dataclass(frozen=True, kw_only=True)
class SettingOptions(Request):
    """Add the options for application, system and placement, which ``setting_from_request`` reads."""

    application: str = argument("APP.toml", "the application (docs/blocks/applications.md)")
    system: str = option(MISSING, "SYS.toml|NAME", "system that it runs on (docs/platforms/platform-files.md)")
    hardware: tuple[str, ...] = option((), "FILE", "file with your own hardware; may be repeated")
    count: tuple[str, ...] = option((), "LABEL=N", "processes of a label, instead of the file's")
    set: tuple[str, ...] = option((), "NAME=VALUE", "value of a variable, instead of the file's")
    policy: str = option(
        "fastest", "NAME", "order in which units get processes: fastest (default), round-robin or cheapest"
    )
    failure_rate: float | None = option(
        None, "LAMBDA", "failures per second of a node (default: those of the model or the hardware)"
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Request):
    """Add the options for the model of the blocks' costs, which ``machine_from_request`` reads."""

    model: str = option(
        SIMGRID,
        "NAME|FILE",
        f"model of the blocks' costs: {SIMGRID} (default), the system's speeds, latencies, bandwidths and watts "
        f"with the factors of SimGrid's network model; {HARDWARE}, these data alone; a published model such as "
        "galera+; or a calibration file",
    )
    power_law: str | None = option(None, "LAW", "for a published model: monotone (default) or printed")
    shapes: str | None = option(None, "FAMILY", "for a calibration file: simgrid (default) or paper")
    evaluator: str | None = option(
        None,
        "NAME",
        "graph: every message, all of which share the links; cohorts: equal processes together, for any number of "
        "them; default: cohorts where they are exact, otherwise the graph, unless it is too large",
    )
    p_counts: str | None = option(
        None,
        "WHAT",
        "P of Table 1 in collectives: nodes, as in the paper (default for a published model), or processes "
        "(default for a calibration file)",
    )
    component: tuple[str, ...] = option(
        (),
        "NAME=MODEL",
        "for a published model or a calibration file: another such model for one component, by the name of a "
        "group of units, a LAN, a WAN or a disk; may be repeated",
    )


@dataclass(frozen=True, kw_only=True)
class PowerOption(Request):
    """Add the option for the power rule."""

    power: str = option(
        POWER_RULES[0],
        "RULE",
        "threads that take power: idle-waiting (default), those that compute; active-waiting, all until they end; "
        "paper, the same on nodes that count only until their last process ends",
    )


def machine_from_request(request: ModelOptions, setting: Setting) -> Machine:
    """Return the machine that the options name.

    Raises:
        UserError: If the model is unknown, or an option does not go with it.
    """
    return setting.machine(
        request.model, power_law=request.power_law, family=request.shapes, p_counts=request.p_counts,
        components=_assignments("--component", request.component),
    )  # fmt: skip


def say_cautions(request: ModelOptions, setting: Setting) -> None:
    """Print on standard error why the model may not fit the system."""
    for caution in setting.cautions(request.model):
        print(f"caution: {caution}", file=sys.stderr)


def setting_from_request(request: SettingOptions) -> Setting:
    """Return the application, the system and the placement that the options name.

    Raises:
        UserError: If a file or an option is wrong.
    """
    # Imported here for a quick start: they are slow to import.
    from platforms.system.convert import system_named
    from predictor.blocks.description import read_application
    from predictor.blocks.setting import Setting

    application = changed(read_application(request.application), request)
    system = system_named(request.system, hardware=request.hardware)
    if request.failure_rate is not None and not 0 <= request.failure_rate < float("inf"):
        raise SettingError(
            f"--failure-rate {request.failure_rate}", "not a rate", "Give failures per second, 0 or more"
        )
    return Setting(application, system, request.policy, request.failure_rate)


def changed(application: Application, request: SettingOptions) -> Application:
    """Return the application with the counts and variables of the command line."""
    return application.changed(
        counts=_assignments("--count", request.count), variables=_assignments("--set", request.set)
    )  # fmt: skip


def _assignments(option: str, texts: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    example = "lan=galera" if option == "--component" else "n=1000"
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or not value:
            raise SettingError(
                f"{option} {text}", "not of the form NAME=VALUE", f"Write for example {option} {example}"
            )
        if option == "--component" and name in given:
            raise SettingError(f"{option} {text}", "this component is given twice", "Keep one")
        given[name] = value
    return given
