"""Requests to a worker that show what is behind results: the timeline of a run, and the report of a suite."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from apps.results.steady import FIRST_TRY
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.store import Store
from apps.timelines.timeline import Activity, Timeline, record_timeline
from platforms.errors import UserError
from validation.report.gather import Invocation
from validation.report.reporter import Reporter
from validation.report.timelines.intervals import timeline_json
from validation.workbench.work.campaigns import campaign_of, case_of

MOST_REPORTED = 2000  # runs of a report
RECORDING_S = 120.0  # longest recording of a timeline
_MOST_RANKS = 64  # rows of the table of a timeline; with more ranks its rows are clusters


def timeline(folder: Path, text: str, case: int, known: str) -> Iterator[dict[str, Any]]:
    """Yield the timeline of one iteration of a run, which is recorded in a simulation of its own.

    Args:
        folder: The project folder.
        text: The suite.
        case: The number of the run in the suite.
        known: The hash of the run's platform when it was queued.

    Raises:
        UserError: The platform has changed since, or the run cannot be recorded.
    """
    chosen = case_of(folder, text, case, known)
    target, spec = chosen.target, chosen.settings.spec(chosen.target)
    iterations = min(FIRST_TRY, target.iterations)
    recorded = record_timeline(spec, iterations=iterations, time_limit_s=RECORDING_S)
    clusters = [target.platform.cluster_of(host).name for host in target.placement]
    begin_s, end_s = recorded.span_s
    yield {
        "title": str(target),
        "iteration": recorded.iteration,
        "recorded": recorded.simulated,
        "span_s": end_s - begin_s,
        "clusters": list(dict.fromkeys(clusters)),
        "rows": _spent(recorded, target.placement, clusters),
        "data": json.loads(timeline_json(recorded, target.placement, clusters)),
    }


def _spent(recorded: Timeline, hosts: tuple[str, ...], clusters: list[str]) -> list[list[Any]]:
    """Return rows with a name, a number of ranks, and the mean time of each activity, s: ranks, or clusters."""
    spent_s = recorded.spent_s
    if recorded.nranks <= _MOST_RANKS:
        return [[f"rank {rank} on {hosts[rank]}", 1, *spent_s[rank].tolist()] for rank in range(recorded.nranks)]
    rows: list[list[Any]] = []
    for cluster in dict.fromkeys(clusters):
        of_cluster = [rank for rank, rank_cluster in enumerate(clusters) if rank_cluster == cluster]
        rows.append(
            [
                f"cluster {cluster}",
                len(of_cluster),
                *(float(spent_s[of_cluster, activity].mean()) for activity in Activity),
            ]
        )
    return rows


def report(
    folder: Path, text: str, store: str, path: str, name: str, *, tell: Callable[[dict[str, Any]], None]
) -> Iterator[dict[str, Any]]:
    """Write the report page of a suite whose runs are in the store, and yield how far it is.

    Args:
        folder: The project folder.
        text: The suite.
        store: Folder of the store; runs that it has lost are simulated again.
        path: The page.
        name: The name of the suite.
        tell: Takes the same answers as those that are yielded, for what is not done in steps here.

    Raises:
        UserError: The suite has more than MOST_REPORTED runs.
    """
    campaign = campaign_of(folder, text)
    if len(campaign.cases) > MOST_REPORTED:
        remedy = f"Run: gridval series campaign suites/{name}.toml --report FILE.html"
        raise UserError("report", f"{len(campaign.cases)} runs, more than {MOST_REPORTED}", remedy)
    command = ("gridval", "series", "campaign", f"suites/{name}.toml", "--report", "FILE.html")
    invocation = Invocation(command, (f"suites/{name}.toml", text))
    with (
        Store(Path(store)) as kept,
        Runner(jobs=1, store=kept, simulate=partial(simulate, store=kept)) as runner,
        Reporter(
            path, invocation, keep_part=False, progress=lambda what, done, of: tell(_progress(what, done, of))
        ) as reporter,
    ):
        total = campaign.predictions
        for at, (case, outcome) in enumerate(campaign.outcomes(runner, witness=reporter.witness), start=1):
            reporter.add(case, outcome)
            yield _progress("predictions", at, total)


def _progress(what: str, at: int, total: int) -> dict[str, Any]:
    return {"what": what.removeprefix("report: "), "at": at, "total": total}
