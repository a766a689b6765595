"""A series whose results have bills: of the prediction and of the true run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apps.results.record import RunRecord
from platforms.prices.bill import Bill, bill
from platforms.prices.options import CostQuestion
from predictor.answers.answers import Answer
from predictor.costs.bills import predicted_bill
from validation.comparison.compare import Failure, Result, Witness
from validation.comparison.rows import Row
from validation.series.case import Case
from validation.series.series import Series

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from apps.spec.settings import Settings

COST_COLUMNS = (
    *("cost_predicted", "cost_simulated", "currency"),
    *("carbon_predicted_g", "carbon_simulated_g", "start", "least_carbon_start", "least_carbon_g", "bill_notes"),
)


def true_bill(question: CostQuestion, answer: Answer, truth: RunRecord) -> Bill:
    """Return the bill of a true run: its time, and for the emissions the energy of each host by SimGrid's plugin."""
    target = answer.target
    hosts = dict.fromkeys(target.placement)
    energies_j = truth.energy_j if truth.energy_j and all(host in truth.energy_j for host in hosts) else None
    why = "the run was measured, not simulated" if truth.source == "measurement" else "the platform gives no watts"
    return bill(
        question, target.platform, target.placement, time_s=truth.time_s, energies_j=energies_j, no_energy=why
    )  # fmt: skip


@dataclass(frozen=True)
class CostedResult(Result):
    """A result with the values of its bills."""

    costs: Row = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the values by column name, those of the bills too."""
        values = super().to_json()
        costs = values.pop("costs")
        return {**values, **costs}


@dataclass(frozen=True)
class CostedSeries(Series):
    """A series whose results have bills."""

    question: CostQuestion = field(default_factory=lambda: CostQuestion(None, None))

    def outcomes(
        self,
        runner: Runner,
        cases: Sequence[Case] | None = None,
        *,
        witness: Callable[[Settings], Witness | None] = lambda _: None,
    ) -> Iterator[tuple[Case, Result | Failure]]:
        """Yield the outcomes of ``Series.outcomes``, with the bills of the results."""
        seen: dict[int, CostedResult] = {}

        def billing(settings: Settings) -> Witness:
            other = witness(settings)

            def note(answer: Answer, truth: RunRecord, result: Result) -> None:
                costed = CostedResult(**vars(result), costs=bill_row(self.question, answer, truth))
                seen[id(result)] = costed
                if other is not None:
                    other(answer, truth, costed)

            return note

        for case, outcome in super().outcomes(runner, cases, witness=billing):
            yield case, outcome if isinstance(outcome, Failure) else seen.pop(id(outcome))


def bill_row(question: CostQuestion, answer: Answer, truth: RunRecord) -> Row:
    """Return the columns COST_COLUMNS of an answer and its truth.

    Raises:
        UserError: A series of emissions has no values for the time of a run.
    """
    true = true_bill(question, answer, truth)
    made = None if answer.prediction is None else predicted_bill(question, answer.prediction, answer.target)
    notes = [true.no_cost, true.no_carbon, *([] if made is None else [made.no_carbon])]
    known = true if made is None else made
    return {
        "cost_predicted": None if made is None else made.cost,
        "cost_simulated": true.cost,
        "currency": true.currency,
        "carbon_predicted_g": None if made is None else made.carbon_g,
        "carbon_simulated_g": true.carbon_g,
        "start": known.start,
        "least_carbon_start": known.least_start,
        "least_carbon_g": known.least_carbon_g,
        "bill_notes": "; ".join(dict.fromkeys(filter(None, (*notes, *true.sources)))),
    }
