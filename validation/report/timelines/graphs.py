"""The graph that a graph predictor has evaluated: times of its elements by call and cluster, and its critical path."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from platforms.addons import provided
from platforms.errors import UserError
from platforms.terminal.quantities import duration
from platforms.wording import number_of
from predictor.dpgraph.predictors import GraphModel
from predictor.graph.timed import name_of
from predictor.graph.timeline import timeline_figure
from validation.report.gather import Gathered, GraphNote
from validation.report.pictures import Picture
from validation.report.sections import Progress, Section
from validation.report.svg import inline_svg
from validation.report.tables import Cell, Table, number, numbers, table, words

if TYPE_CHECKING:
    import pandas as pd

    from predictor.graph.on_platform import Analysis
    from predictor.graph.timed import ElementTime, TimedGraph

MOST_GRAPHS = 6
MOST_INSTRUCTIONS = 2_000_000  # of a graph that is evaluated again for the page, which takes some seconds
_MOST_CLUSTERS = 8  # columns
INTRODUCTION = (
    "The graph predictor's evaluation gives every element of the program its time: computations, messages and "
    "collectives, by the place in the program that calls MPI, or that computes. The time of an element contains "
    "waiting; T_exec is the largest sum of a process.",
)


@dataclass(frozen=True)
class GraphPart:
    """The contents of the page about one graph."""

    text: str
    tables: list[Table]
    picture: Picture
    notes: list[str]


def steps(gathered: Gathered) -> int:
    """Return the number of graphs that are evaluated."""
    return min(MOST_GRAPHS, len(gathered.graphs))


def script() -> str:
    """Return the JavaScript that the section needs, which is none."""
    return ""


def sections(gathered: Gathered, results: pd.DataFrame, progress: Progress) -> list[Section]:
    """Return the section of what the graph predictors say about elements, if one of them has answered."""
    if not gathered.graphs:
        return []
    section = Section("graph", "The predicted graph", list(INTRODUCTION))
    for place, note in enumerate(gathered.graphs[:MOST_GRAPHS]):
        progress(f"graph of {note.target}")
        made = graph_part(note, place)
        if isinstance(made, str):
            section.notes.append(made)
            continue
        section.text.append(made.text)
        section.tables += made.tables
        section.pictures.append(made.picture)
        section.notes += made.notes
    if len(gathered.graphs) > MOST_GRAPHS:
        names = (note.target.problem.name for note in gathered.graphs[MOST_GRAPHS:])
        section.notes.append(f"Not shown: {', '.join(names)}.")
    return [section]


def graph_part(note: GraphNote, place: int) -> GraphPart | str:
    """Return what the page says about a graph, or the reason why it says nothing.

    Args:
        note: The answer.
        place: The number of the graph in the page.
    """
    # Imported here because it is slow to import.
    from predictor.registry import predictor

    what = f"{note.target}, by {note.predictor}"
    model = predictor(note.predictor).fit(note.evidence)
    assert isinstance(model, GraphModel)
    instructions = len(model.sections(note.target).program().code)
    if instructions > MOST_INSTRUCTIONS:
        return f"{what}: not shown, because its graph has {instructions:,} instructions."
    try:
        analysis = provided("predictor.graph.on_platform:analysis_of_model")(model, note.target)
    except UserError as err:
        return f"{what}: {err}"
    if not analysis.timed.time_s > 0:
        return f"{what}: nothing takes time."
    tables = [
        _clusters(analysis, what, place),
        _elements(analysis.timed, what, place),
        _path(analysis.timed, what, place),
    ]
    if len(set(analysis.timed.clusters)) > 1:
        tables.insert(2, _by_cluster(analysis.timed, what, place))
    return GraphPart(
        _text(analysis, note),
        tables,
        _picture(analysis, what, place),
        [f"{what}: {caution}." for caution in analysis.cautions],
    )


def _text(analysis: Analysis, note: GraphNote) -> str:
    timed = analysis.timed
    part = "" if not analysis.iterations else f" of {number_of(analysis.iterations, 'recorded iteration')}"
    last = max(timed.processes, key=lambda process: -process.ended_s)
    return (
        f"{note.target}, by {note.predictor}: T_exec{part} is {duration(timed.time_s)}, and rank {last.rank} on "
        f"{timed.placement[last.rank]} ends last. The predicted time of the whole run is {duration(note.predicted_s)}."
    )


def _picture(analysis: Analysis, what: str, place: int) -> Picture:
    title = f"{what}: predicted times of the processes"
    svg = inline_svg(timeline_figure(analysis.timed), f"dpgraph{place}", title=title)
    caption = (
        f"{title}, and the critical path: a chain of computations and messages whose times add up to T_exec. It "
        "crosses from rank to rank with the messages that others wait for."
    )
    return Picture(f"graph-{place}", svg, caption, _processes(analysis.timed, what, place))


def _processes(timed: TimedGraph, what: str, place: int) -> Table:
    columns = numbers("computes, ms", "waits for others, ms", "messages, ms", "ended, ms", "idle, ms")
    rows: list[list[Cell | str]] = [
        [str(process.rank), timed.placement[process.rank],
         *(_ms(time_s) for time_s in
           (process.compute_s, process.late_s, process.message_s, process.ended_s, process.idle_s))]
        for process in timed.processes
    ]  # fmt: skip
    return table(f"graph-{place}-processes", f"{what}: processes", [*numbers("rank"), *words("host"), *columns], rows)


def _clusters(analysis: Analysis, what: str, place: int) -> Table:
    titles = ("computes, %", "waits for others, %", "messages, %", "ended, %", "idle, %", "on the critical path, %")
    rows: list[list[Cell | str]] = []
    for times in analysis.timed.cluster_times():
        shares = (
            times.compute_share, times.late_share, times.message_share,
            times.ended_share, times.idle_share, times.critical_share,
        )  # fmt: skip
        slack = (_ms(times.least_slack_s), _ms(times.mean_slack_s))
        rows.append(
            [
                times.cluster,
                number(times.processes, "{:,}"),
                *(number(100 * share, "{:.3g}") for share in shares),
                *slack,
            ]
        )
    caption = f"{what}: time of the clusters' processes as shares of T_exec, and slack of their computations"
    columns = [*words("cluster"), *numbers("ranks", *titles, "least slack, ms", "mean slack, ms")]
    return table(f"graph-{place}-clusters", caption, columns, rows)


_Site = tuple[str, str]  # an element's name and its place in the program


def _by_site(timed: TimedGraph) -> dict[_Site, list[tuple[int, ElementTime]]]:
    """Return the elements of each kind and place with their processes, those with the largest sum of times first."""
    by_site: defaultdict[_Site, list[tuple[int, ElementTime]]] = defaultdict(list)
    for (node, rank), element in timed.elements.items():
        named = timed.graph.nodes[node]
        by_site[name_of(named), named.place or "not known"].append((rank, element))
    return dict(sorted(by_site.items(), key=lambda item: -_sum_s(item[1])))


def _sum_s(elements: list[tuple[int, ElementTime]]) -> float:
    return sum(element.time_s for _, element in elements)


def _elements(timed: TimedGraph, what: str, place: int) -> Table:
    rows: list[list[Cell | str]] = []
    for (name, where), elements in _by_site(timed).items():
        total_s, most_s = _sum_s(elements), max(element.time_s for _, element in elements)
        late_s, slack_s = (
            sum(element.late_s for _, element in elements),
            min(element.slack_s for _, element in elements),
        )
        each_s = (
            total_s / len(elements),
            most_s,
            total_s / len(timed.placement),
            late_s / len(timed.placement),
            slack_s,
        )
        rows.append([name, where, number(len(elements), "{:,}"), *map(_ms, each_s)])
    caption = f"{what}: elements by place in the program"
    titles = ("number", "mean, ms", "largest, ms", "per process, ms", "of it waiting for others, ms", "least slack, ms")
    return table(f"graph-{place}-elements", caption, [*words("element", "place"), *numbers(*titles)], rows)


def _by_cluster(timed: TimedGraph, what: str, place: int) -> Table:
    clusters = list(dict.fromkeys(timed.clusters))
    shown = clusters[:_MOST_CLUSTERS]
    rows: list[list[Cell | str]] = []
    for (name, where), elements in _by_site(timed).items():
        sums_s: defaultdict[str, float] = defaultdict(float)
        for rank, element in elements:
            sums_s[timed.clusters[rank]] += element.time_s
        rows.append([name, where, *(_ms(sums_s[cluster] / timed.clusters.count(cluster)) for cluster in shown)])
    caption = f"{what}: time of the elements per process of each cluster, ms"
    if len(shown) < len(clusters):
        caption += f", of the first {len(shown)} clusters"
    return table(f"graph-{place}-by-cluster", caption, [*words("element", "place"), *numbers(*shown)], rows)


def _path(timed: TimedGraph, what: str, place: int) -> Table:
    rows: list[list[Cell | str]] = [
        [part.what, part.place or "not known", number(part.count, "{:,}"), _ms(part.time_s),
         number(100 * part.time_s / timed.time_s, "{:.3g}")]
        for part in timed.path_parts()
    ]  # fmt: skip
    columns = [*words("element", "place"), *numbers("number", "time, ms", "of T_exec, %")]
    return table(f"graph-{place}-path", f"{what}: critical path", columns, rows)


def _ms(time_s: float) -> Cell:
    return number(1000 * time_s)
