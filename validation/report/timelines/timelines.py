"""Pictures of one iteration of one target per program, recorded for the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from apps.errors import SimulationError
from apps.results.steady import FIRST_TRY
from apps.timelines.timeline import Activity, Timeline, record_timeline
from platforms.errors import UserError
from platforms.plotting.charts import Figure
from platforms.plotting.gantt import BINS, gantt_figure
from validation.report.gather import Gathered, ListedRun, ReportedTarget
from validation.report.pictures import Picture
from validation.report.sections import Progress, Section
from validation.report.svg import inline_svg
from validation.report.tables import Cell, Table, number, numbers, table, words
from validation.report.timelines.intervals import KINDS, timeline_json

if TYPE_CHECKING:
    import pandas as pd

MOST_TIMELINES = 6
MOST_WALL_S = 30.0  # longest recording, by a rough estimate
# Messages that are simulated and recorded per second with few ranks, and the number of ranks that halves this rate.
_MESSAGES_PER_S, _RANKS_HALVING = 1e5, 250
_TIME_LIMIT_S = 300.0  # wall time limit of a recording, regardless of the estimate
_PALE = 0.3  # opacity of neighbouring iterations
_MOST_RANKS = 64  # ranks in the table of a timeline; with more, its rows are clusters


def steps(gathered: Gathered) -> int:
    """Return the number of recordings."""
    return min(MOST_TIMELINES, len({case.target.problem.name for case in gathered.cases}))


def script() -> str:
    """Return the JavaScript that makes timelines move."""
    return files("validation.report.timelines").joinpath("timeline.js").read_text("utf-8")


def sections(gathered: Gathered, results: pd.DataFrame, progress: Progress) -> list[Section]:
    """Return the section of the timelines; kept results have none."""
    if gathered.kept:
        return []
    section = Section("timelines", "Timelines of one iteration")
    if gathered.interrupted is not None:
        section.notes.append("Not recorded: the run was interrupted.")
    elif all(case.measured for case in gathered.cases):
        section.notes.append("Measured times have no timelines of the ranks.")
    else:
        section.take(timeline_pictures(gathered, progress=progress))
    return [section]


def timeline_pictures(gathered: Gathered, *, progress: Progress) -> Iterator[Picture | str]:
    """Yield a picture of each program's first target, or the reason why there is none."""
    first: dict[str, tuple[ReportedTarget, ListedRun]] = {}
    for case in gathered.cases:
        if case.run is not None:
            first.setdefault(case.target.problem.name, (case, case.run))
    if len(first) > MOST_TIMELINES:
        yield f"Not drawn: {', '.join(list(first)[MOST_TIMELINES:])}."
    for place, (case, run) in enumerate(list(first.values())[:MOST_TIMELINES]):
        what = str(case.target)
        iterations, wall_s = _recording_size(run)
        if wall_s > MOST_WALL_S:
            yield f"{what}: not recorded, because recording would take about {wall_s:,.0f} s."
            continue
        progress(f"recording {what}")
        try:
            timeline = record_timeline(run.spec, iterations=iterations, time_limit_s=_TIME_LIMIT_S)
        except (UserError, SimulationError) as err:
            yield f"{what}: could not be recorded: {err}"
            continue
        yield _picture(timeline, case, run, what, place)


def _recording_size(run: ListedRun) -> tuple[int, float]:
    """Return the number of iterations to record and a rough estimate of the wall time, s.

    The number is that of the run, except that a long run simulated in full is recorded only in part.
    """
    target = run.spec.target
    iterations = run.iterations if run.iterations < target.iterations else min(FIRST_TRY, target.iterations)
    messages = run.messages * iterations / max(1, run.iterations)
    return iterations, messages * (1 + target.nranks / _RANKS_HALVING) / _MESSAGES_PER_S


def _picture(timeline: Timeline, case: ReportedTarget, run: ListedRun, what: str, place: int) -> Picture:
    target = case.target
    clusters = [target.platform.cluster_of(host).name for host in target.placement]
    title, text = _title_and_caption(timeline, case, run, what)
    svg = inline_svg(timeline_figure(timeline, clusters), f"g{place}", title=title)
    data = _activity_table(timeline, target.placement, clusters, what, place)
    live = timeline_json(timeline, target.placement, clusters)
    return Picture(f"timeline-{place}", svg, text, data, timeline=live)


def timeline_figure(timeline: Timeline, clusters: Sequence[str]) -> Figure:
    """Return a chart of what each rank does, in which neighbouring iterations are pale.

    Args:
        timeline: The recorded iteration.
        clusters: The name of each rank's cluster.
    """
    begin_s, end_s = timeline.span_s
    middles_s = begin_s + (np.arange(BINS) + 0.5) * (end_s - begin_s) / BINS
    inside = (middles_s >= timeline.begin_s[:, None]) & (middles_s <= timeline.end_s[:, None])
    kinds = [KINDS[activity] for activity in Activity]
    x, opacity = "time since the first rank began", np.where(inside, 1.0, _PALE)
    return gantt_figure(timeline.shares(BINS), kinds, end_s - begin_s, clusters, x=x, opacity=opacity)


def _title_and_caption(timeline: Timeline, case: ReportedTarget, run: ListedRun, what: str) -> tuple[str, str]:
    """Return title and caption."""
    begin_s, end_s = timeline.span_s
    if timeline.iteration is None:
        title = f"{what}: the whole run"
        text = f"{title}, {end_s - begin_s:.4g} s."
    else:
        title = f"{what}: one iteration"
        text = (
            f"{title}, number {timeline.iteration} of {timeline.simulated} recorded; {end_s - begin_s:.4g} s from the "
            "first rank that begins it to the last that ends it"
        )
        text += f", {case.period_s:.4g} s from one iteration to the next." if case.period_s else "."
    total_s = timeline.spent_s.sum()
    share_pct = 100 * timeline.spent_s[:, Activity.COMPUTATION].sum() / total_s if total_s else 0.0
    text += f" Ranks compute for {share_pct:.1f} % of the time, on average."
    text += "" if timeline.iteration is None else " Pale colours: other iterations."
    if run.spec.compute == "measured":
        text += " Recorded in a separate run: measured computation varies from run to run."
    return title, text


def _activity_table(
    timeline: Timeline, placement: Sequence[str], clusters: Sequence[str], what: str, place: int
) -> Table:
    """Return the table of a timeline by rank, or by cluster if there are many ranks."""
    name, caption = f"timeline-{place}-data", f"{what}: time by activity"
    columns = numbers("computation, ms", "messages, ms", "collectives, ms")
    spent_ms = 1000 * timeline.spent_s
    if timeline.nranks <= _MOST_RANKS:
        by_rank: list[list[Cell | str]] = [
            [str(rank), host, *(number(value) for value in row_ms)]
            for rank, (host, row_ms) in enumerate(zip(placement, spent_ms.tolist(), strict=True))
        ]
        return table(name, caption, [*numbers("rank"), *words("host"), *columns], by_rank)
    rows: list[list[Cell | str]] = []
    for cluster in dict.fromkeys(clusters):
        ranks = [rank for rank, rank_cluster in enumerate(clusters) if rank_cluster == cluster]
        means_ms = spent_ms[ranks].mean(axis=0).tolist()
        rows.append([cluster, number(len(ranks), "{:,}"), *(number(value) for value in means_ms)])
    caption += ", mean of the ranks of a cluster"
    return table(name, caption, [*words("cluster"), *numbers("ranks"), *columns], rows)
