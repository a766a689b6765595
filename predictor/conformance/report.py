"""Verdicts as text and JSON, and the tables of docs/reference/conformance.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.table import table_lines
from predictor.conformance.checks import CHECKS
from predictor.conformance.judge import ANSWERS, EXCUSED, EXCUSES, FAILS, PASSES, UNJUDGED, Verdict

_COLUMNS = (ANSWERS, *(check.name for check in CHECKS))
_FINDINGS_SHOWN = 3  # of each failed check, in the text


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values."""
    return {
        "predictor": verdict.predictor,
        "check": verdict.check,
        "outcome": verdict.outcome,
        "findings": list(verdict.findings),
        "reason": verdict.reason,
        "deviation": verdict.deviation,
    }


def text_lines(verdicts: Sequence[Verdict], *, wide: bool = False) -> list[str]:
    """Return a table with a row for each predictor, the excuses by number, and what the failed checks found.

    Args:
        verdicts: The verdicts.
        wide: The table has a column for each check, instead of the names of those that do not pass.
    """
    excuses = {(verdict.check, verdict.reason): None for verdict in verdicts if verdict.outcome == EXCUSED}
    number = {excuse: i for i, excuse in enumerate(excuses, 1)}
    lines = _matrix(verdicts, number) if wide else _counts(verdicts, number)
    lines += [""] * bool(excuses)
    for (check, reason), i in number.items():
        lines += prose_lines(f"({i}) {check}: {reason}", indent="    ", first="")
    for verdict in verdicts:
        if verdict.outcome == FAILS:
            shown, more = verdict.findings[:_FINDINGS_SHOWN], len(verdict.findings) - _FINDINGS_SHOWN
            said = [
                f"{verdict.predictor} fails {verdict.check}: {_meaning(verdict.check)}",
                *(f"    {it}" for it in shown),
            ]
            lines += ["", *folded_lines(said)]
            lines += [f"    and {more} more"] * (more > 0)
    return lines


def _counts(verdicts: Sequence[Verdict], number: dict[tuple[str, str], int]) -> list[str]:
    """Return a table with the number of passed checks, and the names of the others."""
    rows: list[tuple[str, ...]] = [("predictor", "passes", "excused", "fails")]
    for name in dict.fromkeys(verdict.predictor for verdict in verdicts):
        of_predictor = [verdict for verdict in verdicts if verdict.predictor == name]
        passes = sum(verdict.outcome == PASSES for verdict in of_predictor)
        excused = ", ".join(
            f"{verdict.check} {_cell(verdict, number)}" for verdict in of_predictor if verdict.outcome == EXCUSED
        )
        fails = ", ".join(verdict.check for verdict in of_predictor if verdict.outcome == FAILS)
        rows.append((name, f"{passes} of {len(of_predictor)}", excused, fails))
    return table_lines(rows, left={0, 2, 3})


def _matrix(verdicts: Sequence[Verdict], number: dict[tuple[str, str], int]) -> list[str]:
    """Return a table with a column for each check."""
    cells = {(verdict.predictor, verdict.check): _cell(verdict, number) for verdict in verdicts}
    rows = [
        (name, *(cells.get((name, column), "-") for column in _COLUMNS))
        for name in dict.fromkeys(verdict.predictor for verdict in verdicts)
    ]
    return table_lines([("predictor", *_COLUMNS), *rows], left={0}, wide=True)


def _cell(verdict: Verdict, number: dict[tuple[str, str], int]) -> str:
    if verdict.outcome == EXCUSED:
        return f"({number[verdict.check, verdict.reason]})"
    return {PASSES: "ok", FAILS: "FAILS", UNJUDGED: "-"}[verdict.outcome]


def _meaning(name: str) -> str:
    if name == ANSWERS:
        return "it has to answer the targets of a case"
    (meaning,) = (check.meaning for check in CHECKS if check.name == name)
    return meaning


def page_tables() -> str:
    """Return the tables of docs/reference/conformance.md: the checks, and the excuses."""
    return "\n".join([*_checks(), "", *_excuses()]) + "\n"


def _checks() -> Iterator[str]:
    yield "| check | meaning | how it is judged |"
    yield "|---|---|---|"
    for check in CHECKS:
        yield f"| `{check.name}` | {check.meaning} | {check.judged} |"


def _excuses() -> Iterator[str]:
    yield "| check | predictors | excused up to | reason |"
    yield "|---|---|---|---|"
    for excuse_listed in EXCUSES:
        most = "-" if excuse_listed.most is None else f"{excuse_listed.most:g}"
        names = ", ".join(f"`{name}`" for name in excuse_listed.predictors)
        yield f"| `{excuse_listed.check}` | {names} | {most} | {excuse_listed.reason} |"
