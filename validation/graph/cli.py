"""Simulate a program, and show its graph's times, critical path and gains beside the simulated ones.

The prediction is that of gridval graph.  With --what-if, the first links, nodes and clusters of the table are simulated
too, on a platform where they are faster by that factor.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import runner_from_request
from apps.options.settings import wall_limit_from_request
from apps.results.cautions import Cautions
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.command.request import option
from platforms.errors import UserError
from predictor.graph.cli import (
    FIRST,
    RECORDED,
    check_arguments,
    has_platform,
    problem_of,
    write_pictures,
)
from predictor.graph.request import GraphRequest

_ROWS = 3


@dataclass(frozen=True, kw_only=True)
class GraphComparisonRequest(GraphRequest):
    """Request of ``gridval graph``."""

    rows: int | None = option(
        None,
        "N",
        "with --what-if: simulate the platforms of the first N rows that change the platform "
        f"(default: {_ROWS}; 0: of none)",
    )


def _check(request: GraphComparisonRequest) -> int:
    """Check the options, and return the number of rows to simulate.

    Raises:
        UserError: One is impossible, or does not go with another one.
    """
    check_arguments(request)
    if not has_platform(request):
        raise UserError("--simulate", "it needs a platform", "Give --scenario NAME or --platform FILE too")
    if request.times == "li":
        raise UserError("--times li", "these times have no dates to compare", "Choose network or measured")
    if request.recording is not None:
        raise UserError(f"--recording {request.recording}", "a trace cannot be simulated", "Give its --program instead")
    if request.rows is not None and request.what_if is None:
        raise UserError(f"--rows {request.rows}", "there is no table without --what-if", "Give that too, such as 2")
    if request.rows is not None and request.rows < 0:
        raise UserError(f"--rows {request.rows}", "less than 0", "Give a number of rows")
    if request.what_if is None:
        return 0
    return _ROWS if request.rows is None else int(request.rows)


def _run(request: GraphComparisonRequest) -> int:
    rows = _check(request)
    # Imported here because they are slow to import.
    from predictor.graph.on_platform import analysis, recorded, settings_of, target_from_request
    from predictor.graph.timed_text import analysis_json
    from validation.graph.compare import changed_platforms, compared, simulation
    from validation.graph.text import compared_json, compared_text

    target = target_from_request(request, problem_of(request), request.ranks)
    if request.dry_run:
        return _print_plan(request, target, rows)
    spec, said = settings_of(request).spec(target), Cautions()
    with runner_from_request(request, cautions=said, saying=False) as runner:
        recording = recorded(request, target, runner)
        said.add(f"recording of {target.problem.on(target.nranks)}", recording.cautions, key=RECORDED)
        made = analysis(request, target, recording, runner)
        said.say(*made.cautions)
        changed = [] if made.answers is None else changed_platforms(target, made.network, made.answers, most=rows)
        runner.start([spec])
        iterations = made.iterations or target.iterations
        simulate = simulation(runner.timed(spec), iterations, time_limit_s=wall_limit_from_request(request))
        comparison = compared(
            made, changed, simulate, lambda target: runner.record(replace(spec, target=target)).time_s
        )
    write_pictures(request, made)
    if request.json:
        print(json.dumps({**analysis_json(made), **compared_json(comparison), "cautions": said.lines()}))
    else:
        print(compared_text(comparison, rows=rows, wide=request.wide))
    said.say_all()
    return 0


def _print_plan(request: GraphComparisonRequest, target: Target, rows: int) -> int:
    # Imported here because they are slow to import.
    from apps.runs.plan import Other, wall_s
    from predictor.graph.on_platform import iterations_of, plan_on_platform, settings_of

    spec = settings_of(request).spec(target)
    recorded = replace(spec, iterations=iterations_of(request, target)) if target.problem.iterative else spec
    each_s = 2 * wall_s([recorded], 1)  # with the recorder
    others = [Other("run with dates", "runs with dates", 1, each_s)]
    if rows:
        others.append(Other("run on a changed platform", "runs on changed platforms", rows, rows * each_s))
    return print_plan(request, replace(plan_on_platform(request, target), truths=(spec,), others=tuple(others)))


COMMAND = Command(
    "graph",
    GraphComparisonRequest,
    _run,
    __doc__,
    first=(*FIRST, "--rows"),
    status=exit_status,
)
main = COMMAND.main
