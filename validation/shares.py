"""Simulate equal and advised shares of a kernel's data, and say what the advice gains.

The advice is that of gridval plan shares; --search compares it with the best of all choices in steps.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import runner_from_request
from apps.options.shares import shared_evenly
from apps.results.cautions import Cautions
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import traffic
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

_ROUNDING = 1e-6  # relative: simulated times are extrapolated over iterations, and rounded


# A search that takes the choices in the order of these times, and stops where they exceed the best simulated time,
# finds the same best as one that simulates all.
def least_s(spec: RunSpec) -> float:
    """Return a time that the simulated run cannot fall below, s; 0 where the speeds of the hosts are not certain.

    Those of a real machine, of a platform that changes over time, and under options of SimGrid's are not; nor is what a
    program of the user's own computes.

    Raises:
        KernelError: The traffic of the problem is not declared.
    """
    target = spec.target
    if spec.machine is not None or target.changes or spec.options or target.problem.program is not None:
        return 0.0
    flops = traffic(target.problem, target.nranks).totals(target.iterations).flops
    speeds = (target.platform.host(name).speed_flops for name in target.placement)
    longest_s = max(float(rank_flops) / speed for rank_flops, speed in zip(flops, speeds, strict=True))
    return longest_s * spec.flop_scale * (1 - _ROUNDING)


MOST_CHOICES = 20_000
_AT_ONCE = 8  # simulations between two looks at the best time


# All choices are simulated, except those that are known to take longer than the best because their computation alone
# does.
@dataclass(frozen=True)
class Searched:
    """The best of all choices."""

    shares: dict[str, float]  # by cluster; their sum is 1
    time_s: float
    choices: int  # number of choices
    simulated: int  # of these; the others compute longer than the best takes


def choices(count: int, steps: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to give each of ``count`` clusters at least one of the steps.

    >>> list(choices(2, 4))
    [(1, 3), (2, 2), (3, 1)]
    """
    if count == 1:
        yield (steps,)
        return
    for first in range(1, steps - count + 2):
        for rest in choices(count - 1, steps - first):
            yield (first, *rest)


def number_of_choices(target: Target, steps: int) -> int:
    """Return how many choices a search has.

    Raises:
        UserError: There are none, or more than MOST_CHOICES.
    """
    count = len(_clusters(target))
    number = 0
    for number, _ in enumerate(choices(count, steps), 1):
        if number > MOST_CHOICES:
            raise UserError("--search", f"more than {MOST_CHOICES} choices", "Give a larger step")
    if not number:
        raise UserError("--search", f"fewer steps than the {count} clusters", "Give a smaller step")
    return number


def searched(target: Target, settings: Settings, runner: Runner, *, steps: int) -> Searched:
    """Return the best choice of shares.

    The choices are simulated in the order of the least times that they can take, until those exceed the best simulated
    time.  The runner's store keeps the runs, so that a search that was stopped goes on where it was.

    Args:
        target: The target, divided evenly.
        settings: How the runs are made.
        runner: Makes the runs.
        steps: Number of equal steps that the clusters share.

    Raises:
        UserError: As in ``number_of_choices``.
    """
    number_of_choices(target, steps)
    names = _clusters(target)
    every = [
        {name: count / steps for name, count in zip(names, way, strict=True)} for way in choices(len(names), steps)
    ]
    specs = [settings.spec(with_shares(target, shares)) for shares in every]
    bounds_s = [least_s(spec) for spec in specs]
    order = sorted(range(len(every)), key=bounds_s.__getitem__)
    times_s: dict[int, float] = {}
    while order and (not times_s or bounds_s[order[0]] <= min(times_s.values())):
        now, order = order[:_AT_ONCE], order[_AT_ONCE:]
        runner.start([specs[i] for i in now])
        times_s |= {i: runner.record(specs[i]).time_s for i in now}
    best = min(sorted(times_s), key=times_s.__getitem__)
    return Searched(every[best], times_s[best], len(every), len(times_s))


def with_shares(target: Target, shares: dict[str, float]) -> Target:
    """Return the target with these shares of the clusters, each divided evenly among its ranks."""
    places = [target.platform.cluster_of(host).name for host in target.placement]
    return replace(target, problem=target.problem.divided(shared_evenly(places, shares)))


def _clusters(target: Target) -> list[str]:
    """Return the clusters in use, in rank order."""
    return list(Counter(target.platform.cluster_of(host).name for host in target.placement))


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
