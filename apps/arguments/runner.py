"""Options for the number of simulations at a time, the store of their records, and their time limit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from apps.arguments.settings import add_wall_limit_argument, wall_limit_from_arguments
from apps.results.cautions import Cautions
from apps.runs.run_progress import RunProgress
from platforms.errors import UserError

if TYPE_CHECKING:
    from apps.runs.runner import Runner


def add_runner_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the options --jobs, --store, --no-store and --wall-limit, which runner_from_arguments reads."""
    parser.add_argument("--jobs", type=int, metavar="N", help="simulations at a time (default: the number of cores)")
    parser.add_argument(
        "--store", metavar="DIR", help="folder in which records are looked up and kept (default: in the cache folder)"
    )
    parser.add_argument("--no-store", action="store_true", help="simulate every run anew and keep no records")
    add_wall_limit_argument(parser, "--wall-limit")


def check_runner_arguments(args: argparse.Namespace) -> tuple[int, float | None]:
    """Return the number of simulations at a time, and the wall time in s that one may take (None: any).

    Raises:
        UserError: The options do not fit together or are out of range.
    """
    limit_s = wall_limit_from_arguments(args)
    jobs: int = (os.cpu_count() or 1) if args.jobs is None else args.jobs
    if jobs < 1:
        raise UserError(f"--jobs {jobs}", "not positive", "Give at least 1")
    if args.no_store and args.store is not None:
        raise UserError("--no-store", "does not go with --store", "Drop one")
    if args.store == "":
        raise UserError("--store", "an empty name", "Name a folder")
    return jobs, limit_s


@contextmanager
def runner_from_arguments(
    args: argparse.Namespace, *, scheduler: str | None = None, cautions: Cautions | None = None, saying: bool = True
) -> Iterator[Runner]:
    """Yield a Runner that reports its progress, and print the cautions of its runs at the end, or on an interrupt.

    The KeyboardInterrupt that goes on then says how many runs are kept.

    Args:
        args: The values of the options of add_runner_arguments.
        scheduler: Address of a Dask scheduler whose workers simulate; None: this computer simulates.
        cautions: Collects the cautions about all runs of the command; None: a new collection.
        saying: Print the cautions at the end; a command that prints its results first prints them itself.

    Raises:
        UserError: The options do not fit together or are out of range, or the scheduler does not answer.
    """
    said = Cautions() if cautions is None else cautions
    finished = None
    try:
        with _quiet_runner(args, scheduler, said) as runner:
            try:
                yield runner
            finally:
                finished = runner.finished
    except KeyboardInterrupt as err:
        said.say_all()
        if finished and not args.no_store:
            kept = "1 run is" if finished == 1 else f"{finished} runs are"
            raise KeyboardInterrupt(f"{kept} kept in the store") from err
        raise
    if saying:
        said.say_all()


@contextmanager
def _quiet_runner(args: argparse.Namespace, scheduler: str | None, cautions: Cautions) -> Iterator[Runner]:
    """Yield a Runner that reports its progress but prints no cautions."""
    # Imported here for a quick start: they are slow to import.
    from apps.runs.runner import Runner
    from apps.runs.simulate import simulate
    from apps.store import Store

    jobs, limit_s = check_runner_arguments(args)
    progress = RunProgress()
    with ExitStack() as stack:
        stack.callback(progress.close)
        progress.start()
        store = None
        if not args.no_store:
            store = stack.enter_context(Store(Path(args.store) if args.store is not None else None))
        if scheduler is None:
            bounded = partial(simulate, time_limit_s=limit_s, store=store)
        else:
            # Imported here for a quick start: it is slow to import.
            from apps.runs.dask_cluster import Cluster

            cluster = stack.enter_context(Cluster(scheduler))
            jobs = max(1, 2 * cluster.places)  # so that no place waits for the next run
            bounded = partial(cluster.simulate, time_limit_s=limit_s)
        yield stack.enter_context(
            Runner(jobs=jobs, store=store, simulate=bounded, progress=progress, time_limit_s=limit_s, cautions=cautions)
        )
