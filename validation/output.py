"""Where results go: tables on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.options import print_failure
from platforms import writing
from platforms.errors import UserError
from platforms.writing import write_csv, written_into
from validation.fail_above import TOO_WRONG, too_wrong
from validation.frames import records

if TYPE_CHECKING:
    import pandas as pd

    from validation.compare import Failure, Result
    from validation.league.evidence_costs import EvidenceCosts

LEAGUE_FROM = 4  # predictors: more than the three of HCF, which are one model and its mended forms


class Output:
    """Collects what a validation yields; on leaving the context, by an error or interrupt too, writes and prints it.

    ``folder``: for results.csv, summary.csv and, with ``figures``, a figure per app; None: no files.  ``as_json``: one
    JSON object instead of tables.  ``energy``: the tables show energies, and there are figures of them too.
    ``fail_above``: the largest mean absolute error of a predictor, %, that is no failure.  The league
    (docs/validation/league.md) follows where there are at least LEAGUE_FROM predictors.  ``decision_costs``: what
    evidence for all candidates costs, for a command that is about choosing: then there is always a league, and results
    and summary are not printed.  Raises UserError for a folder that cannot be written, before anything is run.
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
    ):
        self._folder = None if folder is None else usable_folder(folder)
        self._as_json, self._figures, self._energy = as_json, figures, energy
        self._fail_above, self._too_wrong = fail_above, False
        self._decision_costs = decision_costs
        self._rows: list[dict[str, Any]] = []
        self._bad_input = self._failed = False

    def __enter__(self) -> Output:
        return self

    def add(self, outcome: Result | Failure) -> None:
        """Keeps a result; says a failure in one line."""
        from validation.compare import Failure

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
        """Exit status: 1 if a simulation failed, 2 if some input was bad, 3 if a predictor is too wrong, else 0."""
        return 1 if self._failed else 2 if self._bad_input else TOO_WRONG if self._too_wrong else 0

    def results(self) -> pd.DataFrame:
        """What has been kept, one row per prediction, with the columns of validation.compare.Result."""
        import pandas as pd

        from validation.compare import COLUMNS

        return pd.DataFrame(self._rows, columns=list(COLUMNS))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self._rows:
            return
        from validation.metrics import summarise

        results = self.results()
        summary = summarise(results)
        league = self._league(results)
        try:  # files even where nobody reads what is printed, and that even where no file can be written
            if self._rows and self._folder is not None:
                self._write(results, summary, league, self._folder)
        finally:
            if self._as_json:
                tables = {"results": results, "summary": summary, **league}
                print(json.dumps({name: records(table) for name, table in tables.items()}))
            elif self._rows:
                self._print(results, summary, league)
        if kind is None and self._fail_above is not None:
            said = too_wrong(summary, self._fail_above)
            self._too_wrong = said is not None
            if said:
                print(said, file=sys.stderr)

    def _league(self, results: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The league's tables; none where that is not asked for."""
        of_choices = self._decision_costs is not None
        if not self._rows or not (of_choices or results["predictor"].nunique() >= LEAGUE_FROM):
            return {}
        from validation.league.output import league_tables

        return league_tables(results, self._decision_costs)

    def _print(self, results: pd.DataFrame, summary: pd.DataFrame, league: Mapping[str, pd.DataFrame]) -> None:
        if self._decision_costs is None:
            _print(results, summary, energy=self._energy)
        if league:
            from validation.league.output import league_text

            print(("" if self._decision_costs is not None else "\n") + league_text(league))

    def _write(
        self, results: pd.DataFrame, summary: pd.DataFrame, league: Mapping[str, pd.DataFrame], folder: Path
    ) -> None:
        with written_into("--out", folder):
            write_csv(results, folder / "results.csv")
            write_csv(summary, folder / "summary.csv")
            if self._figures:
                from validation.plots import write_figures

                write_figures(results, folder, energy=self._energy)
            if league:
                from validation.league.output import write_league

                write_league(league, folder)


def usable_folder(text: str) -> Path:
    """The folder of an option --out, made if absent.  Raises UserError for one that cannot be written."""
    return writing.usable_folder("--out", text)


def _print(results: pd.DataFrame, summary: pd.DataFrame, *, energy: bool) -> None:
    from validation.metrics import published_errors
    from validation.tables import results_text, summary_text

    print(results_text(results, energy=energy))
    print()
    print(summary_text(summary, published_errors(results), energy=energy))
    cautious = results["flags"] != ""
    if cautious.any():
        example = results["flags"][cautious].iloc[0]
        print(f"\n! {cautious.sum()} of {len(results)} predictions carry a caution, such as: {example}")
