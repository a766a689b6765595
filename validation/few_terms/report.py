"""Tell the predictions by few terms: as text, as JSON and as CSV."""

from __future__ import annotations

from typing import Any

from platforms.terminal.table import table_lines
from platforms.wording import number_of
from validation.few_terms.judge import Judged, Outcome, summary

_HEADINGS = ("series", "evidence", "nodes", "predicted s", "low s", "high s", "measured s", "error", "naive", "")


def as_text(outcome: Outcome, *, wide: bool = False) -> str:
    """Return what the command prints."""
    lines = table_lines([_HEADINGS, *(_cells(row) for row in outcome.judged)], left={0, 1, 9}, wide=wide)
    lines.append("low, high: 90 % interval; *: not in it; naive: error of the largest evidence, divided")
    totals = summary(outcome.judged)
    if totals is not None:
        lines.append(
            f"{number_of(totals.rows, 'measured row')}: median error {totals.median_error:.1%} (naive "
            f"{totals.naive_median_error:.1%}), largest {totals.largest_error:.1%}, {totals.within} in the interval"
        )
    lines += [f"{', '.join(filter(None, name))}: no prediction: {reason}" for name, reason in outcome.refused]
    return "\n".join(lines)


def _cells(row: Judged) -> tuple[str, ...]:
    times = [f"{value:.4g}" for value in (row.time_s, row.low_s, row.high_s)]
    name, evidence = ", ".join(filter(None, row.name)), ",".join(map(str, row.evidence))
    if row.measured_s is None:
        return (name, evidence, str(row.nodes), *times, "-", "-", "-", "")
    errors = [f"{error:+.1%}" for error in (row.error, row.naive_error) if error is not None]
    return (name, evidence, str(row.nodes), *times, f"{row.measured_s:.4g}", *errors, "" if row.within else "*")


def as_rows(outcome: Outcome, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return a row per prediction, in SI units; also the columns of the CSV file."""
    return [
        {
            **dict(zip(columns, row.name, strict=True)),
            "evidence": " ".join(map(str, row.evidence)),
            "nodes": row.nodes,
            "ranks": row.ranks,
            "predicted_s": row.time_s,
            "low_s": row.low_s,
            "high_s": row.high_s,
            "measured_s": row.measured_s,
            "error": row.error,
            "within": row.within,
            "naive_s": row.naive_s,
            "naive_error": row.naive_error,
        }
        for row in outcome.judged
    ]


def as_json(outcome: Outcome, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return everything as JSON values."""
    totals = summary(outcome.judged)
    return {
        "runs": as_rows(outcome, columns),
        "summary": None if totals is None else vars(totals),
        "refused": [{"series": list(name), "reason": reason} for name, reason in outcome.refused],
    }
