"""The cases of a series that have the same settings: their runs, and the comparison of predictions with the truth."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from apps.errors import SimulationError
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.terminal.progress import doing
from predictor.answers.answers import Answer, answers_or_reasons
from predictor.base import Predictor, takes
from predictor.evidence.broker import Broker
from validation.comparison.compare import Failure, Result, Witness, compare
from validation.comparison.truth import MeasuredTimes
from validation.series.case import Case

_AHEAD = 16  # most cases whose answers wait for their truths; answers may hold large recordings


class Group:
    """Cases of the same settings.  No predictor sees a run of the target that it predicts.

    Args:
        cases: The cases.
        asked: The predictors of a target.
        measured: Measured times, which are the truth instead of simulations; None: the targets are simulated.
    """

    def __init__(
        self, cases: Sequence[Case], asked: Callable[[Target], Sequence[Predictor]], measured: MeasuredTimes | None
    ):
        self._settings, self._asked, self._measured = cases[0].settings, asked, measured

    def _broker(self, target: Target) -> Broker:
        """Return the broker for one target; a run of another target of the series is evidence as any other."""
        return Broker(self._settings, [target], record=simulate)

    def runs(self, cases: Sequence[Case]) -> Iterator[RunSpec]:
        """Yield all runs to start at first: those of the evidence, then the targets, the largest first.

        With measured times these are only the runs of the evidence for measured targets.  On a machine there are none:
        one run waits for the other there, and no simulation may disturb it.
        """
        if self._settings.machine is not None:
            return
        targets = [case.target for case in cases]
        for target in targets:
            if self._measured is not None and not self._measured.knows(target):
                continue
            for model in (model for model in self._asked(target) if takes(model, target)):
                with suppress(UserError):  # reported when this target is evaluated
                    yield from self._broker(target).specs(model.requests([target]))
        if self._measured is None:
            yield from map(self._settings.spec, sorted(targets, key=lambda target: -target.nranks))

    def outcomes(
        self, cases: Sequence[Case], runner: Runner, witness: Witness | None
    ) -> Iterator[tuple[Case, Result | Failure]]:
        """Yield the outcomes of cases in their order; predictors already answer while a truth is simulated."""
        most = 0 if self._settings.machine is not None else _AHEAD
        waiting: deque[_Answered] = deque()
        for case in cases:
            waiting.append(self._answered(case, self._broker(case.target).on(runner)))
            while waiting and (len(waiting) > most or waiting[0].has_truth(runner)):
                yield from waiting.popleft().compared(runner, witness)
        for answered in waiting:
            yield from answered.compared(runner, witness)

    def _answered(self, case: Case, broker: Broker) -> _Answered:
        """Return every predictor's answer for the case."""
        answers: list[Answer] = []
        try:
            spec = self._settings.spec(case.target)
            truth = spec if self._measured is None else self._measured.record(spec)
            for model in self._asked(case.target):
                with doing(f"{model.name} predicts {case.target}"):
                    answers += answers_or_reasons(model, [case.target], broker)
        except (UserError, SimulationError) as err:
            return _Answered(case, (), err)
        return _Answered(case, answers, truth)


@dataclass(frozen=True)
class _Answered:
    """The answers for a case, whose truth may not be there yet."""

    case: Case
    answers: Sequence[Answer]
    truth: RunRecord | RunSpec | UserError | SimulationError  # known, or to be simulated, or why there is none

    def has_truth(self, runner: Runner) -> bool:
        """Return whether the truth is there, or will not come."""
        return not isinstance(self.truth, RunSpec) or runner.has(self.truth)

    def compared(self, runner: Runner, witness: Witness | None) -> Iterator[tuple[Case, Result | Failure]]:
        """Yield the outcomes, after waiting for the truth."""
        target, truth = self.case.target, self.truth
        try:
            if isinstance(truth, UserError | SimulationError):
                raise truth
            if isinstance(truth, RunSpec):
                with doing(f"simulating {target}"):
                    truth = runner.record(truth)
            if truth.time_s == 0:
                problem = "takes no time, so that relative errors are undefined"
                raise UserError(str(target), problem, "Let it compute or communicate")
        except (UserError, SimulationError) as err:
            yield self.case, Failure(target, err)
            return
        for answer in self.answers:
            result = compare(answer, truth, mapping=self.case.mapping)
            if witness is not None:
                witness(answer, truth, result)
            yield self.case, result
