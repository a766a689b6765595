"""The command line ``gridval VERB ...``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from platforms.addons import provided
from platforms.command.status import exit_status
from platforms.errors import UserError
from platforms.simgrid.installed import simgrid_version
from validation.entrance.choosing import NAME, Chosen, choose


def _print_version() -> int:
    # Imported here because it is slow to import.
    from importlib.metadata import version

    try:
        simgrid = f"SimGrid {simgrid_version()}"
    except UserError as err:
        simgrid = f"no SimGrid: {err.where}: {err.problem}"
    print(f"{NAME} {version(NAME)} ({simgrid})")
    return 0


def _run(words: Sequence[str]) -> int:
    if list(words) == ["--version"]:
        return _print_version()
    chosen = choose(words)
    if isinstance(chosen, Chosen):
        return chosen.main()
    print(chosen)
    return 0 if words else 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions of a line
        provided("validation.entrance.completion:complete")(os.environ["COMP_LINE"])
    words = sys.argv[1:] if argv is None else argv
    return exit_status(lambda: _run(words))
