"""Measured run times of a project, which its results are shown beside where they mean the same run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.errors import UserError
from validation.workbench.project.folder import Project

if TYPE_CHECKING:
    from validation.comparison.truth import MeasuredTimes

ENDING = ".csv"
TELLING = ("network", "mapping")  # columns that a file may leave out where all results of a platform have one value
Values = Callable[[], Mapping[str, Mapping[str, Collection[str | None]]]]
Times = Callable[[Mapping[str, Any]], float | None]


def measured_times(project: Project, values: Values) -> tuple[Times, str]:
    """Return a function that gives the measured time of a result's run, s, and what is wrong with the files.

    The files are those of ``measured/*.csv``, as ``gridval run --truth`` reads them.  A run without a measured time
    has None; so has one of a platform whose results differ in a column of TELLING, if the file leaves it out.

    Args:
        project: The project.
        values: Returns the values of each column of TELLING that the results of each platform have.
    """
    paths = sorted(path for path in project.measured.glob(f"*{ENDING}") if path.is_file())
    if not paths:
        return lambda row: None, ""
    known: list[MeasuredTimes] = []
    wrong = []
    for path in paths:
        try:
            if not path.resolve().is_relative_to(project.folder):
                raise UserError(path.name, "a link to a file outside of the project folder", "Copy the file")
            state = path.stat()
            known.append(_read(path, state.st_mtime_ns, state.st_size))
        except (UserError, OSError) as err:
            wrong.append(str(err))
    measured = values()
    wrong += [str(err) for err in _unclear(known, measured)]

    def time_s(row: Mapping[str, Any]) -> float | None:
        of_platform = measured.get(row["platform"], {})
        fitting = {
            key: (row[key],) if len(of_platform.get(key, ())) > 1 else (row[key], None) for key in TELLING
        }  # fmt: skip
        times = (
            times.time_s(
                row["app"], row["platform"], row["ranks"], classes=(row["class"], None),
                networks=fitting["network"], mappings=fitting["mapping"],
            )
            for times in reversed(known)
        )  # fmt: skip
        return next((time_s for time_s in times if time_s is not None), None)

    return time_s, " ".join(wrong)


def _unclear(
    known: list[MeasuredTimes], wanted: Mapping[str, Mapping[str, Collection[str | None]]]
) -> list[UserError]:  # fmt: skip
    """Return an error for each platform whose measured times do not tell which results they belong to."""
    errors = {}
    for times in known:
        for _, _, platform, _, *told in times.times_s:
            for key, value in zip(TELLING, told, strict=True):
                several = sorted(map(str, wanted.get(platform, {}).get(key, ())))
                if value is None and len(several) > 1:
                    problem = (
                        f"no {key}, and the results of {platform} have {', '.join(several)}: its times are not shown"
                    )
                    errors[platform, key] = UserError(Path(times.source).name, problem, f"Add the column {key}")
    return list(errors.values())


@functools.lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int, size: int) -> MeasuredTimes:
    """Return the times of a file, which is read again when it has changed."""
    # Imported here for a quick start: it is slow to import.
    from validation.comparison.truth import read_measured

    try:
        return read_measured(path)
    except UserError as err:
        raise err.renamed(f"--truth {path}", f"measured/{path.name}") from err
