"""Output of results: tables on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.options.exit_status import print_failure
from apps.results.cautions import Cautions
from platforms.errors import UserError
from platforms.files import writing
from platforms.files.writing import write_csv, written_into
from platforms.terminal.progress import doing
from platforms.terminal.prose import prose_lines
from validation.comparison.dataframes import numbers_known, records
from validation.comparison.metrics import SUMMARY_COLUMNS, published_errors, summary_rows
from validation.comparison.rows import Row, distinct, rows_by, without_nan
from validation.output.fail_above import TOO_WRONG, too_wrong

if TYPE_CHECKING:
    import pandas as pd

    from validation.comparison.compare import Failure, Result
    from validation.ranking.evidence_costs import EvidenceCosts

LEAGUE_FROM = 4  # predictors; the three of HCF are variants of one model and make no league


class Output:
    """Context manager that collects the outcomes of a validation, and writes and prints them on exit.

    The output is written after an error or interrupt too.  With at least LEAGUE_FROM predictors it includes the league
    (docs/validation/league.md).

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
        decision_costs: EvidenceCosts | None = None,
        cautions: Cautions | None = None,
    ):
        self._folder = None if folder is None else usable_folder(folder)
        self._as_json, self._figures, self._energy, self._wide = as_json, figures, energy, wide
        self._fail_above, self._too_wrong = fail_above, False
        self._decision_costs = decision_costs
        self._cautions = Cautions() if cautions is None else cautions
        self._rows: list[dict[str, Any]] = []
        self._bad_input = self._failed = False

    def __enter__(self) -> Output:
        return self

    def add(self, outcome: Result | Failure) -> None:
        """Keep a result, or print a failure as one line."""
        # Imported here for a quick start: it is slow to import.
        from validation.comparison.compare import Failure

        if not isinstance(outcome, Failure):
            self._rows += without_nan([outcome.to_json()])
            return
        if isinstance(outcome.error, UserError):
            print(f"error: {outcome.error}", file=sys.stderr)
        else:
            print_failure(outcome.error)
        self._bad_input |= outcome.bad_input
        self._failed |= not outcome.bad_input

    @property
    def status(self) -> int:
        """Exit status; 1 if a simulation failed, 2 if some input was bad, 3 if a predictor is too wrong, else 0."""
        return 1 if self._failed else 2 if self._bad_input else TOO_WRONG if self._too_wrong else 0

    def results(self) -> pd.DataFrame:
        """Return the results so far, one row per prediction, with the columns of comparison.compare.Result."""
        # Imported here for a quick start: they are slow to import.
        import pandas as pd

        from validation.comparison.compare import COLUMNS

        return numbers_known(pd.DataFrame(self._rows, columns=list(COLUMNS)))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None or self._rows:
                self._show(finished=kind is None)
        finally:
            self._cautions.say_all()

    def _show(self, *, finished: bool) -> None:
        with doing("summing up the results"):
            summary = summary_rows(self._rows)
            league = self._league()
            shown = self._as_text(summary, league)
        try:  # write the files even if printing fails (a closed pipe), and print even if no file can be written
            if self._rows and self._folder is not None:
                self._write(summary, league, self._folder)
        finally:
            if self._rows or self._as_json:
                print(shown, flush=True)
        if finished and self._fail_above is not None:
            said = too_wrong(summary, self._fail_above)
            self._too_wrong = said is not None
            if said:
                print(said, file=sys.stderr)

    def _league(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the league, or none if no league is wanted."""
        of_choices = self._decision_costs is not None
        if not self._rows or not (of_choices or _rivals(self._rows) >= LEAGUE_FROM):
            return {}
        # Imported here for a quick start: it is slow to import.
        from validation.ranking.output import league_tables

        return league_tables(self.results(), self._decision_costs)

    def _as_text(self, summary: Sequence[Row], league: Mapping[str, pd.DataFrame]) -> str:
        """Return what is printed: one JSON object, or the tables and the closing sentences."""
        if self._as_json:
            shown = {"results": self._rows, "summary": summary}
            ranked = {name: records(table) for name, table in league.items()}
            return json.dumps({**shown, **ranked, "cautions": self._cautions.lines()})
        parts = []
        if self._decision_costs is None and self._rows:
            # Imported here for a quick start: it is slow to import.
            from validation.presentation.tables import results_text, summary_text

            parts.append(results_text(self._rows, energy=self._energy, wide=self._wide))
            parts.append(summary_text(summary, published_errors(self._rows), energy=self._energy, wide=self._wide))
        if league:
            # Imported here for a quick start: it is slow to import.
            from validation.ranking.output import league_text

            parts.append(league_text(league, wide=self._wide))
        if self._decision_costs is None and self._rows:
            # Imported here for a quick start: they are slow to import.
            from validation.presentation.coverage_text import interval_sentence
            from validation.ranking.sentences import closing_sentences

            covered = None if league else interval_sentence(self._rows)  # the league has a table
            sentences = [*closing_sentences(self._rows), *([] if covered is None else [covered])]
            parts.append("\n".join(line for said in sentences for line in prose_lines(said)))
        return "\n\n".join(filter(None, parts))

    def _write(self, summary: Sequence[Row], league: Mapping[str, pd.DataFrame], folder: Path) -> None:
        # Imported here for a quick start: it is slow to import.
        import pandas as pd

        results = self.results()
        with written_into("--out", folder):
            write_csv(results, folder / "results.csv")
            write_csv(pd.DataFrame(summary, columns=list(SUMMARY_COLUMNS)), folder / "summary.csv")
            if self._figures:
                # Imported here for a quick start: it is slow to import.
                from validation.presentation.plots import write_figures

                with doing("drawing the figures"):
                    write_figures(results, folder, energy=self._energy)
            if league:
                # Imported here for a quick start: it is slow to import.
                from validation.ranking.output import write_league

                write_league(league, folder)


def usable_folder(text: str) -> Path:
    """Return the folder of option --out, created if absent.

    Raises:
        UserError: The folder cannot be written.
    """
    return writing.usable_folder("--out", text)


def _rivals(results: Sequence[Row]) -> int:
    """Return the largest number of predictors that one target has; by default it depends on the target."""
    # Imported here for a quick start: it is slow to import.
    from validation.ranking.standing import CASE

    return max(len(distinct(rows, "predictor")) for rows in rows_by(results, *CASE).values())
