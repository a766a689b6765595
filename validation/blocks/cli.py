"""Command ``gridval blocks run --simulate``: evaluate and simulate an application of blocks, and compare both."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status, say_failures
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.timeline import TIMELINE, TimelineOption
from apps.results.cautions import Cautions
from apps.timelines.files import check_timeline, write_timeline
from platforms.command.command import Command
from platforms.command.request import JsonOption, given, option
from platforms.errors import UserError
from platforms.files.writing import usable_folder
from platforms.terminal.progress import doing
from predictor.blocks.names import POWER_RULES, SettingError, check_rule
from predictor.blocks.options import (
    setting_from_request,
)
from predictor.blocks.series.command import OUT, OVER, SeriesOptions, check_series
from predictor.blocks.series.points import VARY, Point, points_of, where_text

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from validation.blocks.comparison import Comparison
    from validation.blocks.series import Failure


@dataclass(frozen=True, kw_only=True)
class BlocksComparisonRequest(RunnerOptions, SeriesOptions, TimelineOption, JsonOption, DryRunOption):
    """An application to evaluate and to simulate."""

    pooled: ClassVar[str] = "simulations"
    for_each: ClassVar[str] = "compare"

    parts: bool = option(False, help="also compare where the time goes, by label")


def _run(request: BlocksComparisonRequest) -> int:
    check_series(request, ("over", "out"))
    points = points_of(request)
    for point in points:
        check_rule(point.request.power)
    if request.timeline is not None:
        if request.vary:
            raise UserError(
                f"{TIMELINE} {request.timeline}", f"does not go with {VARY}", "Write one timeline at a time"
            )
        check_timeline(TIMELINE, request.timeline)
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.series.evaluations import over_from

    over = over_from(OVER, request.over, points) if request.vary else ""
    folder = None if request.out is None else usable_folder(OUT, request.out)
    if request.dry_run:
        return _print_plan(request, points)
    rows, failures, cautions, said = compared_points(request, points)
    if all(row.evaluated_s is None and row.simulated_s is None for row in rows):
        raise failures[0][1]
    first = next(row for row in rows if row.processes is not None)
    title = f"{first.application}{where_text(points, first.system)}{_rule(points[0])}"
    if folder is not None:
        # Imported here for a quick start: it is slow to import.
        from validation.blocks.series import write_comparisons

        write_comparisons(points, rows, over, folder, title=title)
    for caution in cautions:
        print(f"caution: {caution}", file=sys.stderr)
    if request.json:
        print(json.dumps({"comparisons": [row.to_json() for row in rows], "cautions": [*cautions, *said]}))
    else:
        print(_text(rows, title, request))
    return say_failures(failures)


def compared_points(
    request: BlocksComparisonRequest, points: Sequence[Point], *, saying: bool = True
) -> tuple[list[Comparison], list[Failure], list[str], list[str]]:
    """Return the comparison of each point, what failed, and the cautions of the evaluations and of the runs.

    Args:
        request: What was asked; a timeline is written if they ask for one.
        points: The points.
        saying: Print the cautions of the runs.

    Raises:
        UserError: An option is wrong.
        KeyboardInterrupt: With the number of results that are kept.
    """
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.series.evaluations import made_from_request, model_cautions
    from validation.blocks.series import Timed, comparisons, timed

    said = Cautions()
    # Before the runner has threads, because processes are forked.
    evaluated = made_from_request(
        request, points, timed, Timed, "evaluating the series" if request.vary else "evaluating"
    )  # fmt: skip
    wrong = [result for result in evaluated if isinstance(result, SettingError)]
    if len(wrong) == len(points):  # a wrong option, for which no simulation is worth while
        raise wrong[0]
    try:
        with runner_from_request(request, cautions=said, saying=saying) as runner:
            rows, failures = comparisons(points, evaluated, runner)
            if request.timeline is not None and rows[0].simulated_s is not None:
                _write_timeline(request, points[0], runner)
    except KeyboardInterrupt as err:
        if err.args or request.no_store:
            raise
        raise KeyboardInterrupt("the evaluations are kept in the store") from err
    cautions: dict[str, None] = {}
    for point, row in zip(points, rows, strict=True):
        if row.evaluated_s is not None:
            cautions |= dict.fromkeys((*row.cautions, *model_cautions(point)))
    return rows, failures, list(cautions), said.lines()


def _write_timeline(request: BlocksComparisonRequest, point: Point, runner: Runner) -> None:
    # Imported here for a quick start: it is slow to import.
    from validation.blocks.comparison import simulation

    spec = simulation(setting_from_request(point.request))
    with doing("writing the timeline"):
        written = write_timeline(TIMELINE, given(request.timeline), spec, runner.record(spec))
    print(f"timeline: {written}", file=sys.stderr)


def _print_plan(request: BlocksComparisonRequest, points: Sequence[Point]) -> int:
    """Print what would be simulated, and why some points cannot be; return the exit status."""
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan, for_timeline
    from validation.blocks.series import PointRun

    asked = [PointRun.of(point) for point in points]
    failures = [(str(run.point), run.error) for run in asked if run.error is not None]
    specs = tuple(dict.fromkeys(run.spec for run in asked if run.spec is not None))
    if not specs:
        raise failures[0][1]
    others = () if request.timeline is None else (for_timeline(specs[0]),)
    print_plan(request, Plan(truths=specs, others=others))
    return say_failures(failures)


def _text(rows: Sequence[Comparison], title: str, request: BlocksComparisonRequest) -> str:
    """Return the table of the comparisons, and that of their parts if it is asked for."""
    # Imported here for a quick start: it is slow to import.
    from validation.blocks.comparison import parts_lines, table

    shown = table(rows, title, wide=request.wide)
    return "\n".join((shown, "", *parts_lines(rows, wide=request.wide))) if request.parts else shown


def _rule(point: Point) -> str:
    return (
        ""
        if point.request.power == POWER_RULES[0] or "power" in point.values
        else f", power rule {point.request.power}"
    )


COMMAND = Command(
    "blocks run",
    BlocksComparisonRequest,
    _run,
    "Evaluate an application of blocks, simulate the same description with one rank per process, and "
    "compare times, energies and costs (docs/blocks/applications.md).",
    first="application --system --count --set --vary --out --parts --model --power --timeline".split(),
    status=exit_status,
)
main = COMMAND.main
