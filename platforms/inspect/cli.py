"""The command ``python -m platforms.inspect``, which shows a platform."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES, exit_status
from platforms.errors import UserError
from platforms.files.writing import PICTURES, check_picture, write_picture
from platforms.options import add_platform_arguments, platform_from_request
from platforms.terminal.progress import doing
from platforms.terminal.width import add_wide_argument

_DESCRIPTION = """Show a platform: clusters, hosts, speeds, power, zones and their routing, latency and bandwidth within
and between clusters, SimGrid options in the file, and unusual properties. Latencies and bandwidths are those of an
idle network before the factors of SimGrid's network model, from a sample of the hosts, whose size is shown."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = CommandParser(
        prog="python -m platforms.inspect",
        description=_DESCRIPTION,
        epilog=f"docs/platforms/own-platform.md. {EXIT_STATUSES}",
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a platform, .xml or .so, a scenario file, .toml, or a grid"
    )
    add_platform_arguments(parser)
    add_wide_argument(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in SI units")
    parser.add_argument(
        "--picture",
        metavar="FILE",
        help=f"draw zones, clusters and links: {', '.join('.' + name for name in PICTURES)}",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


def _run(args: argparse.Namespace) -> int:
    if args.picture is not None:
        check_picture("--picture", args.picture)
    take_file(args)
    platform = platform_from_request(args)
    # Imported here for a quick start: they are slow to import.
    from platforms.inspect.as_json import as_json
    from platforms.inspect.as_text import as_text
    from platforms.inspect.inspection import inspect

    with doing("looking at the platform"):
        found = inspect(platform)
    if args.picture is not None:
        # Imported here for a quick start: it is slow to import.
        from platforms.picture import platform_figure

        with doing("drawing the platform"):
            write_picture("--picture", args.picture, platform_figure(platform))
    print(json.dumps(as_json(found), indent=2) if args.json else as_text(found, wide=args.wide))
    return 0


def take_file(args: argparse.Namespace) -> None:
    """Treat the positional file as the value of --scenario (.toml, or the name of a grid) or else of --platform."""
    if args.file is None:
        return
    for option in ("platform", "scenario"):
        if getattr(args, option) is not None:
            raise UserError(f"--{option}", f"does not go with the file {args.file}", "Drop one")
    path = Path(args.file)
    is_name = path.name == args.file and not path.suffix and not path.exists()
    if path.suffix == ".toml" or is_name:
        args.scenario = args.file
    else:
        args.platform = [args.file]
