"""Contents of a page from results that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from platforms.errors import printable
from validation.report.gather import Gathered, Invocation, PredictionNote


def gathered_of(rows: Sequence[dict[str, Any]], invocation: Invocation, kept: tuple[str, ...]) -> Gathered:
    """Return the contents of the page of these rows.

    Control characters in texts are escaped.

    Args:
        rows: Results, with all their columns.
        invocation: The command that the page shows.
        kept: Names of the files of the results.
    """
    # Imported here because it is slow to import.
    from validation.comparison.rows import CASE

    cases: dict[tuple[object, ...], int] = {}
    notes = []
    for row in rows:
        case = cases.setdefault(tuple(row[name] for name in CASE), len(cases))
        refusal = (row["flags"] or "the reason is not kept") if row["predicted_s"] is None else None
        notes.append(PredictionNote(case, {}, refusal, None))
    shown = [
        {name: printable(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    ]
    return Gathered(invocation, rows=shown, notes=notes, kept=kept)


def _printable(row: dict[str, Any]) -> dict[str, Any]:
    return {name: printable(value) if isinstance(value, str) else value for name, value in row.items()}
