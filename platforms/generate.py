"""Write a scenario or a system as a SimGrid platform file: ``python -m platforms.generate --scenario grid3x9``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from platforms.command import CommandParser, exit_status
from platforms.errors import UserError
from platforms.options import add_scenario_arguments, grid_from_arguments, system_from_arguments
from platforms.system.convert import platform_file
from platforms.xml import platform_xml


def build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="python -m platforms.generate", description=__doc__.partition(":")[0] + ".")
    add_scenario_arguments(parser)
    parser.add_argument("--output", metavar="FILE", default="-", help="where to; - or nothing is standard output")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    system = system_from_arguments(args) if args.frequency is None else None
    content = platform_xml(grid_from_arguments(args)) if system is None else platform_file(system)
    if args.output == "-":
        sys.stdout.write(content.decode())
    else:
        _write(Path(args.output), content)
    return 0


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as err:
        raise UserError(f"--output {path}", f"cannot be written: {err.strerror}", "Choose another place") from err


if __name__ == "__main__":
    sys.exit(main())
