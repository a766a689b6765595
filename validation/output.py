"""Write the results of a command: tables, CSV files, figures, and the exit status that errors call for."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from apps.results.cautions import Cautions
from platforms.addons import is_there, provided
from platforms.command.request import Request, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import write_csv, written_into
from platforms.terminal.progress import doing
from platforms.terminal.prose import prose_lines
from validation.comparison.metrics import ALL_APPS, SUMMARY_COLUMNS, published_errors, summary_rows
from validation.comparison.rows import CASE, Row, distinct, numbers_known, records, rows_by
from validation.series.output import SeriesOutput

if TYPE_CHECKING:
    import pandas as pd

    from apps.results.record import RunRecord
    from apps.spec.settings import Settings
    from predictor.answers.answers import Answer
    from validation.comparison.compare import Result, Witness

TOO_WRONG = 3  # exit status
EXIT_STATUSES_AND_LIMIT = f"{EXIT_STATUSES} Also: {TOO_WRONG} the error of a predictor exceeds --fail-above."


@dataclass(frozen=True, kw_only=True)
class FailAboveOption(Request):
    """The option --fail-above."""

    fail_above: str | None = option(
        None,
        "PCT",
        f"exit with status {TOO_WRONG} if the mean absolute error of a predictor over all targets exceeds PCT %%, or "
        "if a predictor has no answer; the statuses of a failed run (1) and of bad input (2) take precedence",
        unit="%",
    )


def limit_from_request(request: FailAboveOption) -> float | None:
    """Return the limit in %, or None without the option.

    Raises:
        UserError: The option is not a number from 0 on.
    """
    if request.fail_above is None:
        return None
    try:
        limit_pct = float(request.fail_above)
    except ValueError:
        limit_pct = math.nan
    if not 0 <= limit_pct < math.inf:
        raise UserError(f"--fail-above {request.fail_above}", "not a number from 0 on", "Give %, such as 5")
    return limit_pct


def too_wrong(summary: Sequence[Row], limit_pct: float) -> str | None:
    """Return one line on the predictors whose mean absolute error over all apps exceeds the limit, or None.

    The line gives the errors by app.  A predictor without any answer counts as too wrong, because nothing is known of
    its error.

    Args:
        summary: The statistics, as ``summary_rows`` returns them.
        limit_pct: The largest error that is allowed, %.
    """
    said = []
    for (predictor,), rows in rows_by(summary, "predictor").items():
        errors = {row["app"]: row["mean_abs_error_pct"] for row in rows}
        over_all = errors.pop(ALL_APPS)
        if over_all is None:
            said.append(f"{predictor} has no answer")
        elif over_all > limit_pct:
            by_app = ", ".join(f"{app} {error:.4g} %" for app, error in errors.items() if error is not None)
            said.append(f"{predictor} {over_all:.4g} %" + (f" ({by_app})" if len(errors) > 1 else ""))
    return f"--fail-above {limit_pct:g}: mean absolute error too large: {'; '.join(said)}" if said else None


_DURATIONS = "predictor.durations.after:sentences"  # an add-on
_LEAGUE = "validation.ranking.output"  # an add-on
LEAGUE_FROM = 4  # predictors; the three of HCF are variants of one model and make no league


class DecisionCosts(Protocol):
    """Costs of the evidence for all candidates of choices (validation/ranking/output.py)."""

    @property
    def witness(self) -> Witness:
        """Adds up the costs of each answer's evidence."""


class Output(SeriesOutput):
    """The output of a validation: its rows and their summary by predictor.

    With at least LEAGUE_FROM predictors it includes the league (docs/validation/league.md).

    Args:
        folder: Folder for results.csv, summary.csv and, with ``figures``, a figure per app; None: write no files.
        as_json: Print one JSON object instead of tables.
        figures: Draw figures.
        energy: Show energies in the tables, and draw figures of them too.
        wide: Show all columns in the tables.
        fail_above: Largest mean absolute error of a predictor, %, that does not count as a failure; None: no limit.
        decision_costs: Costs of the evidence for all candidates, given by a command that compares choices.  Then there
            is always a league, and results and summary are not printed.
        cautions: The cautions about the runs, printed after the results.

    Raises:
        UserError: The folder cannot be written; raised before anything is run.
    """

    def __init__(
        self,
        folder: str | None,
        *,
        as_json: bool,
        figures: bool,
        energy: bool = False,
        wide: bool = False,
        fail_above: float | None = None,
        decision_costs: DecisionCosts | None = None,
        cautions: Cautions | None = None,
    ):
        super().__init__(folder, as_json=as_json, wide=wide, cautions=cautions)
        self._figures, self._energy = figures, energy
        self._fail_above, self._too_wrong = fail_above, False
        self._decision_costs = decision_costs
        self._notes: dict[str, None] = {}  # on the use of the nodes, each once

    def witness(self, settings: Settings) -> Witness | None:
        """Return the witness that notes how the nodes are used, or adds up the costs where choices are compared."""
        return self._note if self._decision_costs is None else self._decision_costs.witness

    def _note(self, answer: Answer, truth: RunRecord, result: Result) -> None:
        # Imported here because it is slow to import.
        from predictor.answers.answers import cores_note, slowest_cluster_note

        if not truth.compute_s:  # a time from a file says nothing of the ranks
            return
        target, busy_s = answer.target, dict[str, float]()
        for host, compute_s in zip(target.placement, truth.compute_s, strict=True):
            busy_s[host] = max(compute_s, busy_s.get(host, 0.0))
        slowest = slowest_cluster_note(target, busy_s, truth.time_s)
        said = (cores_note(target), None if slowest is None else f"{target.problem}: {slowest}")
        self._notes |= dict.fromkeys(note for note in said if note is not None)

    @property
    def status(self) -> int:
        """Exit status; 1 if a simulation failed, 2 if some input was bad, 3 if a predictor is too wrong, else 0."""
        return super().status or (TOO_WRONG if self._too_wrong else 0)

    def results(self) -> pd.DataFrame:
        """Return the results so far, one row per prediction, with the columns of comparison.compare.Result."""
        # Imported here because they are slow to import.
        import pandas as pd

        from validation.comparison.compare import COLUMNS

        return numbers_known(pd.DataFrame(self.rows, columns=list(COLUMNS)))

    def show(self, *, finished: bool) -> None:
        """Print the tables, and write the files."""
        with doing("summing up the results"):
            summary = summary_rows(self.rows)
            league = self._league()
            shown = self._as_text(summary, league)
        try:  # write the files even if printing fails (a closed pipe), and print even if no file can be written
            if self.rows and self.folder is not None:
                self._write(summary, league, self.folder)
        finally:
            if self.rows or self.as_json:
                print(shown, flush=True)
        if finished and is_there(_DURATIONS):
            for sentence in provided(_DURATIONS)(self.rows):  # measured times: no part of the results
                print(f"note: {sentence}", file=sys.stderr)
        if finished and self._fail_above is not None:
            said = too_wrong(summary, self._fail_above)
            self._too_wrong = said is not None
            if said:
                print(said, file=sys.stderr)

    def _league(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the league, or none if no league is wanted."""
        of_choices = self._decision_costs is not None
        if not self.rows or not is_there(_LEAGUE) or not (of_choices or _rivals(self.rows) >= LEAGUE_FROM):
            return {}
        tables: dict[str, pd.DataFrame] = provided(_LEAGUE).league_tables(self.results(), self._decision_costs)
        return tables

    def _as_text(self, summary: Sequence[Row], league: Mapping[str, pd.DataFrame]) -> str:
        """Return what is printed: one JSON object, or the tables and the closing sentences."""
        if self.as_json:
            shown = {"results": self.rows, "summary": summary}
            ranked = {name: records(table) for name, table in league.items()}
            return json.dumps({**shown, **ranked, "cautions": self.cautions.lines()})
        parts = []
        if self._decision_costs is None and self.rows:
            # Imported here because it is slow to import.
            from validation.presentation.tables import results_text, summary_text

            parts.append(results_text(self.rows, energy=self._energy, wide=self.wide))
            parts.append(summary_text(summary, published_errors(self.rows), energy=self._energy, wide=self.wide))
        if league:
            parts.append(provided(_LEAGUE).league_text(league, wide=self.wide))
        if self._decision_costs is None and self.rows:
            # Imported here because they are slow to import.
            from validation.presentation.sentences import closing_sentences, interval_sentence

            covered = None if league else interval_sentence(self.rows)  # the league has a table
            sentences = [*closing_sentences(self.rows), *([] if covered is None else [covered]), *self._notes]
            parts.append("\n".join(line for said in sentences for line in prose_lines(said)))
        return "\n\n".join(filter(None, parts))

    def _write(self, summary: Sequence[Row], league: Mapping[str, pd.DataFrame], folder: Path) -> None:
        # Imported here because it is slow to import.
        import pandas as pd

        results = self.results()
        with written_into("--out", folder):
            write_csv(results, folder / "results.csv")
            write_csv(pd.DataFrame(summary, columns=list(SUMMARY_COLUMNS)), folder / "summary.csv")
            if self._figures:
                # Imported here because it is slow to import.
                from validation.presentation.plots import write_figures

                with doing("drawing the figures"):
                    write_figures(results, folder, energy=self._energy)
            if league:
                provided(_LEAGUE).write_league(league, folder)


def _rivals(results: Sequence[Row]) -> int:
    """Return the largest number of predictors that one target has; by default it depends on the target."""
    return max(len(distinct(rows, "predictor")) for rows in rows_by(results, *CASE).values())
