"""Advise how a program's data should be divided among clusters of unequal speed, and predict what that gains.

The speeds come from a run on one node of each cluster (docs/planning/cores.md).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import own_problem_from_request, problem_from_request
from apps.options.runner import runner_from_request
from apps.options.settings import settings_from_request
from apps.programs.kernel import shared_names, sized_names
from apps.programs.problem import Problem
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import check
from platforms.command.command import Command
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_text
from platforms.options import placement_from_request, platform_from_request
from platforms.terminal.progress import doing
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration
from platforms.terminal.table import Cell, table_lines
from predictor.answers.answers import names
from predictor.base import Prediction, Predictor, takes
from predictor.defaults.choice import default_predictors
from predictor.evidence.broker import Broker
from predictor.families import knowing_shares
from predictor.registry import predictor
from predictor.shares.advice import BY_SPEED, Advice, advise, compute_times, idle_s, lines_of_file, probe_request
from predictor.shares.request import PlanSharesRequest, ShareSearchOptions


@dataclass(frozen=True)
class SharesQuestion:
    """Targets, predictor and settings that the options ask for."""

    targets: tuple[Target, ...]  # divided evenly
    model: Predictor
    settings: Settings


def asked_from_request(request: ShareSearchOptions) -> SharesQuestion:
    """Return the targets, the predictor and the settings.

    Raises:
        UserError: The options do not fit together; or a program has equal shares only.
    """
    own = own_problem_from_request(request)
    apps = _default_apps(request) if request.app is None else names(request.app, "--app")
    problems = [_unequal(asked) for asked in ([own] if own else [problem_from_request(request, app) for app in apps])]
    if request.write is not None:
        if len(problems) > 1:
            raise UserError("--write", f"there are {len(problems)} kernels", "Choose one with --app")
        check_writable("--write", request.write)
    settings = settings_from_request(request)
    with doing("reading the platform"):
        platform = platform_from_request(request)
    placement = placement_from_request(request, platform, request.ranks)
    targets = tuple(Target(problem, platform, placement) for problem in problems)
    for target in targets:
        if own is None:
            check(target.problem, target.nranks)
        settings.spec(target)  # raises an error for impossible settings before anything runs
    model = default_predictors(targets[0])[0] if request.predictor is None else predictor(request.predictor)
    if not takes(model, replace(targets[0], problem=_one_share(targets[0]))):
        problem = "the model divides the work evenly among the ranks"
        raise UserError(f"--predictor {model.name}", problem, f"Give {knowing_shares()}")
    return SharesQuestion(targets, model, settings)


def _default_apps(request: ShareSearchOptions) -> list[str]:
    """Return the kernels that take unequal shares: those with a free size if --size is given, else the others."""
    sized = set(sized_names())
    return [name for name in shared_names() if (name in sized) == (request.size is not None)]


def _unequal(asked: Problem) -> Problem:
    """Return the problem if its program takes unequal shares; raise KernelError if not."""
    asked.divided([1.0])
    return asked


def _one_share(target: Target) -> Problem:
    return target.problem.divided([1.0] * target.nranks)


def _run(request: PlanSharesRequest) -> int:
    if request.graph or request.recording is not None:
        if request.dry_run:
            raise UserError("--dry-run", "the graph takes one recording and nothing else", "Leave it out")
        # Imported here for a quick start: it is slow to import.
        from predictor.shares.by_graph import run_by_graph

        return run_by_graph(request)
    asked = asked_from_request(request)
    said = Cautions()
    if request.dry_run:
        # Imported here because it is slow to import.
        from predictor.evidence.plan import planned

        return print_plan(request, planned([(asked.settings, asked.targets)], [asked.model], truths=False))
    with runner_from_request(request, cautions=said, saying=False) as runner:
        broker = Broker.of(asked.settings, asked.targets, runner)
        runner.start(broker.specs([probe_request(target) for target in asked.targets]))
        all_advice = [advise(target, asked.model, broker) for target in asked.targets]
    if request.write is not None:
        write_text("--write", request.write, lines_of_file(all_advice[0].asked()))
    if request.json:
        print(json.dumps({"advice": [to_json(advice) for advice in all_advice], "cautions": said.lines()}))
    else:
        print(
            "\n\n".join(
                "\n".join([*text_lines(advice, wide=request.wide), *written_lines(request)]) for advice in all_advice
            )
        )
    said.say_all()
    return 0


def written_lines(request: ShareSearchOptions) -> list[str]:
    """Return a line on the use of the written file, if one was written."""
    return (
        []
        if request.write is None
        else folded_lines([f"the shares are in {request.write}: give --shares {request.write}"])
    )


def text_lines(advice: Advice, *, wide: bool) -> list[str]:
    """Return a table by cluster, and a sentence."""
    equal, advised = advice.equal.target, advice.advised.target
    before, after = compute_times(advice.probe, equal), compute_times(advice.probe, advised)
    waits, waits_then = idle_s(equal, before), idle_s(advised, after)
    rows: list[list[str | Cell]] = [["cluster", "ranks", "equal %", "advised %", "idle, equal", "idle, advised"]]
    nodes: dict[str, int] = {}
    for host in equal.placement:
        name = equal.platform.cluster_of(host).name
        nodes[name] = nodes.get(name, 0) + 1
    for name, share in advice.shares.items():
        even = 100 * nodes[name] / equal.nranks
        times = [duration(wait_s, like_s=max(before)) for wait_s in (waits[name], waits_then[name])]
        rows.append([name, str(nodes[name]), f"{even:.1f}", f"{100 * share:.1f}", *times])
    return [str(equal), "", *table_lines(rows, left={0}, wide=wide), "", *folded_lines([_sentence(advice)])]


def _sentence(advice: Advice) -> str:
    """Return what the predictor says, or why it says nothing."""
    made = [answer.prediction for answer in (advice.equal, advice.advised)]
    if made[0] is None or made[1] is None:
        return f"{advice.equal.predictor} has no answer: {advice.equal.refusal or advice.advised.refusal}"
    gain = gain_text(made[0].time_s, made[1].time_s)
    return f"predicted by {advice.equal.predictor}: {gain}{exponent_text(advice.exponent)}"


def exponent_text(exponent: float) -> str:
    """Return how the advised shares follow the speed of the nodes, where they are not in proportion to it.

    >>> exponent_text(0.75)
    '; because of the messages, the shares are in proportion to the power 0.75 of the speed'
    """
    if exponent == BY_SPEED:
        return ""
    return f"; because of the messages, the shares are in proportion to the power {exponent:g} of the speed"


def gain_text(equal_s: float, advised_s: float) -> str:
    """Return both times and what the shares gain.

    >>> gain_text(4.0, 3.0)
    '4.00 s with equal shares, 3.00 s with the advised ones, 25.0 % less'
    """
    gain_pct = 100 * (1 - advised_s / equal_s) if equal_s else 0.0
    change = "less" if gain_pct >= 0 else "more"
    times = [duration(time_s, like_s=equal_s) for time_s in (equal_s, advised_s)]
    return f"{times[0]} with equal shares, {times[1]} with the advised ones, {abs(gain_pct):.1f} % {change}"


def to_json(advice: Advice) -> dict[str, Any]:
    """Return the advice as JSON values, in SI units."""
    equal, advised = advice.equal.target, advice.advised.target
    before, after = compute_times(advice.probe, equal), compute_times(advice.probe, advised)

    def said(made: Prediction | None) -> dict[str, Any] | None:
        return None if made is None else {"time_s": made.time_s, "flags": list(made.flags)}

    return {
        "platform": equal.platform.name,
        "app": equal.problem.name,
        "class": equal.problem.label,
        "ranks": equal.nranks,
        "shares": advice.asked(),
        "exponent": advice.exponent,
        "work_shares": advice.shares,
        "idle_equal_s": idle_s(equal, before),
        "idle_advised_s": idle_s(advised, after),
        "predictor": advice.equal.predictor,
        "equal": said(advice.equal.prediction),
        "advised": said(advice.advised.prediction),
        "out_of_range": advice.equal.refusal or advice.advised.refusal,
        "evidence": [
            asdict(piece.cost) | {"id": piece.id, "kind": piece.request.kind} for piece in advice.advised.evidence
        ],
    }


COMMAND = Command(
    "plan shares",
    PlanSharesRequest,
    _run,
    __doc__,
    epilog=f"docs/planning/cores.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
