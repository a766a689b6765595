"""The series of ``gridval blocks run --vary``: evaluate points, print a table, write CSV and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from apps.options.exit_status import say_failures
from apps.options.runner import PoolOptions
from platforms.command.command import Reply
from platforms.command.request import OutOption, WideOption, option
from platforms.errors import UserError
from platforms.files.writing import usable_folder, write_csv, written_into
from platforms.terminal.progress import doing
from predictor.blocks.series.points import VARY, ApplicationOptions, Point, points_of, where_text

if TYPE_CHECKING:
    from platforms.plotting.charts import Figure
    from predictor.series.curves import Quantity

OVER, OUT = "--over", "--out"
_ONLY_OF_SERIES = ("over", "out", "jobs", "store", "no_store")


@dataclass(frozen=True, kw_only=True)
class EvaluationPool(PoolOptions):
    """Options for the number of evaluations at a time and the store of their results."""

    pooled: ClassVar[str] = "evaluations"


@dataclass(frozen=True, kw_only=True)
class SeriesOptions(ApplicationOptions, EvaluationPool, OutOption, WideOption):
    """An application, what is varied of it, and the files with the results."""

    out_files: ClassVar[str] = "series.csv and figures"

    over: str | None = option(
        None, "NAME", "varied name along the axes of the figures, over which speed-ups are taken (default: the first)"
    )


def check_series(request: SeriesOptions, names: Sequence[str] = _ONLY_OF_SERIES) -> None:
    """Refuse options of a series where nothing is varied.

    Raises:
        UserError: There is one.
    """
    for name in names:
        if not request.vary and getattr(request, name) not in (None, False):
            shown = f"--{name.replace('_', '-')}"
            raise UserError(shown, f"goes only with {VARY}", f"Add {VARY} NAME=V1,V2,..., or leave it out")


def run_series(request: SeriesOptions) -> Reply:
    """Evaluate the points, and write the results.

    Raises:
        UserError: An option or a file is wrong, or no point can be evaluated.
    """
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.series.evaluations import over_from, rows_of, text_of

    points = points_of(request)
    over = over_from(OVER, request.over, points)
    folder = None if request.out is None else usable_folder(OUT, request.out)
    results, cautions = evaluated_series(request, points)
    rows = rows_of(points, results, over)
    names = list(points[0].values)
    failed = [
        (str(point), result) for point, result in zip(points, results, strict=True) if isinstance(result, UserError)
    ]
    if len(failed) == len(points):
        raise failed[0][1]
    title = f"{_one(rows, 'application')}{where_text(points, Path(request.system).stem)}"
    if folder is not None:
        write_series(rows, over, names, folder, title=title)
    for caution in cautions:
        print(f"caution: {caution}", file=sys.stderr)
    return Reply(
        rows,
        lambda: text_of(rows, names, title, wide=request.wide),
        lambda: {"series": rows, "cautions": cautions},
        say_failures(failed),
    )


def evaluated_series(request: SeriesOptions, points: Sequence[Point]) -> tuple[list[Any], list[str]]:
    """Return the result or the error of each point, and the cautions.

    Raises:
        UserError: An option is wrong.
        KeyboardInterrupt: With the number of results that are kept.
    """
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.evaluation.evaluate import Result
    from predictor.blocks.series.evaluations import evaluated, made_from_request, model_cautions

    results = made_from_request(request, points, evaluated, Result, "evaluating the series")
    names: dict[str, None] = {}
    for point, result in zip(points, results, strict=True):
        if not isinstance(result, UserError):
            names |= dict.fromkeys((*model_cautions(point), *result.cautions))
    return results, list(names)


def write_series(
    rows: Sequence[dict[str, Any]],
    over: str,
    names: Sequence[str],
    folder: Path,
    *,
    title: str,
    quantities: Sequence[Quantity] | None = None,
    parts: Figure | None = None,
) -> None:
    """Write series.csv and the figures series, pareto (with energies) and parts (with --parts), as .png and .svg.

    Args:
        rows: The rows, as ``table.rows_of`` returns them.
        over: The name along the axes.
        names: All varied names.
        folder: The folder.
        title: Title of the figures.
        quantities: The quantities to draw; None: those of ``table.QUANTITIES``.
        parts: The figure of the parts; None: that of the rows with the columns ``table.PARTS``, if there are any.

    Raises:
        UserError: A file cannot be written.
    """
    # Imported here for a quick start: they are slow to import.
    import pandas as pd

    from platforms.plotting.charts import write_figures
    from predictor.blocks.series.evaluations import ENERGY, PARTS, QUANTITIES, TIME
    from predictor.series.bars import bars_figure
    from predictor.series.curves import curves_figure, front_figure

    drawn = QUANTITIES if quantities is None else quantities
    with written_into(OUT, folder), doing("drawing the figures"):
        write_csv(pd.DataFrame(list(rows)), folder / "series.csv")
        figures = {"series": curves_figure(rows, drawn, over, names, title=title)}
        both = [row for row in rows if row["on_front"] is not None]
        if both:
            figures["pareto"] = front_figure(both, TIME, ENERGY, names, title=title)
        parted = [row for row in rows if all(column in row for column in PARTS)]
        if parts is not None:
            figures["parts"] = parts
        elif parted:
            figures["parts"] = bars_figure(parted, PARTS, names, title=title)
        write_figures(figures, folder)


def _one(rows: Sequence[dict[str, Any]], column: str) -> str:
    return str(next(row[column] for row in rows if row["refused"] is None))
