"""The command line ``gridval VERB ...``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from platforms.addons import is_there, provided
from platforms.command.status import exit_status
from platforms.errors import UserError
from validation.entrance.words import HELP, NAME

_KEPT = "validation.kept.help:shown"  # an add-on


def _print_version() -> int:
    # Imported here because it is slow to import.
    from importlib.metadata import version

    from platforms.simgrid.installed import simgrid_version

    try:
        simgrid = f"SimGrid {simgrid_version()}"
    except UserError as err:
        simgrid = f"no SimGrid: {err.where}: {err.problem}"
    print(f"{NAME} {version(NAME)} ({simgrid})")
    return 0


def _run(words: Sequence[str]) -> int:
    if list(words) == ["--version"]:
        return _print_version()
    if words and words[-1] in HELP and all(map(_is_verb, words[:-1])) and is_there(_KEPT):
        status: int = provided(_KEPT)(words, lambda: _chosen(words))
        return status
    return _chosen(words)


def _is_verb(word: str) -> bool:
    return word.replace("-", "a").isalpha() and not word.startswith("-")


def _chosen(words: Sequence[str]) -> int:
    # Imported here because help that is kept does not need it.
    from validation.entrance.choosing import Chosen, choose

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
