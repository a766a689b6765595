"""Output of results: tables on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.arguments.exit_status import print_failure
from apps.results.cautions import Cautions
from platforms.errors import UserError
from platforms.files import writing
from platforms.files.writing import write_csv, written_into
from validation.comparison.dataframes import records
from validation.comparison.metrics import published_errors, summarise
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
        fail_above: Largest mean absolute error of a predictor, %, that does not count as a failure; None: no limit.
        decision_costs: Costs of the evidence for all candidates, given by a command that compares choices.  Then there
            is always a league, and results and summary are not printed.
        cautions: The cautions about the runs, for the JSON; the runner prints them itself.

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
        fail_above: float | None = None,
        decision_costs: EvidenceCosts | None = None,
        cautions: Cautions | None = None,
    ):
        self._folder = None if folder is None else usable_folder(folder)
        self._as_json, self._figures, self._energy = as_json, figures, energy
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
            self._rows.append(outcome.to_json())
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

        return pd.DataFrame(self._rows, columns=list(COLUMNS))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self._rows:
            return

        results = self.results()
        summary = summarise(results)
        league = self._league(results)
        try:  # write the files even if printing fails (a closed pipe), and print even if no file can be written
            if self._rows and self._folder is not None:
                self._write(results, summary, league, self._folder)
        finally:
            if self._as_json:
                tables = {"results": results, "summary": summary, **league}
                shown = {name: records(table) for name, table in tables.items()}
                print(json.dumps({**shown, "cautions": self._cautions.lines()}))
            elif self._rows:
                self._print(results, summary, league)
        if kind is None and self._fail_above is not None:
            said = too_wrong(summary, self._fail_above)
            self._too_wrong = said is not None
            if said:
                print(said, file=sys.stderr)

    def _league(self, results: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return the tables of the league, or none if no league is wanted."""
        of_choices = self._decision_costs is not None
        if not self._rows or not (of_choices or results["predictor"].nunique() >= LEAGUE_FROM):
            return {}
        # Imported here for a quick start: it is slow to import.
        from validation.ranking.output import league_tables

        return league_tables(results, self._decision_costs)

    def _print(self, results: pd.DataFrame, summary: pd.DataFrame, league: Mapping[str, pd.DataFrame]) -> None:
        if self._decision_costs is None:
            _print(results, summary, energy=self._energy)
        if league:
            # Imported here for a quick start: it is slow to import.
            from validation.ranking.output import league_text

            print(("" if self._decision_costs is not None else "\n") + league_text(league))

    def _write(
        self, results: pd.DataFrame, summary: pd.DataFrame, league: Mapping[str, pd.DataFrame], folder: Path
    ) -> None:
        with written_into("--out", folder):
            write_csv(results, folder / "results.csv")
            write_csv(summary, folder / "summary.csv")
            if self._figures:
                # Imported here for a quick start: it is slow to import.
                from validation.presentation.plots import write_figures

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


def _print(results: pd.DataFrame, summary: pd.DataFrame, *, energy: bool) -> None:
    # Imported here for a quick start: it is slow to import.
    from validation.presentation.tables import results_text, summary_text

    print(results_text(results, energy=energy))
    print()
    print(summary_text(summary, published_errors(results), energy=energy))
    cautious = results["flags"] != ""
    if cautious.any():
        example = results["flags"][cautious].iloc[0]
        print(f"\n! {cautious.sum()} of {len(results)} predictions carry a caution, such as: {example}")
