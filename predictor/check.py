"""Check predictors: same answers, honest costs, refusals in one line, no sight of the truth.

Every registered predictor, or one of your own, is asked about small targets, and about the same targets on platforms
whose names, order and units have changed (predictor/conformance).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, runner_from_request
from platforms.command.command import Command
from platforms.command.request import JsonOption, WideOption, argument
from predictor.conformance.judge import FAILS, judge, plan, text_lines
from predictor.plugins import FORM
from predictor.registry import ALL, predictors

FAILED = 3
_STATUSES = (
    "Exit status: 0 every check passes or is excused with a reason; 1 output could not be written; 2 bad input; "
    f"{FAILED} a check fails; 130 interrupted; 141 the reader of the output has ended."
)


@dataclass(frozen=True, kw_only=True)
class CheckRequest(WideOption, JsonOption, RunnerOptions, DryRunOption):
    """Request of ``gridval predictor check``."""

    names: tuple[str, ...] = argument(
        "NAME", f"a registered predictor, or {FORM} for one of your own (default: {ALL})", default=tuple([ALL])
    )


def _run(request: CheckRequest) -> int:
    chosen = predictors(request.names)
    if request.dry_run:
        return print_plan(request, plan(chosen))
    with runner_from_request(request) as runner:
        verdicts = [verdict for checked in chosen for verdict in judge(checked, runner)]
    if request.json:
        print(json.dumps({"verdicts": [asdict(verdict) for verdict in verdicts]}))
    else:
        print("\n".join(text_lines(verdicts, wide=request.wide)))
    return FAILED if any(verdict.outcome == FAILS for verdict in verdicts) else 0


COMMAND = Command(
    "predictor check",
    CheckRequest,
    _run,
    __doc__.partition("\n")[0],
    epilog=_STATUSES,
    status=exit_status,
)
main = COMMAND.main
