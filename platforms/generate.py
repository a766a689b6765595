"""Write a scenario or a system as a SimGrid platform file: ``python -m platforms.generate --scenario grid3x9``."""

import argparse
import sys
from collections.abc import Sequence

from platforms.command.parser import CommandParser
from platforms.command.status import exit_status
from platforms.files.writing import write_text
from platforms.grids.xml import platform_xml
from platforms.options import add_scenario_arguments, grid_from_request, system_from_request
from platforms.system.convert import platform_file


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = CommandParser(prog="python -m platforms.generate", description=__doc__.partition(":")[0] + ".")
    add_scenario_arguments(parser)
    parser.add_argument("--output", metavar="FILE", default="-", help="file to write (default: -, standard output)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


def _run(args: argparse.Namespace) -> int:
    system = system_from_request(args) if args.frequency is None else None
    content = platform_xml(grid_from_request(args)) if system is None else platform_file(system)
    if args.output == "-":
        sys.stdout.write(content.decode())
    else:
        write_text("--output", args.output, content.decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
