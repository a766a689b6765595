"""What the command lines that run programs have in common."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from apps.errors import KernelError, SimulationError
from apps.spec import COMPUTE, Settings, parse_options
from apps.verdict import readable
from platforms.errors import UserError

_LOG_LINES = 12


def add_settings_arguments(parser: argparse.ArgumentParser) -> None:
    """--efficiency, --compute, --iterations and --cfg, as settings_from_arguments reads them."""
    parser.add_argument(
        "--efficiency", default="reference", metavar="E",
        help="share of a host's speed that a kernel sustains: a number in (0, 1], reference (default: the fractions "
        "of one real core), or measured (on this machine, by python -m apps.calibrate)",
    )  # fmt: skip
    parser.add_argument(
        "--compute", default="injected", metavar="HOW", help=f"{' or '.join(COMPUTE)}: none makes computation free"
    )
    parser.add_argument(
        "--iterations", default="full", metavar="full|K", help="how many iterations to simulate (default: full)"
    )
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE", help="a SimGrid option; may be given several times"
    )


def settings_from_arguments(args: argparse.Namespace) -> Settings:
    """Raises KernelError for what does not fit."""
    return Settings(
        compute=args.compute,
        efficiency=args.efficiency,
        iterations=_iterations(args.iterations),
        options=parse_options(args.cfg),
    )


def _iterations(text: str) -> int | None:
    if text == "full":
        return None
    if not text.isdecimal():
        raise KernelError(f"--iterations {text}", "neither full nor a number", "Write for example --iterations 5")
    return int(text)


def exit_status(command: Callable[[], int]) -> int:
    """Runs a command; the errors that a user can meet become one line and a status.

    2: bad input.  1: a simulation did not succeed; the end of its log follows.  130: interrupted.
    """
    try:
        return command()
    except UserError as err:
        print(f"error: {err}", file=sys.stderr)
        return 2
    except SimulationError as err:
        print(f"error: {err}", file=sys.stderr)
        for line in readable(err.log)[-_LOG_LINES:]:
            print(f"  {line}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
