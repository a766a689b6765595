"""Shares of the work from the graph of a recording, for any program: also for those that cannot yet be divided so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apps.options.programs import own_problem_from_request, problem_from_request
from apps.options.runner import runner_from_request
from apps.options.settings import settings_from_request
from apps.results.cautions import Cautions
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_text
from platforms.options import placement_from_request, platform_from_request
from platforms.terminal.prose import folded_lines
from predictor.dpgraph.predictors import iterations_to_record
from predictor.evidence.given import given_from_request
from predictor.graph.balance import Balance
from predictor.graph.on_platform import analysed, declared_network
from predictor.graph.timed_text import balance_json, balance_lines
from predictor.shares.advice import lines_of_file

if TYPE_CHECKING:
    from apps.recording.events import Recording
    from apps.spec.settings import Settings
    from predictor.shares.request import PlanSharesRequest


def run_by_graph(request: PlanSharesRequest) -> int:
    """Print the balance of a program's graph, and write the shares of its best division.

    Raises:
        UserError: The options do not fit together, or the program computes nothing.
    """
    if request.predictor is not None:
        raise UserError(f"--predictor {request.predictor}", "the graph predicts its own times", "Leave it out")
    if request.write is not None:
        check_writable("--write", request.write)
    said = Cautions()
    target, settings, recording = _recorded(request, said)
    said.add(f"recording of {target.problem.on(target.nranks)}", recording.cautions)
    network, cautions = declared_network(target, recording, dict(settings.options))
    made = analysed(target, recording, network, balanced=True, cautions=cautions)
    said.say(*made.cautions)
    if made.balance is None:
        problem = "its recording has no computation, so that no work can move"
        raise UserError(str(target), problem, "Give a program that counts or measures what it computes")
    if request.write is not None:
        write_text("--write", request.write, lines_of_file(shares_of(made.balance)))
    if request.json:
        print(json.dumps({**_json(target, made.balance), "cautions": said.lines()}))
    else:
        lines = [str(target), "", *balance_lines(made.balance, wide=request.wide)]
        lines += [] if request.write is None else folded_lines([f"the shares are in {request.write}"])
        print("\n".join(lines))
    said.say_all()
    return 0


def _recorded(request: PlanSharesRequest, said: Cautions) -> tuple[Target, Settings, Recording]:
    """Return the target, its settings, and its recording: the given one, or a new one of the program on the target."""
    given = given_from_request(request)
    settings = settings_from_request(request)
    platform = platform_from_request(request)
    if given is not None:
        placement = placement_from_request(request, platform, given.recording.nranks)
        return Target(given.problem, platform, placement), settings, given.recording
    own = own_problem_from_request(request)
    if own is None and (request.app is None or "," in request.app):
        raise UserError("program", "not one kernel, program or recording", "Give --app NAME, --program or --recording")
    asked = problem_from_request(request, str(request.app)) if own is None else own
    target = Target(asked, platform, placement_from_request(request, platform, request.ranks))
    spec = settings.spec(target)
    with runner_from_request(request, cautions=said, saying=False) as runner:
        return target, settings, runner.recording(spec, iterations_to_record(target))


def shares_of(balance: Balance) -> Mapping[str, float]:
    """Return the share of the work of each cluster in the best division."""
    return {name: sum(balance.best.share[rank] for rank in ranks) for name, ranks in balance.by_cluster.items()}


def _json(target: Target, balance: Balance) -> dict[str, Any]:
    """Return a balance as JSON values."""
    return {
        "platform": target.platform.name,
        "app": target.problem.name,
        "class": target.problem.label,
        "ranks": target.nranks,
        "shares": dict(shares_of(balance)),
        **balance_json(balance),
    }
