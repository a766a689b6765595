"""Comparison of predicted scaling curves with simulated ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status, status_of
from apps.options.runner import runner_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.files.writing import usable_folder
from platforms.plotting.pictures import check_picture
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, percent, significant
from platforms.terminal.table import table_lines
from predictor.scale.cli import FIRST, Question, Scaling, question_from_request, say_points, scaling, write_files
from predictor.scale.request import ScaleRequest
from validation.presentation.tables import error_cell
from validation.series.case import Case
from validation.series.series import Series, carry_out

if TYPE_CHECKING:
    from apps.errors import SimulationError
    from apps.spec.settings import Settings
    from platforms.errors import UserError
    from validation.comparison.compare import Failure, Result, Witness


class Truths:
    """Collector of simulated times by the number of ranks."""

    def __init__(self) -> None:
        self.times_s: dict[int, float] = {}
        self.failures: dict[int, UserError | SimulationError] = {}

    def witness(self, settings: Settings) -> Witness | None:
        """Return None: the results are all that is needed."""
        return None

    def add(self, case: Case, outcome: Result | Failure) -> None:
        """Keep the simulated time, or the reason why there is none."""
        # Imported here because it is slow to import.
        from validation.comparison.compare import Failure

        if isinstance(outcome, Failure):
            self.failures[case.target.nranks] = outcome.error
        else:
            self.times_s[case.target.nranks] = outcome.simulated_s


@dataclass(frozen=True)
class ComparedScaling:
    """A predicted scaling curve and the simulated times."""

    made: Scaling
    simulated_s: Mapping[int, float]  # by ranks
    failures: Mapping[int, UserError | SimulationError]  # why a point has no simulated time

    @property
    def best_ranks(self) -> int | None:
        """Number of ranks with the largest simulated speed-up; None: nothing was simulated."""
        speed_ups = self.speed_ups()
        return max(speed_ups, key=lambda ranks: speed_ups[ranks], default=None)

    def speed_ups(self) -> dict[int, float]:
        """Return the simulated speed-ups over the first simulated point, as those of the prediction."""
        if not self.simulated_s:
            return {}
        first = min(self.simulated_s)
        weak = self.made.grows is not None
        return {
            ranks: self.simulated_s[first] / time_s * (ranks / first if weak else 1)
            for ranks, time_s in self.simulated_s.items()
        }

    def _errors_pct(self) -> dict[int, float]:
        return {
            row.ranks: 100 * (row.point.time_s / self.simulated_s[row.ranks] - 1)
            for row in self.made.rows
            if row.point is not None and row.ranks in self.simulated_s
        }

    def text(self) -> str:
        """Return the predicted curve, and a table of both."""
        errors, speed_ups = self._errors_pct(), self.speed_ups()
        rows: list[list[Any]] = [["ranks", "predicted", "simulated", "error %", "speed-up", "simulated"]]
        for row in self.made.rows:
            time_s = None if row.point is None else row.point.time_s
            rows.append(
                [
                    str(row.ranks), duration(time_s, like_s=time_s), duration(self.simulated_s.get(row.ranks)),
                    error_cell(errors.get(row.ranks)), significant(row.speed_up), significant(speed_ups.get(row.ranks)),
                ]
            )  # fmt: skip
        said = []
        if errors:
            said.append(f"largest error {percent(max(map(abs, errors.values())))} %")
        if self.best_ranks is not None:
            said.append(f"simulated, {self.best_ranks} ranks are the fastest")
        lines = [self.made.text(), "", *table_lines(rows, wide=self.made.wide), "", *prose_lines("; ".join(said))]
        return "\n".join(lines).rstrip()

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON values, with the simulated times and the errors of the prediction."""
        errors, speed_ups = self._errors_pct(), self.speed_ups()
        made = self.made.to_json()
        for row in made["rows"]:
            ranks = row["ranks"]
            row["simulated_s"], row["error_pct"] = self.simulated_s.get(ranks), errors.get(ranks)
            row["simulated_speed_up"] = speed_ups.get(ranks)
        return {**made, "simulated_best_ranks": self.best_ranks}

    @property
    def status(self) -> int:
        """Exit status: that of the points that failed."""
        return self.made.status or status_of(self.failures.values())


def answer(request: ScaleRequest) -> ComparedScaling | int:
    """Predict and simulate what a request asks for; with --dry-run print the required runs; return the exit status."""
    folder = None if request.out is None else usable_folder("--out", request.out)
    if request.plot is not None:
        check_picture("--plot", request.plot)
    question = question_from_request(request)
    series = _series(request, question)
    if request.dry_run:
        return print_plan(request, series.plan())
    made = scaling(request, question)
    truths, said = Truths(), Cautions()
    with runner_from_request(request, cautions=said, saying=False) as runner:
        carry_out(series, runner, truths)
    made = replace(made, cautions=tuple(dict.fromkeys((*made.cautions, *said.lines()))))
    compared = ComparedScaling(made, truths.times_s, truths.failures)
    write_files(request, made, folder, compared.to_json()["rows"], truths.times_s)
    return compared


def _series(request: ScaleRequest, question: Question) -> Series:
    """Return the series of the points, each a group of its own: a point may be the evidence for a larger one."""
    mapping = request.mapping or ("hostfile" if request.hostfile else "block")
    cases = tuple(Case(target, mapping, question.settings) for target in question.targets)
    return Series(cases, [question.model], alone=True)


def _say(request: ScaleRequest, compared: ComparedScaling) -> None:
    say_points(compared.made, compared.failures)


COMMAND = Command(
    "scale",
    ScaleRequest,
    answer,
    "Predict how the time of a program changes with the number of ranks, simulate every point, and compare both "
    "(docs/planning/scaling.md).",
    first=FIRST,
    after=_say,
    status=exit_status,
)
main = COMMAND.main
