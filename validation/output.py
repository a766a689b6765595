"""Where results go: tables on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from apps.options import print_failure
from platforms.errors import UserError
from predictor import writing

if TYPE_CHECKING:
    import pandas as pd

    from validation.compare import Failure, Result


class Output:
    """Collects what a validation yields; on leaving the context, by an error or interrupt too, writes and prints it.

    ``folder``: for results.csv, summary.csv and, with ``figures``, a figure per app; None: no files.  ``as_json``: one
    JSON object instead of tables.  ``energy``: the tables show energies, and there are figures of them too.  Raises
    UserError for a folder that cannot be written, before anything is run.
    """

    def __init__(self, folder: str | None, *, as_json: bool, figures: bool, energy: bool = False):
        self._folder = None if folder is None else usable_folder(folder)
        self._as_json, self._figures, self._energy = as_json, figures, energy
        self._rows: list[dict] = []
        self._bad_input = self._failed = False

    def __enter__(self) -> Output:
        return self

    def add(self, outcome: Result | Failure) -> None:
        """Keeps a result; says a failure in one line."""
        from validation.compare import Failure

        if not isinstance(outcome, Failure):
            self._rows.append(outcome.to_json())
            return
        if outcome.bad_input:
            print(f"error: {outcome.error}", file=sys.stderr)
        else:
            print_failure(outcome.error)
        self._bad_input |= outcome.bad_input
        self._failed |= not outcome.bad_input

    @property
    def status(self) -> int:
        """Exit status: 1 if a simulation failed, 2 if some input was bad, else 0."""
        return 1 if self._failed else 2 if self._bad_input else 0

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self._rows:
            return
        import pandas as pd

        from validation.compare import COLUMNS
        from validation.metrics import summarise

        results = pd.DataFrame(self._rows, columns=list(COLUMNS))
        summary = summarise(results)
        if self._as_json:
            print(json.dumps({"results": _records(results), "summary": _records(summary)}))
        elif self._rows:
            _print(results, summary, energy=self._energy)
        if self._rows and self._folder is not None:
            self._write(results, summary, self._folder)

    def _write(self, results: pd.DataFrame, summary: pd.DataFrame, folder: Path) -> None:
        try:
            results.to_csv(folder / "results.csv", index=False)
            summary.to_csv(folder / "summary.csv", index=False)
            if self._figures:
                from validation.plots import write_figures

                write_figures(results, folder, energy=self._energy)
        except OSError as err:
            where = f"--out {folder}"
            raise UserError(where, f"cannot be written: {err.strerror or err}", "Choose another folder") from err


def usable_folder(text: str) -> Path:
    """The folder of an option --out, made if absent.  Raises UserError for one that cannot be written."""
    return writing.usable_folder("--out", text)


def _records(table: pd.DataFrame) -> list[dict]:
    rows = table.astype(object).where(table.notna(), None)  # JSON has no NaN
    return rows.to_dict("records")


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
