"""Say whether programs can run on all hosts of a platform: SimGrid reads it, and its hosts are on and connected."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES, exit_status
from platforms.inspect.cli import take_file
from platforms.options import add_platform_arguments, check_usable, platform_from_request
from platforms.wording import number_of


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = CommandParser(
        prog="python -m platforms.inspect.check",
        description=__doc__,
        epilog=f"docs/platforms/own-platform.md. {EXIT_STATUSES}",
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a platform, .xml or .so, a scenario file, .toml, or a grid"
    )
    add_platform_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser


def _run(args: argparse.Namespace) -> int:
    take_file(args)
    platform = platform_from_request(args)
    check_usable(platform, tuple(host.name for host in platform.hosts))
    # Imported here for a quick start: it is slow to import.
    from platforms.inspect.inspection import inspect

    notes = inspect(platform).notes
    if args.json:
        print(json.dumps({"platform": platform.name, "usable": True, "notes": [asdict(note) for note in notes]}))
        return 0
    hosts, cores = len(platform.hosts), sum(host.cores for host in platform.hosts)
    parts = (number_of(hosts, "host"), number_of(cores, "core"), number_of(len(platform.clusters), "cluster"))
    print(f"{platform.name} can be used: {', '.join(parts)}; SimGrid reads it, all hosts are on and connected.")
    for note in notes:
        print(f"worth knowing, {note.kind}: {note.text}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())
