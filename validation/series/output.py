"""Common parts of the outputs of all series: rows, failures, and that they are shown after an interrupt too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from apps.options.exit_status import say_error, status_of
from apps.results.cautions import Cautions
from platforms.files.writing import usable_folder
from validation.comparison.rows import Row, without_nan

if TYPE_CHECKING:
    from apps.errors import SimulationError
    from apps.spec.settings import Settings
    from platforms.errors import UserError
    from validation.comparison.compare import Failure, Result, Witness
    from validation.series.case import Case

Self = TypeVar("Self", bound="SeriesOutput")


class SeriesOutput:
    """Context manager that collects the rows of a series, and shows them on exit.

    They are shown after an error or interrupt too, unless there are none.

    Args:
        folder: Value of --out; None: no files are written.
        as_json: Print one JSON object instead of tables.
        wide: Show all columns in the tables.
        cautions: The cautions about the runs, printed after the rows.

    Raises:
        UserError: The folder cannot be written; raised before anything is run.
    """

    def __init__(
        self, folder: str | None, *, as_json: bool, wide: bool = False, cautions: Cautions | None = None
    ):  # fmt: skip
        self.folder: Path | None = None if folder is None else usable_folder("--out", folder)
        self.as_json, self.wide = as_json, wide
        self.cautions = Cautions() if cautions is None else cautions
        self.rows: list[dict[str, Any]] = []
        self._errors: list[UserError | SimulationError] = []

    def __enter__(self: Self) -> Self:
        return self

    def witness(self, settings: Settings) -> Witness | None:
        """Return the witness of the results; None: the rows are all that is needed."""
        return None

    def keep(self, row: Row) -> None:
        """Keep a row without NaN, which JSON does not have."""
        self.rows += without_nan([row])

    def add(self, case: Case, outcome: Result | Failure) -> None:
        """Keep a result as a row with the axes of its case, or print a failure as one line."""
        # Imported here because it is slow to import.
        from validation.comparison.compare import Failure

        if isinstance(outcome, Failure):
            say_error(outcome.error)
            self._errors.append(outcome.error)
        else:
            self.keep(outcome.to_json() | dict(case.axes))

    @property
    def status(self) -> int:
        """Return the exit status, 1 if a simulation failed, 2 if some input was bad, else 0."""
        return status_of(self._errors)

    def show(self, *, finished: bool) -> None:
        """Print the rows, and write the files; ``finished``: the series was not interrupted."""
        raise NotImplementedError

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None or self.rows:
                self.show(finished=kind is None)
        finally:
            self.cautions.say_all()
