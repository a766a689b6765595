"""Output of expected times on failing nodes, as text and as JSON."""

import math
from typing import Any

import numpy as np

from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import table_lines
from predictor.failures.expected import NO_FAILURES, Failures, Outlook
from predictor.failures.run_times import RunTimes

YEAR_S = 365.25 * 86400.0
HOUR_S = 3600.0


def shown_rows(outlook: Outlook, rows: int) -> list[int]:
    """Return the indices of about ``rows`` numbers of nodes, spaced by equal ratios, and of each strategy's best."""
    last = len(outlook.nodes) - 1
    if last < rows:
        return list(range(last + 1))
    wanted = np.geomspace(outlook.nodes[0], outlook.nodes[-1], rows)
    places = np.searchsorted(outlook.nodes, wanted * (1 - 1e-12)).clip(0, last)
    best = (outlook.best(name) for name in outlook.expected_s)
    return sorted({*map(int, places), *(place for place in best if place is not None)})


def said(outlook: Outlook, strategy: str, place: int) -> str:
    """Return a number of nodes and its expected time as text."""
    count = outlook.nodes[place]
    return f"{count:,.0f} {'node' if count == 1 else 'nodes'}, {_time(outlook.expected_s[strategy][place])}"


def _edge_cautions(outlook: Outlook) -> list[str]:
    """Return cautions where the best number of nodes is an end of the range, so that another might be better."""
    texts = []
    for name in outlook.expected_s:
        best = outlook.best(name)
        if name != NO_FAILURES and len(outlook.nodes) > 1 and best in (0, len(outlook.nodes) - 1):
            texts.append(f"{name}: the best number of nodes, {outlook.nodes[best]:,.0f}, is an end of the range")
    return texts


def as_text(times: RunTimes, failures: Failures, outlook: Outlook, rows: int, *, wide: bool = False) -> str:
    """Return the best number of nodes of each strategy, and a table of about ``rows`` rows.

    Args:
        times: The run times without failures.
        failures: The rate of failures, and the times of checkpoints and restarts.
        outlook: The expected times.
        rows: Number of rows, about.
        wide: Show the intervals between checkpoints too.
    """
    places = shown_rows(outlook, rows)
    cells = [["nodes", *(f"{outlook.nodes[i]:,.0f}" for i in places)]]
    cells.append(["success", *(significant(outlook.success[i]) for i in places)])
    for name, times_s in outlook.expected_s.items():
        if name in outlook.intervals_s and wide:
            cells.append([f"{name} every", *(duration(outlook.intervals_s[name][i]) for i in places)])
        cells.append([name, *(_time(times_s[i]) for i in places)])
    failing = _failing(failures.rate_per_s)
    costs = f"checkpoint {failures.checkpoint_s:g} s, restart {failures.restart_s:g} s"
    lines = []
    for name in outlook.expected_s:
        best = outlook.best(name)
        answer = "none: every time exceeds what a float holds" if best is None else said(outlook, name, best)
        lines.append(f"best, {name}: {answer}")
    lines += ["", *prose_lines(f"{times.source}; {failing}; {costs}")]
    lines += ["", *table_lines(list(zip(*cells, strict=True)), wide=wide)]
    cautions = folded_lines(f"caution: {text}" for text in (*times.cautions, *_edge_cautions(outlook)))
    return "\n".join([*lines, *([""] * bool(cautions)), *cautions])


def _time(time_s: float) -> str:
    return duration(float(time_s)) if math.isfinite(time_s) else "inf"


def _failing(rate_per_s: float) -> str:
    if rate_per_s == 0:
        return "no node fails"
    mtbf_s = 1 / rate_per_s
    how_often = f"{mtbf_s / YEAR_S:.4g} years" if mtbf_s >= YEAR_S else f"{mtbf_s / HOUR_S:.4g} hours"
    return f"a node fails once in {how_often} ({rate_per_s:.6g} 1/s)"


def as_json(times: RunTimes, failures: Failures, outlook: Outlook, rows: int) -> dict[str, Any]:
    """Return the results as JSON values; infinite values are None."""

    def row(i: int) -> dict[str, Any]:
        return {
            "nodes": int(outlook.nodes[i]),
            "run_s": float(outlook.run_s[i]),
            "success": float(outlook.success[i]),
            "interval_s": {name: _finite(values[i]) for name, values in outlook.intervals_s.items()},
            "expected_s": {name: _finite(values[i]) for name, values in outlook.expected_s.items()},
        }

    return {
        "run": times.source,
        "failure_rate_per_s": failures.rate_per_s,
        "checkpoint_s": failures.checkpoint_s,
        "restart_s": failures.restart_s,
        "rows": [row(i) for i in shown_rows(outlook, rows)],
        "best": {name: None if (best := outlook.best(name)) is None else row(best) for name in outlook.expected_s},
        "cautions": [*times.cautions, *_edge_cautions(outlook)],
    }


def _finite(value: float) -> float | None:
    """Return None for an infinite value, because JSON has no infinity."""
    return float(value) if math.isfinite(value) else None
