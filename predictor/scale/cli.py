"""The command ``gridval scale``: how a program's time changes with the number of ranks."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status, say_failures, status_of
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import settings_from_request
from apps.results.cautions import kind_of, merged
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.files.writing import usable_folder, write_csv, written_into
from platforms.model.placement import places
from platforms.options import placement_from_request, platform_from_request
from platforms.plotting.pictures import check_picture, write_picture
from platforms.prices.bill import COLUMNS, Bill
from platforms.prices.options import CostQuestion, costs_from_request
from platforms.terminal.progress import doing
from platforms.terminal.prose import prose_lines
from predictor.base import Learning, Predictor
from predictor.evidence.broker import Broker
from predictor.options import with_learning_options
from predictor.registry import predictor
from predictor.scale.curve import Row, best_row, knee_row, rows_of
from predictor.scale.learning import Recorded, advice, check_advice, recorded_for
from predictor.scale.points import Asked, points
from predictor.scale.request import Growth, ScaleRequest, growth_from_request, problems
from predictor.scale.text import cost_notes, notes, sentences, table
from predictor.series.grid import counts
from predictor.series.pool import Failure

FIRST = (
    "--program", "--app", "--class", "--platform", "--scenario", "--ranks", "--weak", "--predictor", "--plot", "--out",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """The targets of a curve, by increasing ranks, and how they are predicted."""

    targets: tuple[Target, ...]
    settings: Settings
    predictor: str
    growth: Growth | None
    model: Predictor
    costs: CostQuestion


@dataclass(frozen=True)
class Scaling:
    """A scaling curve."""

    question: Question
    rows: tuple[Row, ...]
    cautions: tuple[str, ...]
    wide: bool = False
    recorded: tuple[int, ...] = ()  # numbers of ranks from whose recordings the others were learned
    advice: tuple[str, ...] = ()  # on further recordings

    @property
    def title(self) -> str:
        """Title of the curve."""
        target, growth = self.question.targets[0], self.question.growth
        name = str(target.problem) if growth is None else target.problem.name
        kind = "strong scaling" if growth is None else f"weak scaling of {growth.name}"
        return f"{name} on {target.platform.name}, {kind}, by {self.question.predictor}"

    @property
    def bills(self) -> list[Bill | None]:
        """Return the bills of the rows; None: the row has no point, or none is asked for."""
        return [row.bill(self.question.costs) if self.question.costs.asked else None for row in self.rows]

    def rows_to_json(self) -> list[dict[str, Any]]:
        """Return the rows as JSON values, with their bills where they are asked for."""
        asked = self.question.costs.asked
        return [
            row.to_json() | ({"bill": None if made is None else made.to_json()} if asked else {})
            for row, made in zip(self.rows, self.bills, strict=True)
        ]

    @property
    def grows(self) -> str | None:
        """Name of what grows in weak scaling."""
        return None if self.question.growth is None else self.question.growth.name

    def text(self) -> str:
        """Return the table and what it says."""
        lines = [*prose_lines(self.title), "", *table(self.rows, self.grows, self.bills, wide=self.wide), ""]
        for said in (*sentences(self.rows, self.grows), *notes(self.rows), *cost_notes(self.bills), *self.advice):
            lines += prose_lines(said, indent="    ", first="")
        return "\n".join(lines).rstrip()

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON values, in SI units."""
        target, best, knee = self.question.targets[0], best_row(self.rows), knee_row(self.rows)
        return {
            "app": target.problem.name,
            "class": target.problem.label,
            "platform": target.platform.name,
            "platform_hash": target.platform.content_hash,
            "predictor": self.question.predictor,
            "weak": None if self.question.growth is None else asdict(self.question.growth),
            "rows": self.rows_to_json(),
            "best_ranks": None if best is None else best.ranks,
            "knee_ranks": None if knee is None else knee.ranks,
            "recorded": list(self.recorded),
            "advice": list(self.advice),
            "cautions": list(self.cautions),
        }

    @property
    def status(self) -> int:
        """Exit status: that of the points that failed."""
        return status_of(row.failure for row in self.rows if row.failure is not None)


def question_from_request(request: ScaleRequest) -> Question:
    """Return the targets that the options ask for.

    Raises:
        UserError: The options do not fit together, or name something unknown.
    """
    name = predictor(request.predictor).name if ":" not in request.predictor else request.predictor
    model = predictor(name)  # raises the error for an unknown one before anything runs
    if request.recorded or request.known:
        (model,) = with_learning_options([model], request.recorded, request.known)
    check_advice(model, asked=request.advise)
    growth, settings, costs = growth_from_request(request), settings_from_request(request), costs_from_request(request)
    with doing("reading the platform"):
        platform = platform_from_request(request)
    costs.check(platform)
    if request.ranks is None:
        most = places(platform, 1 if request.ranks_per_host is None else request.ranks_per_host)
        ranks = counts("--ranks", f"1:{most}")
    else:
        ranks = counts("--ranks", request.ranks)
    largest = placement_from_request(request, platform, ranks[-1])  # raises the error of the largest number first
    targets = []
    for count, problem in zip(ranks, problems(request, ranks, growth), strict=True):
        placement = largest if count == len(largest) else placement_from_request(request, platform, count)
        targets.append(Target(problem, platform, placement))
        settings.spec(targets[-1])
    return Question(tuple(targets), settings, name, growth, model, costs)


def answer(request: ScaleRequest) -> Scaling | int:
    """Predict what a request asks for; with --dry-run say what that takes, and return the exit status."""
    folder = None if request.out is None else usable_folder("--out", request.out)
    if request.plot is not None:
        check_picture("--plot", request.plot)
    question = question_from_request(request)
    if request.dry_run:
        # Imported here because it is slow to import.
        from predictor.evidence.plan import planned

        groups = [(question.settings, [target]) for target in question.targets]
        return print_plan(request, planned(groups, [question.model], truths=False))
    made = scaling(request, question)
    if not any(row.point is not None for row in made.rows):
        failures = [row.failure for row in made.rows if row.failure is not None]
        raise failures[0]
    write_files(request, made, folder, made.rows_to_json(), {})
    return made


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for a CSV file: the columns of its bill stand beside the others."""
    if "bill" not in row:
        return dict(row)
    rest, made = {name: value for name, value in row.items() if name != "bill"}, row["bill"] or {}
    return rest | {name: made.get(name) for name in COLUMNS}


def scaling(request: ScaleRequest, question: Question) -> Scaling:
    """Return the curve of a question.

    Raises:
        UserError: An option is wrong.
        KeyboardInterrupt: With the number of points that are kept.
    """
    question, recorded = _with_recorded(request, question)
    runs = RunnerOptions(jobs=1, store=request.store, no_store=request.no_store, wall_limit=request.wall_limit)
    few = 0 if recorded is None else max(recorded.counts, default=0)
    asked = [
        Asked(target, question.settings, recorded.graph, runs)
        if recorded is not None and target.nranks <= few
        else Asked(target, question.settings, question.predictor, runs, request.recorded, request.known)
        for target in question.targets
    ]
    results = points(asked, request, [str(target) for target in question.targets])
    rows = tuple(rows_of(question.targets, results, question.growth, few))
    every = [text for row in rows if row.point is not None for text in row.point.cautions]
    by_kind: dict[str, list[str]] = {}
    for text in every:
        by_kind.setdefault(kind_of(text), []).append(text)
    counts = () if recorded is None else recorded.counts
    said = _advice(rows, counts) if request.advise else ()
    cautions = tuple(merged(texts) for texts in by_kind.values())
    return Scaling(question, rows, cautions, request.wide, counts, said)


def _with_recorded(request: ScaleRequest, question: Question) -> tuple[Question, Recorded | None]:
    """Return the question with the numbers of ranks that are recorded to learn from, and these."""
    if not isinstance(question.model, Learning):
        return question, None
    largest = question.targets[-1]
    with runner_from_request(request, saying=False) as runner:
        recorded = recorded_for(question.model, largest, Broker.of(question.settings, [largest], runner))
    if recorded is None or question.growth is not None:  # in weak scaling each point has a problem of its own
        return question, recorded
    have = {target.nranks: target for target in question.targets}
    for count in recorded.counts:
        if count not in have:
            placement = placement_from_request(request, largest.platform, count)
            have[count] = Target(largest.problem, largest.platform, placement)
    return replace(question, targets=tuple(have[count] for count in sorted(have))), recorded


def _advice(rows: Sequence[Row], counts: Sequence[int]) -> tuple[str, ...]:
    learned = [row.point for row in rows if row.point is not None and row.point.calls]
    return tuple(advice(learned[-1].calls, counts)) if learned else ()


def write_files(
    request: ScaleRequest,
    made: Scaling,
    folder: Path | None,
    rows: Sequence[Mapping[str, Any]],
    simulated_s: Mapping[int, float],
) -> None:
    """Write the files that the options name.

    Args:
        request: The options.
        made: The curve.
        folder: The folder of --out; None: there is none.
        rows: The rows of the CSV file.
        simulated_s: Simulated times by the number of ranks, which the figure shows too.
    """
    if request.plot is None and folder is None:
        return
    # Imported here because it is slow to import.
    from platforms.plotting.charts import write_figures
    from predictor.scale.picture import scale_figure

    figure = scale_figure(made.rows, made.grows, made.title, simulated_s)
    if request.plot is not None:
        write_picture("--plot", request.plot, figure)
    if folder is not None:
        # Imported here because it is slow to import.
        import pandas as pd

        with written_into("--out", folder), doing("drawing the figures"):
            write_csv(pd.DataFrame(list(map(_flat, rows))), folder / "scale.csv")
            write_figures({"scale": figure}, folder)


def _say(request: ScaleRequest, made: Scaling) -> None:
    say_points(made, {})


def say_points(made: Scaling, others: Mapping[int, Failure]) -> None:
    """Print the errors of the points that failed, also of ``others`` by their ranks, and the cautions."""
    failed = {row.ranks: row.failure for row in made.rows if row.failure is not None}
    say_failures((f"{ranks} ranks", failure) for ranks, failure in {**others, **failed}.items())
    for caution in made.cautions:
        print(f"caution: {caution}", file=sys.stderr)


COMMAND = Command(
    "scale",
    ScaleRequest,
    answer,
    "Predict how the time of a program changes with the number of ranks: speed-up, efficiency, what holds it up, and "
    "the number from which on more do not help (docs/planning/scaling.md).",
    first=FIRST,
    after=_say,
    status=exit_status,
)
main = COMMAND.main
