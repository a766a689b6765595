"""Measured run times of a project, which its results are shown beside."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from validation.workbench.project.folder import Project

ENDING = ".csv"
_Key = tuple[str, str | None, str, int]  # app, class, platform and ranks
Times = Callable[[Mapping[str, Any]], float | None]


def measured_times(project: Project) -> tuple[Times, str]:
    """Return a function that gives the measured time of a result's run, s, and what is wrong with the files.

    The files are those of ``measured/*.csv``, as ``gridval run --truth`` reads them.  A run without a measured time
    has None.
    """
    paths = sorted(path for path in project.measured.glob(f"*{ENDING}") if path.is_file())
    if not paths:
        return lambda row: None, ""
    times_s: dict[_Key, float] = {}
    wrong = []
    for path in paths:
        try:
            if not path.resolve().is_relative_to(project.folder):
                raise UserError(path.name, "a link to a file outside of the project folder", "Copy the file")
            state = path.stat()
            times_s |= _read(path, state.st_mtime_ns, state.st_size)
        except (UserError, OSError) as err:
            wrong.append(str(err))

    def time_s(row: Mapping[str, Any]) -> float | None:
        of_class = times_s.get((row["app"], row["class"], row["platform"], row["ranks"]))
        return times_s.get((row["app"], None, row["platform"], row["ranks"])) if of_class is None else of_class

    return time_s, " ".join(wrong)


@functools.lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int, size: int) -> Mapping[_Key, float]:
    """Return the times of a file, which is read again when it has changed."""
    # Imported here for a quick start: it is slow to import.
    from validation.comparison.truth import read_measured

    return read_measured(path).times_s
