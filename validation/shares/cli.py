"""Simulate equal and advised shares of a kernel's data, and say what the advice gains.

The advice is that of gridval plan shares; --search compares it with the best of all choices in steps.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import runner_from_request
from apps.results.cautions import Cautions
from apps.results.record import RunRecord
from platforms.command.command import Command
from platforms.command.request import option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import write_text
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import Cell, table_lines
from platforms.wording import number_of
from predictor.evidence.broker import Broker
from predictor.shares.advice import Advice, advise, idle_s, lines_of_file
from predictor.shares.cli import (
    SharesQuestion,
    asked_from_request,
    exponent_text,
    gain_text,
    to_json,
    written_lines,
)
from predictor.shares.request import ShareSearchOptions
from validation.presentation.tables import error_cell
from validation.shares.search import Searched, number_of_choices, searched


@dataclass(frozen=True)
class Compared:
    """An advice with the simulated runs."""

    advice: Advice
    equal: RunRecord
    advised: RunRecord
    best: Searched | None  # None: there was no search

    @property
    def loss_pct(self) -> float | None:
        """Time lost by the advised shares against the best of the search, %; None without a search."""
        return None if self.best is None else 100 * (self.advised.time_s / self.best.time_s - 1)


@dataclass(frozen=True, kw_only=True)
class SharesComparisonRequest(ShareSearchOptions):
    """Request of ``gridval plan shares``."""

    search: float | None = option(
        None,
        "PCT",
        "also search for the best of all choices of one share for each cluster in steps of PCT %% of the work, "
        "such as 5; those whose computation alone takes longer than the best are not simulated",
    )


def _steps(request: SharesComparisonRequest) -> int | None:
    """Return the number of steps of the search; None: there is none."""
    if request.search is None:
        return None
    asked = 100 / request.search if 0 < request.search <= 50 else 0.0
    steps = round(asked) if math.isfinite(asked) else 0
    if not steps or abs(steps * request.search - 100) > 1e-6:
        raise UserError(f"--search {request.search:g}", "100 is not a multiple of it", "Give for example 5 or 10")
    return steps


def _run(request: SharesComparisonRequest) -> int:
    steps = _steps(request)
    asked = asked_from_request(request)
    for target in asked.targets if steps is not None else ():
        number_of_choices(target, steps or 0)
    said = Cautions()
    if request.dry_run:
        return _print_plan(request, asked, steps)
    compared = []
    with runner_from_request(request, cautions=said, saying=False) as runner:
        runner.start(asked.settings.spec(target) for target in asked.targets)
        broker = Broker.of(asked.settings, asked.targets, runner)
        for target in asked.targets:
            advice = advise(target, asked.model, broker)
            equal, advised = (
                runner.record(asked.settings.spec(answer.target)) for answer in (advice.equal, advice.advised)
            )
            best = None if steps is None else searched(target, asked.settings, runner, steps=steps)
            compared.append(Compared(advice, equal, advised, best))
    if request.write is not None:
        write_text("--write", request.write, lines_of_file(compared[0].advice.asked()))
    if request.json:
        print(json.dumps({"compared": [_to_json(comparison) for comparison in compared], "cautions": said.lines()}))
    else:
        print(
            "\n\n".join(
                "\n".join([*_lines(comparison, wide=request.wide), *written_lines(request)]) for comparison in compared
            )
        )
    said.say_all()
    return 0


def _print_plan(request: SharesComparisonRequest, asked: SharesQuestion, steps: int | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Other, wall_s
    from predictor.evidence.plan import planned

    plan = planned([(asked.settings, asked.targets)], [asked.model], truths=True)
    others = [Other("run with the advised shares", "runs with the advised shares", len(asked.targets), 0.0)]
    if steps is not None:
        counts = [number_of_choices(target, steps) for target in asked.targets]
        each = [wall_s([asked.settings.spec(target)], 1) for target in asked.targets]
        time_s = sum(count * each_s for count, each_s in zip(counts, each, strict=True))
        others.append(Other("choice of the search at most", "choices of the search at most", sum(counts), time_s))
    return print_plan(request, replace(plan, others=tuple(others)))


def _lines(comparison: Compared, *, wide: bool) -> list[str]:
    """Return a table by cluster, and sentences."""
    target, then = comparison.advice.equal.target, comparison.advice.advised.target
    waits, waits_then = idle_s(target, comparison.equal.compute_s), idle_s(then, comparison.advised.compute_s)
    searched_head = ["best %"] if comparison.best else []
    rows: list[list[str | Cell]] = [["cluster", "advised %", *searched_head, "idle, equal", "advised"]]
    for name, share in comparison.advice.shares.items():
        best = [f"{100 * comparison.best.shares[name]:.1f}"] if comparison.best else []
        times = [duration(value, like_s=comparison.equal.time_s) for value in (waits[name], waits_then[name])]
        rows.append([name, f"{100 * share:.1f}", *best, *times])
    gain = gain_text(comparison.equal.time_s, comparison.advised.time_s)
    said = [f"simulated: {gain}{exponent_text(comparison.advice.exponent)}"]
    errors = [_error(answer.prediction, record) for answer, record in _answers(comparison)]
    said.append(
        f"{comparison.advice.equal.predictor}: error {errors[0]} with equal shares, {errors[1]} with the advised ones"
    )
    if comparison.best is not None:
        best_s = duration(comparison.best.time_s, like_s=comparison.equal.time_s)
        said.append(
            f"the best of {number_of(comparison.best.choices, 'choice')}{_left_out(comparison.best)} takes {best_s}; "
            f"with the advised shares the time is {percent(comparison.loss_pct, signed=True)} % off"
        )
    return [str(target), "", *table_lines(rows, left={0}, wide=wide), "", *folded_lines(said)]


def _left_out(best: Searched) -> str:
    """Return how many choices were simulated, if not all."""
    if best.simulated == best.choices:
        return ""
    return f" ({best.simulated} simulated; the computation alone of the others takes longer)"


def _answers(comparison: Compared) -> list[tuple[Any, RunRecord]]:
    return [(comparison.advice.equal, comparison.equal), (comparison.advice.advised, comparison.advised)]


def _error(prediction: Any, record: RunRecord) -> str:
    if prediction is None:
        return "none, for there is no answer,"
    return f"{error_cell(100 * (prediction.time_s / record.time_s - 1))} %"


def _to_json(comparison: Compared) -> dict[str, Any]:
    target, then = comparison.advice.equal.target, comparison.advice.advised.target
    return {
        **to_json(comparison.advice),
        "simulated_equal_s": comparison.equal.time_s,
        "simulated_advised_s": comparison.advised.time_s,
        "simulated_idle_equal_s": idle_s(target, comparison.equal.compute_s),
        "simulated_idle_advised_s": idle_s(then, comparison.advised.compute_s),
        "search": None if comparison.best is None else asdict(comparison.best),
        "loss_pct": comparison.loss_pct,
    }


COMMAND = Command(
    "plan shares",
    SharesComparisonRequest,
    _run,
    __doc__,
    epilog=f"docs/planning/cores.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
