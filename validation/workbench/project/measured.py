"""Measured run times of a project, which its results are shown beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from platforms.errors import UserError
from validation.workbench.project.folder import Project

ENDING = ".csv"
Times = Callable[[Mapping[str, Any]], float | None]


def measured_times(project: Project) -> tuple[Times, str]:
    """Return a function that gives the measured time of a result's run, s, and what is wrong with the files.

    The files are those of ``measured/*.csv``, as ``gridval run --truth`` reads them.  A run without a measured time
    has None.
    """
    paths = sorted(path for path in project.measured.glob(f"*{ENDING}") if path.is_file())
    if not paths:
        return lambda row: None, ""
    # Imported here for a quick start: it is slow to import.
    from validation.comparison.truth import read_measured

    times_s: dict[tuple[str, str | None, str, int], float] = {}
    wrong = []
    for path in paths:
        try:
            if not path.resolve().is_relative_to(project.folder):
                raise UserError(path.name, "a link to a file outside of the project folder", "Copy the file")
            times_s |= read_measured(path).times_s
        except UserError as err:
            wrong.append(str(err))

    def time_s(row: Mapping[str, Any]) -> float | None:
        of_class = times_s.get((row["app"], row["class"], row["platform"], row["ranks"]))
        return times_s.get((row["app"], None, row["platform"], row["ranks"])) if of_class is None else of_class

    return time_s, " ".join(wrong)
