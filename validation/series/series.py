"""A series of runs: cases, the predictors of each, and how all are carried out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from platforms.terminal.progress import Progress
from validation.series.case import Case

if TYPE_CHECKING:
    from apps.results.record import RunRecord
    from apps.runs.limits import EvidenceLimit
    from apps.runs.plan import Plan
    from apps.runs.runner import Runner
    from apps.spec.settings import Settings
    from apps.spec.target import Target
    from predictor.answers.answers import Answer
    from predictor.base import Predictor
    from predictor.defaults.choice import PredictorsOf
    from validation.comparison.compare import Failure, Result, Witness
    from validation.comparison.truth import MeasuredTimes
    from validation.series.group import Group


class Collector(Protocol):
    """Collects the outcomes of a series, such as the output of a command or its report."""

    def witness(self, settings: Settings) -> Witness | None:
        """Return the witness of ``Series.outcomes`` for the cases of these settings; None: there is none."""
        ...

    def add(self, case: Case, outcome: Result | Failure) -> None:
        """Keep a result, or a failure."""
        ...


def carry_out(series: Series, runner: Runner, *collectors: Collector) -> None:
    """Evaluate all cases and hand each outcome to the collectors as soon as it is known; show the progress.

    After an error or an interrupt the collectors have the outcomes so far, which an output then shows; a line on
    standard error gives the number of missing ones.
    """

    def witness(settings: Settings) -> Witness | None:
        witnesses = [
            witness for witness in (collector.witness(settings) for collector in collectors) if witness is not None
        ]

        def everyone(answer: Answer, truth: RunRecord, result: Result) -> None:
            for witness in witnesses:
                witness(answer, truth, result)

        return everyone if witnesses else None

    # Imported here because it is slow to import.
    from validation.comparison.compare import Failure

    progress, done, total = Progress(), 0, series.predictions
    try:
        for case, outcome in series.outcomes(runner, witness=witness):
            for collector in collectors:
                collector.add(case, outcome)
            if not isinstance(outcome, Failure):
                done += 1
                progress(f"{outcome.predictor}, {outcome.app} on {outcome.scenario}", done, total)
    finally:
        progress.close()
        if 0 < done < total:
            print(f"{done} of {total} predictions", file=sys.stderr)


@dataclass(frozen=True)
class Series:
    """Cases to predict, to simulate or measure, and to compare.

    Cases of the same settings and mapping form a group.  No predictor sees a run of the target that it predicts.

    Raises:
        UserError: The settings of a case are impossible; raised before anything runs.
    """

    cases: tuple[Case, ...]
    predictors: Sequence[Predictor] | PredictorsOf  # of every target, or by target
    alone: bool = False  # each case is a group of its own, and the cases are evaluated in their order
    measured: MeasuredTimes | None = None  # measured times, which are the truth instead of simulations
    left_out: tuple[str, ...] = ()  # why cases of a product are not among these

    def __post_init__(self) -> None:
        for case in self.cases:
            case.settings.spec(case.target)

    def asked(self, target: Target) -> Sequence[Predictor]:
        """Return the predictors of a target."""
        return self.predictors(target) if callable(self.predictors) else self.predictors

    @property
    def predictions(self) -> int:
        """Number of predictions; one that a predictor refuses counts too."""
        return sum(len(self.asked(case.target)) for case in self.cases)

    def plan(self, *, truths: bool = True, limit: EvidenceLimit | None = None) -> Plan:
        """Return the simulations of the series, for --dry-run.

        Args:
            truths: Those of the targets count too.
            limit: Limit of the evidence of a prediction; None: the usual one.
        """
        # Imported here because it is slow to import.
        from predictor.evidence.plan import planned

        groups = self._by_group(self.cases).values()
        alike = [(cases[0].settings, [case.target for case in cases]) for cases in groups]
        return planned(alike, self.predictors, truths=truths, limit=limit)

    def start(self, runner: Runner, cases: Sequence[Case] | None = None) -> None:
        """Let the runner start on all runs of some cases, None: of all, that are known to be needed."""
        groups = self._by_group(self.cases if cases is None else cases).items()
        runner.start(spec for key, some in groups for spec in self._groups[key].runs(some))

    def outcomes(
        self,
        runner: Runner,
        cases: Sequence[Case] | None = None,
        *,
        witness: Callable[[Settings], Witness | None] = lambda _: None,
    ) -> Iterator[tuple[Case, Result | Failure]]:
        """Yield a result per case and predictor, or one failure for a case that could not be evaluated.

        The groups come in the order of their first cases, and their cases in order.  A predictor that asks for a run
        that it may not see gives no answer, and neither does one whose evidence is not available.  A case that fails
        does not stop the others.

        Args:
            runner: Makes the runs.
            cases: Those of the series that are evaluated; None: all.
            witness: Returns, for some settings, a function that is called with every answer, its truth and its result
                before the result is yielded.
        """
        self.start(runner, cases)
        for key, some in self._by_group(self.cases if cases is None else cases).items():
            yield from self._groups[key].outcomes(some, runner, witness(some[0].settings))

    @cached_property
    def _groups(self) -> dict[Hashable, Group]:
        # Imported here because it is slow to import.
        from validation.series.group import Group

        groups = self._by_group(self.cases)
        return {key: Group(cases, self.asked, self.measured) for key, cases in groups.items()}

    def _by_group(self, cases: Iterable[Case]) -> dict[Hashable, list[Case]]:
        groups: dict[Hashable, list[Case]] = {}
        for case in cases:
            groups.setdefault(id(case) if self.alone else (case.settings, case.mapping), []).append(case)
        return groups
