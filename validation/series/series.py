"""A series of runs: cases, and the predictors that each of them is asked of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from validation.series.case import Case

if TYPE_CHECKING:
    from apps.runs.plan import Plan
    from apps.runs.runner import Runner
    from apps.spec.settings import Settings
    from apps.spec.target import Target
    from predictor.base import Predictor
    from predictor.defaults.choice import PredictorsOf
    from predictor.evidence.broker import Broker
    from validation.comparison.compare import Failure, Result, Witness
    from validation.comparison.truth import MeasuredTimes


@dataclass(frozen=True)
class Series:
    """Cases to predict, to simulate or measure, and to compare.

    Cases of the same settings and mapping form a group.  No predictor sees a run of a target of the group as evidence.

    Raises:
        UserError: The settings of a case are impossible; raised before anything runs.
    """

    cases: tuple[Case, ...]
    predictors: Sequence[Predictor] | PredictorsOf  # of every target, or by target
    alone: bool = False  # each case is a group of its own, and the cases are evaluated in their order
    measured: MeasuredTimes | None = None  # measured times, which are the truth instead of simulations

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

    def plan(self, *, truths: bool = True) -> Plan:
        """Return the simulations of the series, for --dry-run; ``truths``: also those of the targets."""
        # Imported here for a quick start: it is slow to import.
        from predictor.evidence.plan import planned

        groups = [(own[0].settings, _targets(own)) for own in self._grouped(self.cases).values()]
        return planned(groups, self.predictors, truths=truths)

    def start(self, runner: Runner, cases: Sequence[Case] | None = None) -> None:
        """Let the runner start on all runs that are known to be needed.

        Args:
            runner: Makes the runs.
            cases: Those of the series whose runs are started; None: all.
        """
        # Imported here for a quick start: it is slow to import.
        from validation.comparison.compare import needed_runs

        runner.start(
            spec
            for key, own in self._grouped(self.cases if cases is None else cases).items()
            for spec in needed_runs(_targets(own), self.predictors, self._brokers[key], self.measured)
        )

    def outcomes(
        self,
        runner: Runner,
        cases: Sequence[Case] | None = None,
        *,
        witness: Callable[[Settings], Witness | None] = lambda _: None,
    ) -> Iterator[tuple[Case, Result | Failure]]:
        """Yield a result per case and predictor, or one failure for a case that could not be evaluated.

        The groups come in the order of their first cases, and their cases in order.  A case that fails does not stop
        the others.

        Args:
            runner: Makes the runs.
            cases: Those of the series that are evaluated; None: all.
            witness: Gives the witness of ``validate`` for the cases of some settings.
        """
        # Imported here for a quick start: it is slow to import.
        from validation.comparison.compare import by_target

        for key, own in self._grouped(self.cases if cases is None else cases).items():
            found = by_target(
                _targets(own), self.predictors, self._brokers[key].on(runner), mapping=own[0].mapping, runner=runner,
                measured=self.measured, witness=witness(own[0].settings),
            )  # fmt: skip
            for case, outcomes in zip(own, found, strict=True):
                for outcome in outcomes:
                    yield case, outcome

    @cached_property
    def _brokers(self) -> dict[Hashable, Broker]:
        """The broker of each group, still without a runner."""
        # Imported here for a quick start: they are slow to import.
        from apps.runs.simulate import simulate
        from predictor.evidence.broker import Broker

        groups = self._grouped(self.cases)
        return {key: Broker(own[0].settings, _targets(own), record=simulate) for key, own in groups.items()}

    def _grouped(self, cases: Iterable[Case]) -> dict[Hashable, list[Case]]:
        found: dict[Hashable, list[Case]] = {}
        for case in cases:
            found.setdefault(id(case) if self.alone else (case.settings, case.mapping), []).append(case)
        return found


def _targets(cases: Iterable[Case]) -> list[Target]:
    return [case.target for case in cases]
