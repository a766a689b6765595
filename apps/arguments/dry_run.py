"""The option --dry-run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from apps.arguments.runner import check_runner_arguments
from platforms.files.caching import cache_folder
from platforms.terminal.prose import folded_lines

if TYPE_CHECKING:
    from apps.runs.plan import Plan


def add_dry_run_argument(parser: argparse._ActionsContainer, *, kept: bool = True) -> None:
    """Add the option --dry-run; the command then calls print_plan instead of running anything.

    Args:
        parser: The parser.
        kept: The command has evidence, and a store for it (the options of add_runner_arguments).
    """
    stored = ", how many of them the store has" if kept else ""
    cost = ", and what the evidence costs" if kept else ""
    time = f"{stored}{',' if kept else ' and'} how long {'the others' if kept else 'they'} may take"
    parser.add_argument("--dry-run", action="store_true", help=f"only say how many runs would be made{time}{cost}")


def print_plan(args: argparse.Namespace, plan: Plan, *, kept: bool = True) -> int:
    """Print what would be simulated, and return the exit status.

    Args:
        args: The values of the options, with those of add_runner_arguments if ``kept``.
        plan: The simulations.
        kept: As in add_dry_run_argument.

    Raises:
        UserError: Options of add_runner_arguments do not fit together or are out of range.
    """
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import plan_text
    from apps.store import Store
    from apps.store.database import DATABASE

    store, jobs = None, 1  # a command that makes a single run has no option --jobs
    if kept:
        jobs, _ = check_runner_arguments(args)
    if kept and not args.no_store:
        folder = cache_folder() / "store" if args.store is None else Path(args.store)
        store = Store(folder, read_only=True) if (folder / DATABASE).exists() else None
    said = plan_text(plan, store, jobs)
    print("\n".join(folded_lines(said.splitlines())))
    return 0
