"""The simulations of all checks, counted before any is made."""

from __future__ import annotations

from collections.abc import Sequence

from apps.runs.plan import Plan
from apps.spec.target import Target
from platforms.errors import UserError
from predictor.base import Predictor
from predictor.conformance.cases import CASES, SETTINGS, odd_targets, permuted, renamed, scaled
from predictor.conformance.checks import FACTOR
from predictor.evidence.plan import planned

_REMARK = "more where a predictor answers too few targets of the first case, or asks for more when it sees its evidence"


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
