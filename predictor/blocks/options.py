"""Options of commands that take an application of blocks, a system and a model of costs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from platforms.errors import UserError

if TYPE_CHECKING:
    from predictor.blocks.application import Application
    from predictor.blocks.machines.machine import Machine
    from predictor.blocks.setting import Setting

HARDWARE, SIMGRID = "hardware", "simgrid"  # models of a system's own data; the others are block models


def add_setting_arguments(parser: argparse.ArgumentParser) -> None:
    """The application, the system and who is placed where, as ``setting_from_arguments`` reads them."""
    parser.add_argument("application", metavar="APP.toml", help="its description (docs/blocks/applications.md)")
    parser.add_argument(
        "--system", required=True, metavar="SYS.toml|NAME", help="where it runs (docs/platforms/systems.md)"
    )
    parser.add_argument(
        "--hardware", action="append", default=[], metavar="FILE", help="hardware of your own; may be repeated"
    )
    parser.add_argument(
        "--count", action="append", default=[], metavar="LABEL=N", help="processes of a label, in place of the file's"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="value of a variable, in place of the file's"
    )
    parser.add_argument(
        "--policy", default="fastest", metavar="NAME",
        help="which units get processes first: fastest (default), round-robin or cheapest",
    )  # fmt: skip
    parser.add_argument(
        "--failure-rate", type=float, metavar="LAMBDA", help="failures per second of a node (default: the model's)"
    )


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """What the costs of the blocks are taken from, as ``machine_from_arguments`` reads it."""
    parser.add_argument(
        "--model", default=SIMGRID, metavar="NAME|FILE",
        help=f"costs of blocks: {SIMGRID} (default), the system's speeds, latencies, bandwidths and watts with the "
        f"factors of SimGrid's network model; {HARDWARE}, these data alone; a published model such as galera+; a "
        "calibration file",
    )  # fmt: skip
    parser.add_argument("--power-law", metavar="LAW", help="of a published model: monotone (default) or printed")
    parser.add_argument("--shapes", metavar="FAMILY", help="of a calibration file: simgrid (default) or paper")


def machine_from_arguments(args: argparse.Namespace, setting: Setting) -> Machine:
    """Raises UserError."""
    return setting.machine(args.model, power_law=args.power_law, family=args.shapes)


def say_cautions(args: argparse.Namespace, setting: Setting) -> None:
    """On the standard error, what speaks against the model here."""
    for caution in setting.cautions(args.model):
        print(f"caution: {caution}", file=sys.stderr)


def setting_from_arguments(args: argparse.Namespace) -> Setting:
    """Raises UserError."""
    from platforms.system.named import system_named
    from predictor.blocks.description import read_application
    from predictor.blocks.setting import Setting

    application = changed(read_application(args.application), args)
    system = system_named(args.system, hardware=args.hardware)
    if args.failure_rate is not None and not 0 <= args.failure_rate < float("inf"):
        raise UserError(f"--failure-rate {args.failure_rate}", "not a rate", "Give failures per second, 0 or more")
    return Setting(application, system, args.policy, args.failure_rate)


def changed(application: Application, args: argparse.Namespace) -> Application:
    """With the counts and variables that the command line gives."""
    return application.changed(
        counts=_assignments("--count", args.count), variables=_assignments("--set", args.set)
    )  # fmt: skip


def _assignments(option: str, texts: list[str]) -> dict[str, str]:
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or not value:
            raise UserError(f"{option} {text}", "not of the form NAME=VALUE", f"Write for example {option} n=1000")
        given[name] = value
    return given
