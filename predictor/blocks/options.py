"""Options of commands that take an application, a system and a model of the blocks' costs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from predictor.blocks.errors import SettingError
from predictor.blocks.names import HARDWARE, POWER_RULES, SIMGRID

if TYPE_CHECKING:
    from predictor.blocks.application import Application
    from predictor.blocks.machines.machine import Machine
    from predictor.blocks.setting import Setting


def add_setting_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for application, system and placement, which ``setting_from_arguments`` reads."""
    parser.add_argument("application", metavar="APP.toml", help="the application (docs/blocks/applications.md)")
    parser.add_argument(
        "--system", required=True, metavar="SYS.toml|NAME", help="system that it runs on (docs/platforms/systems.md)"
    )
    parser.add_argument(
        "--hardware", action="append", default=[], metavar="FILE", help="file with your own hardware; may be repeated"
    )
    parser.add_argument(
        "--count", action="append", default=[], metavar="LABEL=N", help="processes of a label, instead of the file's"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="value of a variable, instead of the file's"
    )
    parser.add_argument(
        "--policy", default="fastest", metavar="NAME",
        help="order in which units get processes: fastest (default), round-robin or cheapest",
    )  # fmt: skip
    parser.add_argument(
        "--failure-rate", type=float, metavar="LAMBDA",
        help="failures per second of a node (default: those of the model or the hardware)",
    )  # fmt: skip


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the model of the blocks' costs, which ``machine_from_arguments`` reads."""
    parser.add_argument(
        "--model", default=SIMGRID, metavar="NAME|FILE",
        help=f"model of the blocks' costs: {SIMGRID} (default), the system's speeds, latencies, bandwidths and watts "
        f"with the factors of SimGrid's network model; {HARDWARE}, these data alone; a published model such as "
        "galera+; or a calibration file",
    )  # fmt: skip
    parser.add_argument("--power-law", metavar="LAW", help="for a published model: monotone (default) or printed")
    parser.add_argument("--shapes", metavar="FAMILY", help="for a calibration file: simgrid (default) or paper")
    parser.add_argument(
        "--evaluator", metavar="NAME",
        help="graph: every message, all of which share the links; cohorts: equal processes together, for any number of "
        "them; default: cohorts where they are exact, otherwise the graph, unless it is too large",
    )  # fmt: skip
    parser.add_argument(
        "--p-counts", metavar="WHAT",
        help="P of Table 1 in collectives: nodes, as in the paper (default for a published model), or processes "
        "(default for a calibration file)",
    )  # fmt: skip
    parser.add_argument(
        "--component", action="append", default=[], metavar="NAME=MODEL",
        help="for a published model or a calibration file: another such model for one component, by the name of a "
        "group of units, a LAN, a WAN or a disk; may be repeated",
    )  # fmt: skip


def add_power_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for the power rule."""
    parser.add_argument(
        "--power", default=POWER_RULES[0], metavar="RULE",
        help="threads that take power: idle-waiting (default), those that compute; active-waiting, all until they end; "
        "paper, the same on nodes that count only until their last process ends",
    )  # fmt: skip


def machine_from_arguments(args: argparse.Namespace, setting: Setting) -> Machine:
    """Return the machine that the options name.

    Raises:
        UserError: If the model is unknown, or an option does not go with it.
    """
    return setting.machine(
        args.model, power_law=args.power_law, family=args.shapes, p_counts=args.p_counts,
        components=_assignments("--component", args.component),
    )  # fmt: skip


def say_cautions(args: argparse.Namespace, setting: Setting) -> None:
    """Print on standard error why the model may not fit the system."""
    for caution in setting.cautions(args.model):
        print(f"caution: {caution}", file=sys.stderr)


def setting_from_arguments(args: argparse.Namespace) -> Setting:
    """Return the application, the system and the placement that the options name.

    Raises:
        UserError: If a file or an option is wrong.
    """
    # Imported here for a quick start: they are slow to import.
    from platforms.system.named import system_named
    from predictor.blocks.description import read_application
    from predictor.blocks.setting import Setting

    application = changed(read_application(args.application), args)
    system = system_named(args.system, hardware=args.hardware)
    if args.failure_rate is not None and not 0 <= args.failure_rate < float("inf"):
        raise SettingError(f"--failure-rate {args.failure_rate}", "not a rate", "Give failures per second, 0 or more")
    return Setting(application, system, args.policy, args.failure_rate)


def changed(application: Application, args: argparse.Namespace) -> Application:
    """Return the application with the counts and variables of the command line."""
    return application.changed(
        counts=_assignments("--count", args.count), variables=_assignments("--set", args.set)
    )  # fmt: skip


def _assignments(option: str, texts: list[str]) -> dict[str, str]:
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
