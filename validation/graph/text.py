"""The graph beside its simulation as text and as JSON values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import Cell, table_lines
from platforms.wording import number_of
from predictor.graph.timed_text import UNKNOWN_LATENCY, answers_title
from validation.graph.compare import Compared, by_cluster
from validation.graph.simulated import Element
from validation.presentation.tables import error_cell

_MOST_ROWS = 12  # of a table on the terminal; JSON has all
_Row = list[str | Cell]


def compared_text(comparison: Compared, *, rows: int, wide: bool = False) -> str:
    """Return the report: T_exec, elements, critical path, clusters and gains, each predicted and simulated.

    Args:
        comparison: The comparison.
        rows: How many rows of the what-if table were to be simulated.
        wide: The tables may be wider than the terminal.
    """
    predicted, simulated, analysis = comparison.predicted, comparison.simulated, comparison.analysis
    part = "" if not analysis.iterations else f" of {number_of(analysis.iterations, 'iteration')}"
    lines = prose_lines(str(analysis.target))
    table: list[_Row] = [["", "predicted", "simulated", "error, %"]]
    table.append(
        [
            f"T_exec{part}" if analysis.what == "time" else f"T_exec{part}, {analysis.what}",
            *_both(predicted.time_s, simulated.time_s),
        ]
    )
    if analysis.whole_s is not None:
        table.append(["the whole run", *_both(analysis.whole_s, comparison.whole_s)])
    lines += table_lines(table, left={0}, wide=wide)
    lines += ["", "Time of the elements, summed over the processes"]
    lines += _elements(predicted.spent_s, simulated.spent_s, wide=wide)
    lines += ["", "Critical path; messages stand at the place that sends them"]
    lines += _elements(predicted.path_s, simulated.path_s, wide=wide)
    lines += [
        "",
        "Time of the clusters' processes, % of T_exec: predicted, then simulated",
        *_clusters(comparison, wide=wide),
    ]
    if analysis.answers is not None and rows:
        lines += ["", *_gains(comparison, rows=rows, wide=wide)]
    return "\n".join(lines)


def compared_json(comparison: Compared) -> dict[str, Any]:
    """Return the report as JSON values, with every process and every element."""
    both = {"predicted": comparison.predicted, "simulated": comparison.simulated}
    return {
        "whole_simulated_s": comparison.whole_s,
        "simulated_t_exec_s": comparison.simulated.time_s,
        "elements": [
            {
                "what": what,
                "place": place,
                **{f"{name}_s": elements.spent_s.get((what, place), 0.0) for name, elements in both.items()},
                **{f"{name}_path_s": elements.path_s.get((what, place), 0.0) for name, elements in both.items()},
            }
            for what, place in dict.fromkeys(
                key
                for elements in (comparison.simulated, comparison.predicted)
                for key in (*elements.places, *elements.path_s)
            )
        ],
        "processes": {
            name: {
                "compute_s": elements.compute_s.tolist(),
                "idle_s": elements.idle_s.tolist(),
                "ended_s": elements.ended_s.tolist(),
            }
            for name, elements in both.items()
        },
        "gains": [
            {**asdict(gain.answer), "simulated_s": gain.simulated_s, "simulated_saved_s": gain.saved_s}
            for gain in comparison.gains
        ],
    }


def _both(predicted_s: float, simulated_s: float) -> _Row:
    error = error_cell(100 * (predicted_s / simulated_s - 1)) if simulated_s else "-"
    return [duration(predicted_s, like_s=simulated_s), duration(simulated_s), error]


def _elements(predicted: Mapping[Element, float], simulated: Mapping[Element, float], *, wide: bool) -> list[str]:
    keys = sorted(
        dict.fromkeys([*simulated, *predicted]),
        key=lambda element: -max(_of(element, predicted), _of(element, simulated)),
    )
    keys = [key for key in keys if max(_of(key, predicted), _of(key, simulated)) > 0]
    rows: list[_Row] = [["element", "place in the program", "predicted", "simulated", "error, %"]]
    for what, place in keys[:_MOST_ROWS]:
        both = _both(_of((what, place), predicted), _of((what, place), simulated))
        rows.append([what, place or "-", *both])
    return [*table_lines(rows, left={0, 1}, wide=wide), *_more(len(keys))]


def _of(key: Element, values: Mapping[Element, float]) -> float:
    return values.get(key, 0.0)


def _clusters(comparison: Compared, *, wide: bool) -> list[str]:
    clusters, processes = comparison.clusters, Counter(comparison.clusters)
    rows: list[_Row] = [["cluster", "ranks", "busy", "", "idle", "", "ended", "", "on path", ""]]
    for cluster, ranks in processes.items():
        row: _Row = [cluster, str(ranks)]
        for name in ("compute_s", "idle_s", "ended_s", "path_by_rank_s"):
            for elements in (comparison.predicted, comparison.simulated):
                each_s = elements.time_s * (1 if name == "path_by_rank_s" else ranks)
                row.append(
                    percent(100 * by_cluster(getattr(elements, name), clusters)[cluster] / each_s if each_s else 0.0)
                )
        rows.append(row)
    said = (
        "busy: computing; idle: all other time; ended: the part of it before the last process ends; on path: share of "
        "the critical path"
    )
    return [*table_lines(rows, left={0}, wide=wide), *prose_lines(said)]


def _gains(comparison: Compared, *, rows: int, wide: bool) -> list[str]:
    answers = comparison.analysis.answers
    assert answers is not None
    bounded = any(answer.otherwise_saved_s is not None for answer in answers.answers)
    least = ["or"] if bounded else []
    table: list[_Row] = [["what", "which", "saves", *least, "simulated", "%", "simulated"]]
    for gain in comparison.gains:
        now_s = comparison.asked_s
        saved = [duration(gain.answer.saved_s), duration(gain.saved_s)]
        if bounded:
            known_s = gain.answer.otherwise_saved_s
            saved.insert(1, duration(gain.answer.saved_s if known_s is None else known_s))
        shares = (percent(100 * share, signed=True) for share in (gain.answer.saved_share, gain.saved_s / now_s))
        table.append([gain.answer.kind, gain.answer.name, *saved, *shares])
    said = f"the first {number_of(rows, 'row')} that {'changes' if rows == 1 else 'change'} the platform"
    lines = [*answers_title(answers), *table_lines(table, left={0, 1}, wide=wide)]
    if bounded:
        lines += prose_lines(UNKNOWN_LATENCY)
    if len(comparison.gains) < rows:
        said = "all rows that change the platform and for which it has links of its own"
    return lines + prose_lines(f"{said}; without --simulate, also those that change the program")


def _more(rows: int) -> list[str]:
    return [f"... and {rows - _MOST_ROWS} more, which --json shows"] if rows > _MOST_ROWS else []
