"""Times of a graph on a platform as text and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import table_lines
from platforms.wording import number_of
from predictor.graph.balance import Balance
from predictor.graph.li_times import LiTimes
from predictor.graph.on_platform import Analysis
from predictor.graph.timed import PathPart
from predictor.graph.what_if import Answers

UNKNOWN_LATENCY = (
    "links: as messages show them; saves: with the largest latency that each may have; or: with the least one"
)
_MOST_ROWS = 12  # of a table on the terminal; JSON has all


def analysis_text(analysis: Analysis, *, wide: bool = False) -> str:
    """Return the report: T_exec, the time of the clusters, the critical path, and the answers to "what if".

    Args:
        analysis: The analysis.
        wide: The tables may be wider than the terminal.
    """
    timed = analysis.timed
    part = "" if not analysis.iterations else f" of {number_of(analysis.iterations, 'iteration')}"
    lines = prose_lines(f"{analysis.target}: {_t_exec(analysis)}{part} = {duration(timed.time_s)}{_whole(analysis)}")
    lines += ["", "Time of the clusters' processes, % of T_exec, and slack of their computations"]
    rows: list[tuple[str, ...]] = [
        ("cluster", "ranks", "busy", "waiting", "message", "ended", "idle", "on path", "slack", "mean")
    ]
    for cluster_time in timed.cluster_times():
        shares = (
            *(cluster_time.compute_share, cluster_time.late_share, cluster_time.message_share),
            *(cluster_time.ended_share, cluster_time.idle_share, cluster_time.critical_share),
        )
        slack = duration(cluster_time.least_slack_s), duration(cluster_time.mean_slack_s)
        rows.append(
            (cluster_time.cluster, str(cluster_time.processes), *(percent(100 * share) for share in shares), *slack)
        )
    lines += table_lines(rows, left={0}, wide=wide)
    lines += prose_lines(
        "busy: computing; waiting: for another process; message: for a message in flight; ended: before the "
        "last process; idle: these three; on path: share of the critical path; slack: the least one, and the mean"
    )
    lines += ["", *_path_lines(timed.path_parts(), timed.time_s, "T_exec", wide=wide)]
    if analysis.answers is not None:
        lines += ["", *_answer_lines(analysis.answers, wide=wide)]
    if analysis.balance is not None:
        lines += ["", *balance_lines(analysis.balance, wide=wide)]
    return "\n".join(lines)


def balance_lines(made: Balance, *, wide: bool = False) -> list[str]:
    """Return what other divisions of the work would save as the lines of a table."""
    divisions = (made.now, *made.others)
    rows: list[tuple[str, ...]] = [
        ("cluster", "processes", *(f"{division.name}, %" for division in divisions)),
        *(
            (name, str(len(ranks)), *(percent(100 * sum(d.share[rank] for rank in ranks)) for d in divisions))
            for name, ranks in made.by_cluster.items()
        ),
        ("time of the run", "", *(duration(division.time_s) for division in divisions)),
    ]
    said = "nothing" if made.best is made.now else f"{percent(100 * made.saved_share)} %, divided {made.best.name}"
    return [
        *prose_lines("Share of the work at equal messages: divided by the speed of cores, or by time, with messages"),
        *table_lines(rows, left={0}, wide=wide),
        *prose_lines(f"Moving work between the processes would save {said}"),
    ]


def balance_json(balance: Balance) -> dict[str, Any]:
    """Return the divisions of the work and the saving of the best one as JSON values."""
    return {**asdict(balance), "best": balance.best.name, "saved_share": balance.saved_share}


def analysis_json(analysis: Analysis) -> dict[str, Any]:
    """Return the report as JSON values, with every process and every part of the critical path."""
    timed, prefix = analysis.timed, "" if analysis.what == "time" else "communication_"
    return {
        "target": str(analysis.target),
        "iterations": analysis.iterations,
        f"{prefix}t_exec_s": timed.time_s,
        f"{prefix}whole_s": analysis.whole_s,
        "clusters": [
            {**asdict(cluster_time), "idle_share": cluster_time.idle_share} for cluster_time in timed.cluster_times()
        ],
        "per_process": [{**asdict(process), "idle_s": process.idle_s} for process in timed.processes],
        "critical_path": [asdict(part) for part in timed.path_parts()],
        "critical_nodes": list(timed.critical_nodes),
        "what_if": None if analysis.answers is None else asdict(analysis.answers),
        "balance": None if analysis.balance is None else balance_json(analysis.balance),
    }


def li_text(times: LiTimes, *, iterations: int, wide: bool = False) -> str:
    """Return the report of the paper's own times.

    Args:
        times: The graph with its times.
        iterations: The iterations in it; 0: they are not marked.
        wide: The tables may be wider than the terminal.
    """
    part = "" if not iterations else f" of {number_of(iterations, 'iteration')}"
    lines = prose_lines(
        f"{times.target}: T_exec{part} = {duration(times.t_exec_s)}, the largest sum of a process's own times, "
        f"those of its sends and receives by the lines of their modes (sections 3.2 and 4.2); by Figure 4, with "
        f"messages in flight, the longest chain takes {duration(times.path.time_s)} (no shared links)"
    )
    rows: list[tuple[str, ...]] = [("path", "c1, ns/byte", "k_b, ns/byte", "c2, ns/byte", "k_l")]
    for name, component in times.components.items():
        parts = (component.c1_s_per_byte, component.k_b_s_per_byte, component.c2_s_per_byte)
        rows.append((name, *(f"{round(1e9 * value, 3) + 0.0:.3f}" for value in parts), duration(component.k_l_s)))
    lines += ["", "Components of a message in standard mode (Figure 4)", *table_lines(rows, left={0}, wide=wide)]
    lines += ["", *_path_lines(times.path_parts(), times.path.time_s, "the chain", wide=wide)]
    return "\n".join(lines)


def li_json(times: LiTimes, *, iterations: int) -> dict[str, Any]:
    """Return the report of the paper's own times as JSON values."""
    return {
        "target": str(times.target),
        "iterations": iterations,
        "t_exec_s": times.t_exec_s,
        "chain_s": times.path.time_s,
        "components": {name: asdict(component) for name, component in times.components.items()},
        "process_s": list(times.process_s),
        "critical_path": [asdict(part) for part in times.path_parts()],
        "critical_nodes": list(times.path.nodes),
    }


def _t_exec(analysis: Analysis) -> str:
    return "T_exec" if analysis.what == "time" else f"T_exec, a {analysis.what},"


def _whole(analysis: Analysis) -> str:
    if analysis.whole_s is None:
        return "; too few iterations were recorded for the time of all"
    what = "" if analysis.what == "time" else f" of {analysis.what}"
    return f"; the whole run takes {duration(analysis.whole_s)}{what}"


def _path_lines(parts: Sequence[PathPart], whole_s: float, whole: str, *, wide: bool) -> list[str]:
    rows = [("element", "place in the program", "times", "time", f"% of {whole}")]
    for part in parts[:_MOST_ROWS]:
        share = percent(100 * part.time_s / whole_s) if whole_s else "-"
        rows.append((part.what, part.place or "-", str(part.count), duration(part.time_s), share))
    lines = ["Critical path by element", *table_lines(rows, left={0, 1}, wide=wide)]
    return lines + _more(len(parts))


def _answer_lines(answers: Answers, *, wide: bool) -> list[str]:
    bounded = any(answer.otherwise_saved_s is not None for answer in answers.answers)
    rows = [("what", "which", "time", "saves", *(["or"] if bounded else []), "%", "bandwidth alone", "latency alone")]
    for answer in answers.answers[:_MOST_ROWS]:
        row = [duration(answer.time_s), duration(answer.saved_s), percent(100 * answer.saved_share, signed=True)]
        if bounded:
            row.insert(2, duration(answer.saved_s if answer.otherwise_saved_s is None else answer.otherwise_saved_s))
        alone = (answer.bandwidth_saved_s, answer.latency_saved_s)
        row += ["" if saved_s is None else duration(saved_s) for saved_s in alone]
        rows.append((answer.kind, answer.name, *row))
    lines = [*answers_title(answers), *table_lines(rows, left={0, 1}, wide=wide), *_more(len(answers.answers))]
    if bounded:
        lines += prose_lines(UNKNOWN_LATENCY)
    for kind, count in answers.untried.items():
        lines += prose_lines(f"{number_of(count, kind)} with less to do: not tried")
    return lines


def answers_title(answers: Answers) -> list[str]:
    """Return the title of the table of answers, which says of what their times are."""
    run = f"the run of {number_of(answers.iterations, 'iteration')}" if answers.iterations else "T_exec"
    return prose_lines(
        f"What if one of them were {answers.factor:g} times as fast, the largest saving first: {run} takes "
        f"{duration(answers.time_s)}"
    )


def _more(rows: int) -> list[str]:
    return [f"... and {rows - _MOST_ROWS} more, which --json shows"] if rows > _MOST_ROWS else []
