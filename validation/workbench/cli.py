"""The command ``python -m validation.workbench``."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence

from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES, exit_status
from platforms.errors import UserError

PORT = 8765
_NEEDED = {"starlette": "starlette", "uvicorn": "uvicorn", "multipart": "python-multipart", "tomlkit": "tomlkit"}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.workbench",
        description="Serve the workbench of a project folder: make and look at platforms, draw systems of levels, edit "
        "and evaluate applications in blocks, put suites of runs into a queue, and see their results in a browser. Its "
        "platforms, applications and suites are plain files (TOML, XML), which all commands take.",
        epilog=f"docs/workbench.md. {EXIT_STATUSES}",
    )
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default="workbench",
        help="the project folder, made if it is missing (default: workbench, in the current folder)",
    )  # fmt: skip
    parser.add_argument("--port", type=int, default=PORT, help=f"port (default: {PORT}; 0: any that is free)")
    parser.add_argument(
        "--address", default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1, this computer alone); on others a browser needs the token that "
        "the server prints, and whoever has it can start runs here",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: the number of cores)")
    parser.add_argument(
        "--store", metavar="DIR", help="folder in which records are looked up and kept (default: in the cache folder)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS",
        help="simulate on the workers of this Dask scheduler (docs/validation/campaigns.md)",
    )  # fmt: skip
    parser.add_argument(
        "--allow-programs",
        action="store_true",
        help="also run suites that name code: predictors of your own, platforms in C++",
    )
    return parser


def _run(args: argparse.Namespace) -> int:
    missing = [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        remedy = f"Run: {sys.executable} -m pip install 'grid-prediction-validator[workbench]'"
        raise UserError("workbench", f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing", remedy)
    jobs = (os.cpu_count() or 1) if args.jobs is None else args.jobs
    if jobs < 1:
        raise UserError(f"--jobs {jobs}", "not positive", "Give at least 1")
    if not 0 <= args.port <= 65535:
        raise UserError(f"--port {args.port}", "not a port", "Give a number from 0 to 65535")
    for option in ("store", "folder"):
        if getattr(args, option) == "":
            raise UserError(option if option == "folder" else "--store", "an empty name", "Name a folder")
    # Imported here for a quick start: they are slow to import.
    from validation.workbench.project.folder import open_project
    from validation.workbench.server import serve

    project = open_project(
        args.folder, args.store, scheduler=args.scheduler, jobs=jobs, allow_programs=args.allow_programs
    )
    return serve(project, address=args.address, port=args.port)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
