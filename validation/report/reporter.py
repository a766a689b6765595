"""Collect the content of a report during a validation, and write the report at the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from apps.results.cautions import Cautions
from apps.results.record import RunRecord
from platforms.errors import UserError
from platforms.files.writing import check_writable, usable_folder, write_text
from platforms.terminal.progress import Progress
from validation.report.gather import Gathered, GraphNote, Invocation, ListedRun, PredictionNote, ReportedTarget

if TYPE_CHECKING:
    from apps.spec.settings import Settings
    from apps.spec.target import Target
    from predictor.answers.answers import Answer
    from validation.comparison.compare import Failure, Result, Witness
    from validation.series.case import Case as SeriesCase

OPTION = "--report"
GRAPH_PREDICTORS = ("dpgraph", "dpgraph:known")  # whose times of elements the page shows


class Reporter:
    """Context manager that collects the outcomes of a validation and writes the report on exit.

    After an error or interrupt, the report has the outcomes so far.

    Args:
        path: File of the report; None: nothing is collected or written.
        invocation: The command.
        cautions: The cautions about the runs, complete when the context ends; None: none.
        keep_part: After an error or interrupt, write the outcomes so far; False: write nothing.
        progress: Takes a description of what is being written, the steps done and their number; None: the terminal
            shows it.

    Raises:
        UserError: The file cannot be written or is not named .html; raised before anything is run.
    """

    def __init__(
        self, path: str | None, invocation: Invocation, cautions: Cautions | None = None, *, keep_part: bool = True,
        progress: Callable[[str, int, int], None] | None = None,
    ):  # fmt: skip
        if path is not None:
            if path and not path.lower().endswith((".html", ".htm")):
                raise UserError(f"{OPTION} {path}", "a report is an HTML page", "Name it .html")
            if path and not os.path.exists(os.path.dirname(path) or "."):
                usable_folder(OPTION, os.path.dirname(path))
            check_writable(OPTION, path)
        self._path, self._keep_part, self._progress = path, keep_part, progress
        self._gathered = Gathered(invocation)
        self._cautions = Cautions() if cautions is None else cautions
        self._known: dict[tuple[Any, ...], int] = {}

    def __enter__(self) -> Reporter:
        return self

    def witness(self, settings: Settings) -> Witness | None:
        """Return the witness of a series under these settings; None: nothing is collected."""
        if self._path is None:
            return None
        if settings not in self._gathered.settings:
            self._gathered.settings.append(settings)
        return lambda answer, truth, result: self._add(answer, truth, result, settings)

    def add(self, case: SeriesCase, outcome: Result | Failure) -> None:
        """Keep the error of a failed target; results come through the witness."""
        # Imported here because it is slow to import.
        from validation.comparison.compare import Failure

        if isinstance(outcome, Failure):
            self._gathered.failures.append((_named(case.target), str(outcome.error)))

    def _add(self, answer: Answer, truth: RunRecord, result: Result, settings: Settings) -> None:
        gathered = self._gathered
        gathered.rows.append(result.to_json())
        made = answer.prediction
        gathered.notes.append(
            PredictionNote(
                case=self._case(answer.target, truth, result.mapping, settings),
                parts={} if made is None else dict(made.parts),
                refusal=answer.refusal,
                evidence=tuple(piece.request.kind for piece in answer.evidence),
                no_interval=None if made is None else made.no_interval,
                bottleneck=None if made is None else made.bottleneck,
            )
        )
        self._graph(answer)
        for piece in answer.evidence:
            if piece.request.kind == "run" and isinstance(piece.answer, RunRecord):
                self._run(piece.request.target, settings, piece.answer, answer.predictor)

    def _graph(self, answer: Answer) -> None:
        """Keep the first answer of a graph predictor for each program."""
        key = ("graph", answer.target.problem.name)
        if answer.predictor in GRAPH_PREDICTORS and answer.prediction is not None and key not in self._known:
            self._known[key] = len(self._gathered.graphs)
            note = GraphNote(answer.predictor, answer.target, answer.prediction.time_s, answer.evidence)
            self._gathered.graphs.append(note)

    def _case(self, target: Target, truth: RunRecord, mapping: str, settings: Settings) -> int:
        key = ("case", _key(target), settings, mapping)
        if key not in self._known:
            self._known[key] = len(self._gathered.cases)
            measured, how = truth.source == "measurement", truth.extrapolation
            self._gathered.cases.append(
                ReportedTarget(
                    target=target,
                    mapping=mapping,
                    measured=measured,
                    time_s=truth.time_s,
                    compute_s=max(truth.compute_s) if truth.compute_s else None,
                    period_s=None if how is None else how.period_s / how.period,
                    run=None if measured else self._run(target, settings, truth, ""),
                )
            )
        return self._known[key]

    def _run(self, target: Target, settings: Settings, record: RunRecord, asked_by: str) -> ListedRun:
        key = ("run", _key(target), settings)
        if key not in self._known:
            self._known[key] = len(self._gathered.runs)
            spec, how = settings.spec(target), record.extrapolation
            iterations = spec.full_iterations if how is None else how.simulated
            missing = 0 if how is None else how.iterations - how.simulated
            messages = sum(record.messages) - missing * sum(record.iteration_messages)
            self._gathered.runs.append(ListedRun(spec, iterations, record.time_s, messages, record.command, asked_by))
        place, runs = self._known[key], self._gathered.runs
        if not asked_by:
            runs[place] = replace(runs[place], asked_by="")  # a run that was evidence for another target is a truth too
        return runs[place]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._path is None or (kind is not None and not (self._keep_part and self._gathered.rows)):
            return
        if kind is not None:
            self._gathered.interrupted = str(error) or kind.__name__
        self._gathered.run_cautions = self._cautions.lines()
        # Imported here because they are slow to import.
        from validation.report.page import page
        from validation.report.sections import providers

        started = time.perf_counter()
        with closing(Progress()) as terminal:
            progress = self._progress or terminal
            steps = count()
            total = 1 + sum(provider.steps(self._gathered) for provider in providers())
            text = page(self._gathered, progress=lambda what: progress(f"report: {what}", next(steps), total))
        write_text(OPTION, self._path, text)
        size_kb = len(text.encode()) / 1000
        print(f"report: {self._path}, {size_kb:,.0f} kB, in {time.perf_counter() - started:.1f} s", file=sys.stderr)


def _key(target: Target) -> tuple[Any, ...]:
    """Return a key of the target that is fast to compare, since platforms may have thousands of hosts."""
    return target.problem, target.platform.name, target.platform.content_hash, target.placement


def _named(target: Target) -> str:
    return str(target)
