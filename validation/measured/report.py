"""Tell the predictions of measured runs: as text, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from platforms.terminal.table import Group, table_lines
from platforms.wording import number_of
from predictor.contention.core_times import COVERAGE
from validation.measured.judge import ROLES, Judged, summaries

_HEADINGS = ("program", "class", "ranks", "nodes", "measured s", "predicted s", "error", "low s", "high s", "")


def as_text(judgements: Sequence[Judged]) -> str:
    """Return the tables that the command prints."""
    rows: list[tuple[str, ...] | Group] = [_HEADINGS]
    for role, meaning in ROLES.items():
        of_role = [judgement for judgement in judgements if judgement.role == role and judgement.prediction is not None]
        if of_role:
            rows += [Group(f"{role}: {meaning}"), *(_cells(judgement) for judgement in of_role)]
    lines = table_lines(rows, left={0, 1, 9})
    lines.append(f"low, high: {COVERAGE:.0%} interval of a single run, by the scatter of equal runs; *: not in it")
    for role, totals in summaries(judgements).items():
        within = "" if totals.within is None else f", {totals.within} in the interval"
        errors = f"median error {totals.median_error:.1%}, largest {totals.largest_error:.1%}"
        lines.append(f"{role}: {number_of(totals.runs, 'run')}, {errors}{within}")
    filled = {(one.run.ranks, one.run.nodes): one.filled for one in judgements if one.filled is not None}
    lines += [
        f"{ranks} ranks on {nodes} nodes fill {used} of them: other programs take as long on another number of nodes"
        for (ranks, nodes), used in sorted(filled.items())
    ]
    flags = [
        f"{judgement.run}: {flag}"
        for judgement in judgements
        if judgement.prediction is not None
        for flag in judgement.prediction.flags
    ]
    refusals = [
        f"{judgement.run}: no prediction: {judgement.reason}"
        for judgement in judgements
        if judgement.prediction is None
    ]
    return "\n".join(lines + [""] * bool(flags or refusals) + flags + refusals)


def _cells(judgement: Judged) -> tuple[str, ...]:
    run, prediction = judgement.run, judgement.prediction
    assert prediction is not None and judgement.error is not None
    ends = ["-" if end is None else f"{end:.5g}" for end in (prediction.low_s, prediction.high_s)]
    mark = "*" if judgement.within is False else ""
    known = (run.app, run.preset, str(run.ranks), str(run.nodes), f"{run.time_s:.6g}")
    return (*known, f"{prediction.time_s:.5g}", f"{judgement.error:+.1%}", *ends, mark)


def as_rows(judgements: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return a row per run, in SI units; also the columns of the CSV file."""
    return [_row(judgement) for judgement in judgements]


def _row(judgement: Judged) -> dict[str, Any]:
    run, made = judgement.run, judgement.prediction
    return {
        "app": run.app,
        "class": run.preset,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "filled_nodes": judgement.filled,
        "role": judgement.role,
        "measured_s": run.time_s,
        "predicted_s": None if made is None else made.time_s,
        "error": judgement.error,
        "low_s": None if made is None else made.low_s,
        "high_s": None if made is None else made.high_s,
        "within": judgement.within,
        "compute_s": None if made is None else made.parts["compute_s"],
        "comm_s": None if made is None else made.parts["comm_s"],
        "flags": "; ".join(made.flags) if made is not None else judgement.reason,
    }


def as_json(judgements: Sequence[Judged]) -> dict[str, Any]:
    """Return everything as JSON values."""
    totals = {
        role: {
            "runs": summary.runs,
            "median_error": summary.median_error,
            "largest_error": summary.largest_error,
            "within": summary.within,
        }
        for role, summary in summaries(judgements).items()
    }
    return {"runs": as_rows(judgements), "summary": totals}
