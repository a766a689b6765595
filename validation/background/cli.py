"""Simulate runs under drawn background load, and judge predicted distributions of their times.

The distributions are those of gridval predict, from other draws than those of the simulated runs.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import runner_from_request
from apps.results.cautions import Cautions
from apps.spec.target import Target
from platforms.background.site import loaded_platform
from platforms.background.statement import TRUTHS, drawn
from platforms.command.command import Command
from platforms.command.request import option
from platforms.command.status import EXIT_STATUSES
from platforms.plotting.pictures import check_picture, write_picture
from platforms.terminal.progress import doing
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration, percent, significant
from platforms.terminal.table import Cell, table_lines
from platforms.wording import number_of
from predictor.background.cli import (
    BackgroundOptions,
    BackgroundQuestion,
    Refused,
    asked_from_request,
    check_number,
    forecasts,
    load_json,
    refusal_lines,
    to_json,
)
from predictor.background.forecast import Load
from predictor.evidence.broker import Broker
from predictor.evidence.given import NOT_SIMULATED

if TYPE_CHECKING:
    from validation.background.judge import Judged  # it needs SciPy, which is slow to import

_TRUTHS, MOST_TRUTHS = 40, 10_000
_LOADED = "the platform changes while the program runs"


class _OtherCautions(Cautions):
    """The cautions of all runs, without the one that the platform changes: the load is what the command is about."""

    def add(self, run: str, sentences: Iterable[str], *, key: Hashable = None) -> None:
        """Keep the cautions about a run, as Cautions does."""
        super().add(run, [sentence for sentence in sentences if not sentence.startswith(_LOADED)], key=key)


@dataclass(frozen=True)
class Result:
    """A target with its judged predictions."""

    target: Target  # on the quiet grid
    judged: tuple[Judged, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, kw_only=True)
class BackgroundComparisonRequest(BackgroundOptions):
    """Request of ``gridval predict --background``."""

    absent: ClassVar[Mapping[str, str]] = NOT_SIMULATED
    without: ClassVar[frozenset[str]] = frozenset({"recording", "recorded_gflops"})  # it cannot be simulated

    truths: int = option(_TRUTHS, "N", f"simulated runs, each under a load of its own (default: {_TRUTHS})")
    picture: str | None = option(None, "FILE", "draw the distributions there (.png, .svg, .pdf)")


def loaded_targets(target: Target, load: Load, count: int) -> list[Target]:
    """Return a target under as many drawn loads."""
    draws = [drawn(load.background, load.grid, seed=load.seed, stream=TRUTHS, number=number) for number in range(count)]
    return [Target(target.problem, loaded_platform(load.grid, draw), target.placement) for draw in draws]


def _run(request: BackgroundComparisonRequest) -> int:
    check_number("--truths", request.truths, 2, MOST_TRUTHS)
    if request.picture is not None:
        check_picture("--picture", request.picture)
    asked = asked_from_request(request)
    said = _OtherCautions()
    with doing("drawing the load"):
        truths = [loaded_targets(target, asked.load, request.truths) for target in asked.targets]
    if request.dry_run:
        # Imported here because it is slow to import.
        from predictor.evidence.plan import planned

        specs = [(asked.settings, [*asked.targets]), *((asked.settings, targets) for targets in truths)]
        evidence = planned(specs[:1], asked.models, truths=False)
        return print_plan(request, evidence.joined(planned(specs[1:], [], truths=True)))
    with runner_from_request(request, cautions=said, saying=False) as runner:
        specs_of = [[asked.settings.spec(target) for target in targets] for targets in truths]
        broker = Broker.of(
            asked.settings, [*asked.targets, *(target for targets in truths for target in targets)], runner
        )
        runner.start(broker.specs([request for model in asked.models for request in model.requests(asked.targets)]))
        runner.start(spec for specs in specs_of for spec in specs)
        answers = forecasts(asked, broker)
        times_s = [[runner.record(spec).time_s for spec in specs] for specs in specs_of]
    results = _judged(asked, answers, times_s)
    if request.picture is not None:
        # Imported here for a quick start: it is needed only by this option.
        from validation.background.picture import judged_figure

        write_picture(
            "--picture",
            request.picture,
            judged_figure([judgement for result in results for judgement in result.judged]),
        )
    if request.json:
        results_json = [_to_json(result) for result in results]
        print(json.dumps({**load_json(asked.load), "results": results_json, "cautions": said.lines()}))
    else:
        print("\n\n".join("\n".join(_lines(result, wide=request.wide)) for result in results))
    said.say_all()
    return 0


def _judged(asked: BackgroundQuestion, answers: Sequence[Any], times_s: Sequence[Sequence[float]]) -> list[Result]:
    # Imported here because it is slow to import.
    from validation.background.judge import judged

    results = []
    for target, true_s in zip(asked.targets, times_s, strict=True):
        of_target = [answer for answer in answers if answer.target is target]
        results.append(
            Result(
                target,
                tuple(judged(answer, true_s) for answer in of_target if not isinstance(answer, Refused)),
                tuple(answer for answer in of_target if isinstance(answer, Refused)),
            )
        )
    return results


def _lines(result: Result, *, wide: bool) -> list[str]:
    """Return a table of the predictors, and sentences that explain it."""
    first = result.judged[0]
    head = ["predictor", "inside", "width", "median", "CRPS", "quiet", "best", "p"]
    rows: list[list[str | Cell]] = [[*head]]
    for judgement in result.judged:
        scores = [
            duration(score_s, like_s=judgement.quiet_s)
            for score_s in (judgement.crps_s, judgement.quiet_s, judgement.best_s)
        ]
        rows.append(
            [
                judgement.forecast.predictor,
                f"{100 * judgement.coverage:.0f} %",
                f"{judgement.width_pct:.1f} %",
                f"{percent(judgement.median_error_pct, signed=True)} %",
                *scores,
                significant(judgement.p_value, 2),
            ]
        )
    low, high = first.coverage_range
    said = [
        *refusal_lines(result.refused),
        f"inside: share of {number_of(len(first.true_s), 'simulated run')} in the predicted 90 % interval; of "
        f"{first.forecast.predictor} the true share is {100 * low:.0f} to {100 * high:.0f} %",
        f"width of that interval; the simulated times have {first.true_width_pct:.1f} % between the same quantiles",
        "median: its error; quiet: mean error of the prediction for the quiet grid; best: CRPS of the other simulated "
        "times; p: of a Kolmogorov-Smirnov test of both samples",
    ]
    return [str(result.target), "", *table_lines(rows, left={0}, wide=wide), "", *folded_lines(said)]


def _to_json(result: Result) -> dict[str, Any]:
    return {
        "target": str(result.target),
        "predictions": [
            {
                **to_json(judgement.forecast),
                "true_s": judgement.true_s,
                "coverage": judgement.coverage,
                "coverage_range": judgement.coverage_range,
                "width_pct": judgement.width_pct,
                "true_width_pct": judgement.true_width_pct,
                "median_error_pct": judgement.median_error_pct,
                "crps_s": judgement.crps_s,
                "quiet_error_s": judgement.quiet_s,
                "best_crps_s": judgement.best_s,
                "pit": judgement.pit,
                "p_value": judgement.p_value,
            }
            for judgement in result.judged
        ],
        "refused": [to_json(refusal) for refusal in result.refused],
    }


COMMAND = Command(
    "predict --background",
    BackgroundComparisonRequest,
    _run,
    __doc__,
    epilog=f"docs/planning/shared.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
