"""The command ``gridval emulate``: run a command on an emulated grid."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apps.emulation.machine_description import machine_text
from apps.emulation.running import run_on_grid
from apps.emulation.settings import COUNTED, DISTURBED, FIFO, PACES, QUEUES, Settings, slowed_down
from apps.emulation.validity import as_json, gates, summary
from apps.options.exit_status import exit_status
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_text
from platforms.grids.grid import Grid
from platforms.grids.scenario import named_grid, read_grid
from platforms.grids.xml import platform_xml
from platforms.system.named import names_file

_DESCRIPTION = """Run a command, such as mpirun of Open MPI, on a grid that this machine emulates: every node is a
network name space with its own address, packets take the rates and delays of the grid's links, and ranks compute no
faster than their nodes. The grid exists as long as the command. It needs root and /dev/net/tun."""
_EPILOG = f"""docs/validation/emulated-grid.md. Exit status: that of the command, otherwise as of all commands.
{EXIT_STATUSES}"""
_USAGE = "%(prog)s GRID [options] [-- COMMAND ...]"


class _Parser(CommandParser):
    """A parser that leaves the words behind ``--`` to the command, whose options they are."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the options, with the words behind ``--`` as ``command``."""
        words = list(sys.argv[1:] if args is None else args)
        split = words.index("--") if "--" in words else len(words)
        parsed = super().parse_args(words[:split], namespace)
        parsed.command = words[split + 1 :]
        return parsed


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = _Parser(prog="python -m apps.emulation", description=_DESCRIPTION, epilog=_EPILOG, usage=_USAGE)
    parser.add_argument("grid", metavar="GRID", help="a grid of up to 16 nodes: its name or a scenario file (.toml)")
    parser.add_argument(
        "--slowdown", metavar="F", type=float, default=1.0,
        help="emulate the grid in slow motion: speeds and bandwidths divided by F, latencies multiplied (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--pace", choices=PACES, default=COUNTED,
        help="how long computing takes: counted, as long as the node needs for the operations that the program counts, "
        "as all kernels do; free, by the CPU time it uses here (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--core-gflops", metavar="G", type=float, help="with --pace free: speed of a core of this machine, in Gflop/s"
    )
    parser.add_argument(
        "--eager-limit", metavar="BYTES", type=int,
        help="let Open MPI send messages of up to so many bytes at once, without a handshake (default: its own, 65536)",
    )  # fmt: skip
    parser.add_argument(
        "--queues", choices=QUEUES, default=FIFO,
        help="order in which a node sends packets: fifo, first come, first served; turns, those for different nodes in "
        "turn, as fq and fq_codel of Linux do (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--cpu", metavar="N", type=int,
        help="processor of the router and of all ranks (default: the last one on which no emulated grid runs)",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true",
        help=f"end with exit status {DISTURBED} where a gate fails, instead of a caution",
    )  # fmt: skip
    parser.add_argument("--validity", metavar="FILE.json", help="write the gates and what router and pacers did")
    parser.add_argument("--write-machine", metavar="FILE.toml", help="write the machine file that runs on this grid")
    parser.add_argument(
        "--write-platform", metavar="FILE.xml", help="write the grid as a SimGrid platform, not calibrated"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


def _run(args: argparse.Namespace) -> int:
    command: list[str] = args.command
    if not command and not (args.write_machine or args.write_platform):
        raise UserError("command", "is missing", "Write it behind --, for example: -- mpirun -np 4 ./program")
    if not command and (args.validity or args.strict):
        option = "--validity" if args.validity else "--strict"
        raise UserError(option, "judges a run, but no command is given", "Write one behind --, or leave it out")
    for option in ("validity", "write_machine", "write_platform"):
        if getattr(args, option):
            check_writable(f"--{option.replace('_', '-')}", getattr(args, option))
    core_flops = None if args.core_gflops is None else args.core_gflops * 1e9
    settings = Settings(args.pace, core_flops, args.eager_limit, args.queues, args.cpu)
    grid = slowed_down(read_grid(args.grid) if names_file(args.grid) else named_grid(args.grid), args.slowdown)
    settings.check(grid)
    _write(args, grid)
    if not command:
        return 0
    report = run_on_grid(grid, settings, command)
    found = gates(report, settings.pace)
    sys.stdout.flush()
    print(summary(report), file=sys.stderr)
    refused = False
    for gate in found:
        if not gate.passed:
            refused |= args.strict and gate.decides
            print(f"{'error' if args.strict and gate.decides else 'caution'}: {gate.caution}.", file=sys.stderr)
    if args.validity:
        write_text("--validity", args.validity, json.dumps(as_json(report, found), indent=2) + "\n")
    return report.status or (DISTURBED if refused else 0)


def _write(args: argparse.Namespace, grid: Grid) -> None:
    if args.write_platform:
        write_text("--write-platform", args.write_platform, platform_xml(grid).decode())
    if args.write_machine:
        name = str(Path(args.grid).resolve()) if names_file(args.grid) else args.grid
        words = [name, "--strict", "--pace", args.pace]
        given = {"--slowdown": args.slowdown, "--core-gflops": args.core_gflops, "--eager-limit": args.eager_limit}
        for option, value in {**given, "--cpu": args.cpu, "--queues": args.queues}.items():
            if value not in (None, 1.0, FIFO):
                words += [option, str(value)]
        write_text("--write-machine", args.write_machine, machine_text(grid, words))
