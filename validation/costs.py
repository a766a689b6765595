"""Cost and emissions of runs, predicted beside simulated: ``gridval run`` with --price and --carbon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from apps.errors import OptionError
from apps.options.exit_status import exit_status
from apps.options.machines import machine_from_request
from apps.results.record import RunRecord
from platforms.command.command import Command
from platforms.prices.bill import UNKNOWN, Bill, bill
from platforms.prices.options import CostOptions, CostQuestion, costs_from_request
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import significant
from platforms.terminal.table import table_lines
from predictor.answers.answers import Answer
from predictor.costs.bills import predicted_bill
from validation.comparison.compare import Failure, Result, Witness
from validation.comparison.rows import Row
from validation.options import asked_platforms
from validation.output import Output
from validation.presentation.tables import truth_name
from validation.run import COMMAND as RUN
from validation.run import RunRequest, run
from validation.series.case import Case
from validation.series.series import Series

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

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


def costs_text(rows: Sequence[Row]) -> str:
    """Return a table of predicted and true costs and emissions, and below it what is unknown and the sources."""
    truth = truth_name(row["truth"] for row in rows)
    currency = next((row["currency"] for row in rows if row["currency"] is not None), None)
    emits = any(row["carbon_simulated_g"] is not None or "kWh" in row["bill_notes"] for row in rows)
    emits = emits or any(row["carbon_predicted_g"] is not None for row in rows)
    later = any(row["least_carbon_g"] is not None for row in rows)
    head = ["platform", "program", "predictor"]
    head += [f"predicted {currency}", truth] if currency is not None else []
    head += ["predicted g CO2e", truth] if emits else []
    head += ["least g CO2e", "start"] if later else []
    lines = [head]
    for row in rows:
        cells = [str(row["scenario"]), " ".join(filter(None, (row["app"], row["class"]))), str(row["predictor"])]
        cells += [_shown(row[f"cost_{of}"], row) for of in ("predicted", "simulated")] if currency is not None else []
        cells += [_shown(row[f"carbon_{of}_g"], row) for of in ("predicted", "simulated")] if emits else []
        cells += [_shown(row["least_carbon_g"], row), row["least_carbon_start"] or "-"] if later else []
        lines.append(cells)
    notes = dict.fromkeys(row["bill_notes"] for row in rows if row["bill_notes"])
    table = table_lines(lines, left={0, 1, 2})
    return "\n".join(["Costs and emissions", "", *table, *(line for note in notes for line in prose_lines(note))])


def _shown(value: float | None, row: Row) -> str:
    if value is not None:
        return significant(value, 4)
    return "-" if row["predicted_s"] is None else UNKNOWN


@dataclass(frozen=True, kw_only=True)
class CostedRunRequest(RunRequest, CostOptions):
    """Targets to predict, to simulate or measure, and to compare, with prices and emissions."""


class CostedOutput(Output):
    """The output of a validation with a table of costs and emissions, and their columns in results.csv."""

    def results(self) -> pd.DataFrame:
        """Return the results so far, with the columns of the bills."""
        # Imported here because it is slow to import.
        import pandas as pd

        costs = pd.DataFrame([{name: row.get(name) for name in COST_COLUMNS} for row in self.rows])
        return pd.concat([super().results(), costs], axis=1)

    def _as_text(self, summary: Sequence[Row], league: Mapping[str, pd.DataFrame]) -> str:
        shown = super()._as_text(summary, league)
        return shown if self.as_json or not self.rows else f"{shown}\n\n{costs_text(self.rows)}"


def costed(question: CostQuestion, series: Series) -> CostedSeries:
    """Return the series with bills of its results."""
    return CostedSeries(**vars(series), question=question)


def answer(request: CostedRunRequest) -> int:
    """Predict, simulate, compare and print, with the bills that are asked for; return the exit status."""
    question = costs_from_request(request)
    if not question.asked:
        return run(request)
    if request.no_target:
        raise OptionError(
            "--no-target", "has no costs and emissions", "Use gridval predict, or drop --price and --carbon"
        )
    for platform in asked_platforms(request) if machine_from_request(request) is None else ():
        question.check(platform)
    return run(request, partial(costed, question), CostedOutput)


COMMAND = Command("run", CostedRunRequest, answer, RUN.description, epilog=RUN.epilog, status=exit_status)
main = COMMAND.main
