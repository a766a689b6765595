"""Times of a graph on a platform as text and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import table_lines
from platforms.wording import number_of
from predictor.graph.li_times import LiTimes
from predictor.graph.on_platform import Analysis
from predictor.graph.timed import PathPart
from predictor.graph.what_if import Answers

UNKNOWN_LATENCY = (
    "links: as messages show them; saves: with the largest latency that each may have; or: with the least one"
)
_MOST_ROWS = 12  # of a table on the terminal; JSON has all


def analysis_text(found: Analysis, *, wide: bool = False) -> str:
    """Return the report: T_exec, the time of the clusters, the critical path, and the answers to "what if".

    Args:
        found: The analysis.
        wide: The tables may be wider than the terminal.
    """
    timed = found.timed
    part = "" if not found.iterations else f" of {number_of(found.iterations, 'iteration')}"
    lines = prose_lines(f"{found.target}: T_exec{part} = {duration(timed.time_s)}{_whole(found)}")
    lines += ["", "Time of the clusters' processes, % of T_exec, and slack of their computations"]
    rows: list[tuple[str, ...]] = [
        ("cluster", "ranks", "busy", "waiting", "message", "ended", "idle", "on path", "slack", "mean")
    ]
    for one in timed.cluster_times():
        shares = (
            one.compute_share, one.late_share, one.message_share, one.ended_share, one.idle_share, one.critical_share
        )  # fmt: skip
        slack = duration(one.least_slack_s), duration(one.mean_slack_s)
        rows.append((one.cluster, str(one.processes), *(percent(100 * share) for share in shares), *slack))
    lines += table_lines(rows, left={0}, wide=wide)
    lines += prose_lines(
        "busy: computing; waiting: for another process; message: for a message that is on its way; ended: before the "
        "last process; idle: these three; on path: share of the critical path; slack: the least one, and the mean"
    )
    lines += ["", *_path_lines(timed.path_parts(), timed.time_s, "T_exec", wide=wide)]
    if found.answers is not None:
        lines += ["", *_answer_lines(found.answers, wide=wide)]
    return "\n".join(lines)


def analysis_json(found: Analysis) -> dict[str, Any]:
    """Return the report as JSON values, with every process and every part of the critical path."""
    timed = found.timed
    return {
        "target": str(found.target),
        "iterations": found.iterations,
        "t_exec_s": timed.time_s,
        "whole_s": found.whole_s,
        "clusters": [{**asdict(one), "idle_share": one.idle_share} for one in timed.cluster_times()],
        "per_process": [{**asdict(one), "idle_s": one.idle_s} for one in timed.processes],
        "critical_path": [asdict(one) for one in timed.path_parts()],
        "critical_nodes": list(timed.critical_nodes),
        "what_if": None if found.answers is None else asdict(found.answers),
    }


def li_text(found: LiTimes, *, iterations: int, wide: bool = False) -> str:
    """Return the report of the paper's own times.

    Args:
        found: The graph with its times.
        iterations: The iterations in it; 0: they are not marked.
        wide: The tables may be wider than the terminal.
    """
    part = "" if not iterations else f" of {number_of(iterations, 'iteration')}"
    lines = prose_lines(
        f"{found.target}: T_exec{part} = {duration(found.t_exec_s)}, the largest sum of a process's own times; "
        f"with messages on their way, the longest chain takes {duration(found.path.time_s)} (no shared links)"
    )
    rows: list[tuple[str, ...]] = [("path", "c1, ns/byte", "k_b, ns/byte", "c2, ns/byte", "k_l")]
    for name, one in found.components.items():
        parts = (one.c1_s_per_byte, one.k_b_s_per_byte, one.c2_s_per_byte)
        rows.append((name, *(f"{round(1e9 * value, 3) + 0.0:.3f}" for value in parts), duration(one.k_l_s)))
    lines += ["", "Components of a message in standard mode (Figure 4)", *table_lines(rows, left={0}, wide=wide)]
    lines += ["", *_path_lines(found.path_parts(), found.path.time_s, "the chain", wide=wide)]
    return "\n".join(lines)


def li_json(found: LiTimes, *, iterations: int) -> dict[str, Any]:
    """Return the report of the paper's own times as JSON values."""
    return {
        "target": str(found.target),
        "iterations": iterations,
        "t_exec_s": found.t_exec_s,
        "chain_s": found.path.time_s,
        "components": {name: asdict(one) for name, one in found.components.items()},
        "process_s": list(found.process_s),
        "critical_path": [asdict(one) for one in found.path_parts()],
        "critical_nodes": list(found.path.nodes),
    }


def _whole(found: Analysis) -> str:
    if found.whole_s is None:
        return "; too few iterations were recorded for the time of all"
    return f"; the whole run takes {duration(found.whole_s)}"


def _path_lines(parts: Sequence[PathPart], whole_s: float, whole: str, *, wide: bool) -> list[str]:
    rows = [("element", "place in the program", "times", "time", f"% of {whole}")]
    for one in parts[:_MOST_ROWS]:
        share = percent(100 * one.time_s / whole_s) if whole_s else "-"
        rows.append((one.what, one.place or "-", str(one.count), duration(one.time_s), share))
    lines = ["Critical path by element", *table_lines(rows, left={0, 1}, wide=wide)]
    return lines + _more(len(parts))


def _answer_lines(found: Answers, *, wide: bool) -> list[str]:
    bounded = any(one.otherwise_saved_s is not None for one in found.answers)
    rows = [("what", "which", "T_exec", "saves", *(["or"] if bounded else []), "%")]
    for one in found.answers[:_MOST_ROWS]:
        row = [duration(one.time_s), duration(one.saved_s), percent(100 * one.saved_share, signed=True)]
        if bounded:
            row.insert(2, duration(one.saved_s if one.otherwise_saved_s is None else one.otherwise_saved_s))
        rows.append((one.kind, one.name, *row))
    title = f"What if one of them were {found.factor:g} times as fast, the largest saving first"
    lines = [title, *table_lines(rows, left={0, 1}, wide=wide), *_more(len(found.answers))]
    if bounded:
        lines += prose_lines(UNKNOWN_LATENCY)
    for kind, count in found.untried.items():
        lines += prose_lines(f"{number_of(count, kind)} with less to do: not tried")
    return lines


def _more(rows: int) -> list[str]:
    return [f"... and {rows - _MOST_ROWS} more, which --json shows"] if rows > _MOST_ROWS else []
