"""Tell the predictions of measured runs: as text, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from platforms.terminal.table import Group, table_lines
from platforms.wording import number_of
from predictor.contention.core_times import COVERAGE
from validation.measured.judge import ROLES, Judged, summaries

_HEADINGS = ("program", "class", "ranks", "nodes", "measured s", "predicted s", "error", "low s", "high s", "")


def as_text(found: Sequence[Judged]) -> str:
    """Return the tables that the command prints."""
    rows: list[tuple[str, ...] | Group] = [_HEADINGS]
    for role, meaning in ROLES.items():
        own = [one for one in found if one.role == role and one.prediction is not None]
        if own:
            rows += [Group(f"{role}: {meaning}"), *(_cells(one) for one in own)]
    lines = table_lines(rows, left={0, 1, 9})
    lines.append(f"low, high: {COVERAGE:.0%} interval of a single run, by the scatter of equal runs; *: not in it")
    for role, told in summaries(found).items():
        within = "" if told.within is None else f", {told.within} in the interval"
        errors = f"median error {told.median_error:.1%}, largest {told.largest_error:.1%}"
        lines.append(f"{role}: {number_of(told.runs, 'run')}, {errors}{within}")
    flags = [f"{one.run}: {flag}" for one in found if one.prediction is not None for flag in one.prediction.flags]
    refusals = [f"{one.run}: no prediction: {one.reason}" for one in found if one.prediction is None]
    return "\n".join(lines + [""] * bool(flags or refusals) + flags + refusals)


def _cells(one: Judged) -> tuple[str, ...]:
    run, found = one.run, one.prediction
    assert found is not None and one.error is not None
    ends = ["-" if end is None else f"{end:.5g}" for end in (found.low_s, found.high_s)]
    mark = "*" if one.within is False else ""
    known = (run.app, run.preset, str(run.ranks), str(run.nodes), f"{run.time_s:.6g}")
    return (*known, f"{found.time_s:.5g}", f"{one.error:+.1%}", *ends, mark)


def as_rows(found: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return a row per run, in SI units; also the columns of the CSV file."""
    return [_row(one) for one in found]


def _row(one: Judged) -> dict[str, Any]:
    run, made = one.run, one.prediction
    return {
        "app": run.app,
        "class": run.preset,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "role": one.role,
        "measured_s": run.time_s,
        "predicted_s": None if made is None else made.time_s,
        "error": one.error,
        "low_s": None if made is None else made.low_s,
        "high_s": None if made is None else made.high_s,
        "within": one.within,
        "compute_s": None if made is None else made.parts["compute_s"],
        "comm_s": None if made is None else made.parts["comm_s"],
        "flags": "; ".join(made.flags) if made is not None else one.reason,
    }


def as_json(found: Sequence[Judged]) -> dict[str, Any]:
    """Return everything as JSON values."""
    told = {
        role: {
            "runs": one.runs,
            "median_error": one.median_error,
            "largest_error": one.largest_error,
            "within": one.within,
        }
        for role, one in summaries(found).items()
    }
    return {"runs": as_rows(found), "summary": told}
