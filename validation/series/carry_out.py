"""Carry out a series: every run is made, and every outcome goes to all who collect them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from platforms.terminal.progress import Progress

if TYPE_CHECKING:
    from apps.results.record import RunRecord
    from apps.runs.runner import Runner
    from apps.spec.settings import Settings
    from predictor.answers.answers import Answer
    from validation.comparison.compare import Failure, Result, Witness
    from validation.series.case import Case
    from validation.series.series import Series


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
