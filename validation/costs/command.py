"""The command ``gridval run`` with --price and --carbon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from apps.errors import OptionError
from apps.options.exit_status import exit_status
from apps.options.machines import machine_from_request
from platforms.command.command import Command
from platforms.prices.options import CostOptions, CostQuestion, costs_from_request
from validation.comparison.rows import Row
from validation.costs.series import COST_COLUMNS, CostedSeries
from validation.costs.text import costs_text
from validation.options import asked_platforms
from validation.output.output import Output
from validation.run import COMMAND as RUN
from validation.run import RunRequest, run
from validation.series.series import Series

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


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
