"""Options for the number of simulations at a time, the store of their records, and their time limit."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from apps.options.settings import WallLimitOption, wall_limit_from_request
from apps.results.cautions import Cautions
from apps.runs.limits import MEMORY_GB, TIME_S, EvidenceLimit
from apps.runs.run_progress import RunProgress
from platforms.addons import provided
from platforms.command.request import Request, option
from platforms.errors import UserError

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from apps.store import Store


@dataclass(frozen=True, kw_only=True)
class PoolOptions(Request):
    """Options for the number of jobs at a time and the store of their results."""

    pooled: ClassVar[str] = "simulations"  # what the jobs are

    jobs: int | None = option(None, "N", lambda request: _jobs_help(request))
    store: str | None = option(
        None, "DIR", "folder in which results are looked up and kept (default: in the cache folder)"
    )
    no_store: bool = option(False, help="look up and keep no results")


def _jobs_help(request: type[Request]) -> str:
    """Return the help of --jobs."""
    assert issubclass(request, PoolOptions)
    return f"{request.pooled} at a time (default: the number of cores)"


@dataclass(frozen=True, kw_only=True)
class RunnerOptions(PoolOptions, WallLimitOption):
    """Options for the number of simulations at a time, the store of their records, and their limits."""

    evidence_time: float = option(
        TIME_S,
        "S",
        "wall time that the recordings and messages of a prediction may take; 0: any; not on a machine (default "
        f"{TIME_S:g} s)",
        unit="s",
    )
    evidence_memory: float = option(
        MEMORY_GB,
        "GB",
        f"memory that the messages of a prediction may take; 0: any; not on a machine (default {MEMORY_GB:g} GB)",
        unit="GB",
    )


def checked_pool(request: PoolOptions) -> int:
    """Return the number of jobs at a time.

    Raises:
        UserError: The options do not fit together or are out of range.
    """
    jobs = (os.cpu_count() or 1) if request.jobs is None else request.jobs
    if jobs < 1:
        raise UserError(f"--jobs {jobs}", "not positive", "Give at least 1")
    if request.no_store and request.store is not None:
        raise UserError("--no-store", "does not go with --store", "Drop one")
    if request.store == "":
        raise UserError("--store", "an empty name", "Name a folder")
    return jobs


def evidence_limit_from_request(request: RunnerOptions) -> EvidenceLimit:
    """Return the limit of the evidence of a prediction.

    Raises:
        UserError: A value is negative or infinite.
    """
    for name, value in (("--evidence-time", request.evidence_time), ("--evidence-memory", request.evidence_memory)):
        if not 0 <= value < math.inf:
            raise UserError(f"{name} {value:g}", "not a limit", "Give a positive number, or 0 for any")
    return EvidenceLimit(request.evidence_time or math.inf, request.evidence_memory * 1e9 or math.inf)


def checked_runner(request: RunnerOptions) -> tuple[int, float | None]:
    """Return the number of simulations at a time, and the wall time in s that one may take (None: any).

    Raises:
        UserError: The options do not fit together or are out of range.
    """
    limit_s = wall_limit_from_request(request)
    return checked_pool(request), limit_s


@contextmanager
def store_from_request(request: PoolOptions) -> Iterator[Store | None]:
    """Yield the store that --store and --no-store choose.

    Raises:
        UserError: The folder cannot be used.
    """
    if request.no_store:
        yield None
        return
    # Imported here because it is slow to import.
    from apps.store import Store

    with Store(None if request.store is None else Path(request.store)) as store:
        yield store


@contextmanager
def runner_from_request(
    request: RunnerOptions,
    *,
    scheduler: tuple[str, ...] | None = None,
    cautions: Cautions | None = None,
    saying: bool = True,
) -> Iterator[Runner]:
    """Yield a Runner that reports its progress, and print the cautions of its runs at the end or on an interrupt.

    A KeyboardInterrupt is raised again with the number of kept runs.

    Args:
        request: How to run.
        scheduler: Address of a Dask scheduler whose workers simulate, and its certificates; None: this computer.
        cautions: Collects the cautions about all runs of the command; None: a new collection.
        saying: Print the cautions at the end; a command that prints its results first prints them itself.

    Raises:
        UserError: The options do not fit together or are out of range, or the scheduler does not answer.
    """
    said = Cautions() if cautions is None else cautions
    finished = None
    try:
        with _quiet_runner(request, scheduler, said) as runner:
            try:
                yield runner
            finally:
                finished = runner.finished
    except KeyboardInterrupt as err:
        said.say_all()
        if finished and not request.no_store:
            kept = "1 run is" if finished == 1 else f"{finished} runs are"
            raise KeyboardInterrupt(f"{kept} kept in the store") from err
        raise
    if saying:
        said.say_all()


@contextmanager
def _quiet_runner(request: RunnerOptions, scheduler: tuple[str, ...] | None, cautions: Cautions) -> Iterator[Runner]:
    """Yield a Runner that reports its progress but prints no cautions."""
    # Imported here because they are slow to import.
    from apps.runs.runner import Runner
    from apps.runs.simulate import simulate

    jobs, limit_s = checked_runner(request)
    limit = evidence_limit_from_request(request)
    progress = RunProgress()
    with ExitStack() as stack:
        stack.callback(progress.close)
        progress.start()
        store = stack.enter_context(store_from_request(request))
        if scheduler is None:
            bounded = partial(simulate, time_limit_s=limit_s, store=store)
        else:
            cluster = stack.enter_context(provided("apps.runs.dask_cluster:Cluster")(*scheduler))
            jobs = max(1, 2 * cluster.places)  # so that no slot waits for the next run
            bounded = partial(cluster.simulate, time_limit_s=limit_s)
        yield stack.enter_context(
            Runner(
                jobs=jobs,
                store=store,
                simulate=bounded,
                progress=progress,
                time_limit_s=limit_s,
                cautions=cautions,
                evidence_limit=limit,
            )
        )
