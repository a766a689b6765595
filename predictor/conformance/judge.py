"""Judge a predictor by all checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.runs.runner import Runner
from platforms.errors import UserError
from predictor.base import Predictor
from predictor.conformance.checks import CHECKS, Check, Finding
from predictor.conformance.excuses import ANSWERS, BLIND, excuse
from predictor.conformance.subject import Subject, described, subject
from predictor.evidence.broker import RefusedEvidence

PASSES, EXCUSED, FAILS, UNJUDGED = "passes", "excused", "fails", "not judged"


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
