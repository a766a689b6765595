"""What a report is made of: collected while a validation goes on, written at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from platforms.errors import UserError
from platforms.writing import check_writable, write_text

if TYPE_CHECKING:
    import pandas as pd

    from apps.record import RunRecord
    from apps.spec import RunSpec, Settings, Target
    from predictor.predict import Answer
    from validation.compare import Failure, Result

OPTION = "--report"


@dataclass(frozen=True)
class Run:
    """A simulation that stands behind the results."""

    spec: RunSpec
    iterations: int  # that were simulated
    time_s: float  # of all iterations
    messages: int  # sent in those that were simulated, all ranks
    command: tuple[str, ...]  # as the record has it
    asked_by: str  # a predictor, or nothing for the truth


@dataclass(frozen=True)
class Case:
    """One target and its truth."""

    target: Target
    mapping: str
    measured: bool  # the truth was, on a real machine
    time_s: float
    compute_s: float | None  # of the rank that computes longest; None: not known
    period_s: float | None  # of one iteration, on average; None: it has none, or all were simulated
    run: Run | None  # None: it was measured


@dataclass(frozen=True)
class Told:
    """One prediction; its row of the results has the same place."""

    case: int
    parts: Mapping[str, float]  # s
    refusal: str | None
    evidence: tuple[str, ...]  # kinds of what it asked for, as in EvidenceRequest


@dataclass(frozen=True)
class Asked:
    """What was asked for, as the user wrote it."""

    command: tuple[str, ...]  # the words of the command line
    file: tuple[str, str] | None = None  # name and text of a campaign file
    truth: str | None = None  # file of the measured times
    energy: bool = False  # energies are shown
    platform_words: tuple[str, ...] = ()  # options that describe the one platform, as platforms.generate takes them


@dataclass
class Gathered:
    """Everything a report is made of but the pictures' own runs."""

    asked: Asked
    settings: list[Settings] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)  # of validation.compare.Result
    told: list[Told] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)  # each once
    failures: list[tuple[str, str]] = field(default_factory=list)  # the target and what was wrong
    interrupted: str | None = None  # why it has not come to its end

    @property
    def results(self) -> pd.DataFrame:
        """One row per prediction, with the columns of validation.compare.Result."""
        import pandas as pd

        from validation.compare import COLUMNS

        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    @property
    def answered(self) -> int:
        """How many of the rows hold a prediction."""
        return sum(told.refusal is None for told in self.told)


class Reporter:
    """Writes a report on leaving the context, after an error or interrupt too, of what there is by then.

    ``path`` None: nothing is collected, and nothing written.  Raises UserError, before anything is run, for a place
    where no file can be written.
    """

    def __init__(self, path: str | None, asked: Asked):
        if path is not None:
            check_writable(OPTION, path)
            if not path.lower().endswith((".html", ".htm")):
                raise UserError(f"{OPTION} {path}", "a report is a page for a browser", "Call it .html")
        self._path = path
        self._gathered = Gathered(asked)
        self._known: dict[tuple[Any, ...], int] = {}

    def __enter__(self) -> Reporter:
        return self

    def witness(self, settings: Settings) -> Callable[[Answer, RunRecord, Result], None] | None:
        """What validation.compare.validate is to tell of every answer under these settings."""
        if self._path is None:
            return None
        if settings not in self._gathered.settings:
            self._gathered.settings.append(settings)
        return lambda answer, truth, result: self._add(answer, truth, result, settings)

    def add(self, outcome: Result | Failure) -> None:
        """Keeps the reason where a target has no results; the results come with their answers, to the witness."""
        from validation.compare import Failure

        if isinstance(outcome, Failure):
            self._gathered.failures.append((_named(outcome.target), str(outcome.error)))

    def _add(self, answer: Answer, truth: RunRecord, result: Result, settings: Settings) -> None:
        from apps.record import RunRecord

        gathered = self._gathered
        gathered.rows.append(result.to_json())
        gathered.told.append(
            Told(
                case=self._case(answer.target, truth, result.mapping, settings),
                parts={} if answer.prediction is None else dict(answer.prediction.parts),
                refusal=answer.refusal,
                evidence=tuple(one.request.kind for one in answer.evidence),
            )
        )
        for one in answer.evidence:
            if one.request.kind == "run" and isinstance(one.answer, RunRecord):
                self._run(one.request.target, settings, one.answer, answer.predictor)

    def _case(self, target: Target, truth: RunRecord, mapping: str, settings: Settings) -> int:
        key = ("case", _key(target), settings, mapping)
        if key not in self._known:
            self._known[key] = len(self._gathered.cases)
            measured, how = truth.source == "measurement", truth.extrapolation
            self._gathered.cases.append(
                Case(
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

    def _run(self, target: Target, settings: Settings, record: RunRecord, asked_by: str) -> Run:
        key = ("run", _key(target), settings)
        if key not in self._known:
            self._known[key] = len(self._gathered.runs)
            spec, how = settings.spec(target), record.extrapolation
            iterations = spec.full_iterations if how is None else how.simulated
            missing = 0 if how is None else how.iterations - how.simulated
            messages = sum(record.messages) - missing * sum(record.iteration_messages)
            self._gathered.runs.append(Run(spec, iterations, record.time_s, messages, record.command, asked_by))
        place, runs = self._known[key], self._gathered.runs
        if not asked_by:
            runs[place] = replace(runs[place], asked_by="")  # what was evidence of another target may be one too
        return runs[place]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._path is None or (kind is not None and not self._gathered.rows):
            return
        if kind is not None:
            self._gathered.interrupted = str(error) or kind.__name__
        from validation.report.page import page

        started = time.perf_counter()
        text = page(self._gathered, progress=_progress)
        write_text(OPTION, self._path, text)
        size_kb = len(text.encode()) / 1000
        print(f"report: {self._path}, {size_kb:,.0f} kB, in {time.perf_counter() - started:.1f} s", file=sys.stderr)


def _progress(what: str) -> None:
    print(f"report: {what}", file=sys.stderr, flush=True)


def _key(target: Target) -> tuple[Any, ...]:
    """The target, quicker to compare: platforms may have thousands of hosts."""
    return target.problem, target.platform.name, target.platform.content_hash, target.placement


def _named(target: Target) -> str:
    return f"{target.problem} on {target.nranks} ranks of {target.platform.name}"
