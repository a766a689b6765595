"""The option --dry-run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from apps.options.runner import RunnerOptions, checked_runner
from platforms.command.request import Request, option
from platforms.files.caching import cache_folder
from platforms.terminal.prose import folded_lines

if TYPE_CHECKING:
    from apps.runs.plan import Plan


@dataclass(frozen=True, kw_only=True)
class DryRunOption(Request):
    """The option --dry-run; the command then calls print_plan instead of running anything."""

    kept: ClassVar[bool] = True  # the command uses evidence, and a store for it (RunnerOptions)

    dry_run: bool = option(False, help=lambda request: _dry_run_help(request))


def _dry_run_help(request: type[Request]) -> str:
    """Return the help of --dry-run."""
    assert issubclass(request, DryRunOption)
    stored = ", how many of them the store has" if request.kept else ""
    cost = ", and what the evidence costs" if request.kept else ""
    time = f"{stored}{',' if request.kept else ' and'} how long {'the others' if request.kept else 'they'} may take"
    return f"only say how many runs would be made{time}{cost}"


def print_plan(request: Request, plan: Plan) -> int:
    """Print what would be simulated, and return the exit status.

    Args:
        request: What was asked, with RunnerOptions where the command has a store.
        plan: The simulations.

    Raises:
        UserError: Options do not fit together or are out of range.
    """
    # Imported here because they are slow to import.
    from apps.runs.plan import plan_text
    from apps.store import Store
    from apps.store.database import DATABASE

    store, jobs = None, 1  # a command that makes a single run has no option --jobs
    if isinstance(request, RunnerOptions):
        jobs, _ = checked_runner(request)
    if isinstance(request, RunnerOptions) and not request.no_store:
        folder = cache_folder() / "store" if request.store is None else Path(request.store)
        store = Store(folder, read_only=True) if (folder / DATABASE).exists() else None
    said = plan_text(plan, store, jobs)
    print("\n".join(folded_lines(said.splitlines())))
    return 0
