"""Judge a predictor by all checks, with the excuses that it has; verdicts as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apps.runs.plan import Plan
from apps.runs.runner import Runner
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.table import table_lines
from predictor.base import Predictor
from predictor.conformance.checks import CHECKS, FACTOR, Check, Finding
from predictor.conformance.subject import (
    CASES,
    SETTINGS,
    Subject,
    described,
    odd_targets,
    permuted,
    renamed,
    scaled,
    subject,
)
from predictor.evidence.broker import RefusedEvidence
from predictor.evidence.plan import planned

ANSWERS = "answers"  # the check that a predictor answers the targets of a case
BLIND = "blind"  # the check that it never sees the run of the target
PASSES, EXCUSED, FAILS, UNJUDGED = "passes", "excused", "fails", "not judged"
_REMARK = "more where a predictor answers too few targets of the first case, or asks for more when it sees its evidence"
_FINDINGS_SHOWN = 3  # of each failed check, in the text


@dataclass(frozen=True)
class Excuse:
    """The reason why some predictors may fail a check."""

    check: str
    predictors: tuple[str, ...]
    reason: str
    most: float | None = None  # largest relative deviation that is excused; None: any


EXCUSES = (
    Excuse(
        ANSWERS,
        ("extrap", "extrap:effort", "extrap:default"),
        "Extra-P is not installed: `make extrap`.",
    ),
    Excuse(
        "permuted",
        ("hcf:printed", "hcf", "hcf:constant"),
        "The probe has a rank on the first node of every cluster, in the order of the file, which the paper leaves "
        "open: in another order other ranks of the probe are neighbours.",
        most=0.05,
    ),
    Excuse(
        "permuted",
        ("npt", "npt:ls", "npt:pt"),
        "The interval depends on the share of computation in the largest run of the evidence; of runs on equally many "
        "ranks it is the first in the order of the file.",
        most=1e-3,
    ),
    Excuse(
        "scales",
        ("dpgraph:known",),
        "Events within 1 ns are simultaneous, as in SimGrid unless surf/precision says otherwise, which the predictor "
        "does not follow; a caution says so.",
        most=1e-5,
    ),
    Excuse(
        "scales",
        ("dpgraph",),
        "Events within 1 ns are simultaneous, as in SimGrid unless surf/precision says otherwise, which a measured "
        "network does not tell.",
        most=1e-5,
    ),
)


def excuse(predictor: Predictor, check: str) -> Excuse | None:
    """Return the excuse of a predictor for a check: of this table, or of the predictor's own attribute ``excuses``."""
    for excuse_listed in EXCUSES:
        if excuse_listed.check == check and predictor.name in excuse_listed.predictors:
            return excuse_listed
    excuses = getattr(predictor, "excuses", {})
    if isinstance(excuses, Mapping) and isinstance(excuses.get(check), str) and excuses[check].strip():
        return Excuse(check, (predictor.name,), excuses[check])
    return None


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check of one predictor."""

    predictor: str
    check: str
    outcome: str  # PASSES, EXCUSED, FAILS, or UNJUDGED: it answers no case
    findings: tuple[str, ...] = ()  # what the check found wrong, a line each
    reason: str = ""  # of the excuse, or a note about a check that passes
    deviation: float | None = None  # the largest relative deviation, where the check measures one


def judge(predictor: Predictor, runner: Runner, *, checks: Sequence[Check] = CHECKS) -> Iterator[Verdict]:
    """Yield the verdicts on a predictor: that it answers the targets of a case, and these checks.

    If it answers no case, or asks for the run of a target, no other check is judged.
    """
    try:
        judged = subject(predictor, runner)
    except Exception as err:
        failed = BLIND if isinstance(err, RefusedEvidence) else ANSWERS
        yield _verdict(predictor, failed, Finding((_line(err),)))
        yield from (Verdict(predictor.name, check.name, UNJUDGED) for check in checks if check.name != failed)
        return
    yield Verdict(predictor.name, ANSWERS, PASSES, reason=str(judged.case))
    for check in checks:
        yield _verdict(predictor, check.name, _found(check, judged))


def _found(check: Check, judged_subject: Subject) -> Finding:
    try:
        return check.judge(judged_subject)
    except Exception as err:
        return Finding((_line(err),))


def _line(err: Exception) -> str:
    return str(err) if isinstance(err, UserError) else described(err)


def _verdict(predictor: Predictor, check: str, finding: Finding) -> Verdict:
    if not finding.failures:
        return Verdict(predictor.name, check, PASSES, reason=finding.note, deviation=finding.deviation)
    excused = excuse(predictor, check)
    if excused is None or (excused.most is not None and not (finding.deviation or 0.0) <= excused.most):
        return Verdict(predictor.name, check, FAILS, finding.failures, deviation=finding.deviation)
    return Verdict(predictor.name, check, EXCUSED, finding.failures, excused.reason, finding.deviation)


def plan(chosen: Sequence[Predictor]) -> Plan:
    """Return the simulations of all checks, if every predictor answers all targets of the first case."""

    def asking(target: Target) -> list[Predictor]:
        return [model for model in chosen if _asks(model, target)]

    case = CASES[0]
    same = case.targets
    compared = (*same, *scaled(case, same, FACTOR), *renamed(case, same), *permuted(case, same))
    both = planned(((SETTINGS, [model]) for model in compared), asking, remark=_REMARK)
    odd = planned(((SETTINGS, [odd_target]) for _, odd_target in odd_targets()), asking, truths=False)
    return both.joined(odd)


def _asks(predictor: Predictor, target: Target) -> bool:
    """Return whether a predictor asks for evidence, instead of refusing the target."""
    try:
        predictor.requests([target])
    except UserError:
        return False
    return True


_COLUMNS = (ANSWERS, *(check.name for check in CHECKS))


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
