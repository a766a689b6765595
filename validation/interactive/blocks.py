"""The function ``gridval.blocks``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from platforms.errors import UserError, nearest
from predictor.blocks.evaluation.evaluate import Result
from predictor.blocks.run_command import BlocksRequest
from predictor.blocks.series.command import OVER, evaluated_series
from predictor.blocks.series.evaluations import ENERGY, QUANTITIES, TIME, over_from, rows_of
from predictor.blocks.series.points import Point, points_of
from predictor.series.curves import curves_figure, front_figure
from validation.blocks import cli as comparison_cli
from validation.blocks import series
from validation.blocks.cli import BlocksComparisonRequest
from validation.interactive.asking import PathLike, Values, asked, check_options
from validation.interactive.results import Frame, Picture

_REFUSED = ("timeline", "out", "wide", "json", "dry_run")  # what the command prints and writes


class BlockResults(Frame):
    """One row per combination of the varied values, with the columns of series.csv.

    A selection of rows or columns is an ordinary DataFrame.
    """

    def plot(self, over: str | None = None) -> Picture:  # type: ignore[override]  # pandas has an accessor here
        """Draw time, speed-up, efficiency, energy and success over a varied name; default: the first.

        Raises:
            UserError: Nothing of that name is varied.
        """
        names = self._names()
        over = names[0] if over is None else over
        if over not in names:
            raise UserError(f"plot {over}", "this is not varied", nearest(over, names))
        drawn = series.QUANTITIES if "simulated_time_s" in self.columns else QUANTITIES
        return Picture(curves_figure(self._rows(), drawn, over, names))

    def plot_front(self) -> Picture:
        """Draw energies against times, with the Pareto front.

        Raises:
            UserError: No energy is known.
        """
        both = [row for row in self._rows() if row["on_front"] is not None]
        if not both:
            raise UserError("plot_front", "no energy is known", "Name a system with watts")
        return Picture(front_figure(both, TIME, ENERGY, self._names()))

    def _names(self) -> list[str]:
        names: list[str] = self.attrs["varied"]
        return names

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[Any] = self.astype(object).where(self.notna(), None).to_dict("records")
        return rows


def blocks(
    application: PathLike,
    system: PathLike,
    vary: Mapping[str, Values],
    *,
    counts: Mapping[str, float] | None = None,
    variables: Mapping[str, str | float] | None = None,
    model: PathLike | None = None,
    power: str | None = None,
    evaluator: str | None = None,
    failure_rate: float | None = None,
    over: str | None = None,
    parts: bool = False,
    simulate: bool = False,
    store: PathLike | Literal[False] | None = None,
    jobs: int | None = None,
    **options: Any,
) -> BlockResults:
    """Evaluate an application in blocks over a grid of parameters, as ``gridval blocks run --vary`` does.

    Args:
        application: The application, a .toml file.
        system: The system: a system file, a scenario file, or the name of a scenario.
        vary: The values of each varied name: of the count of a label, a variable, or an option such as ``system``,
            ``model`` and ``power``; ``"2:16:x2"`` stands for 2, 4, 8, 16.
        counts: Processes of labels, instead of those of the file.
        variables: Values of variables, instead of those of the file.
        model: The model of the blocks' costs.
        power: The power rule.
        evaluator: The evaluator.
        failure_rate: Failures per second of a node.
        over: The varied name over which speed-ups are taken; default: the first.
        parts: Also find where the time goes.
        simulate: Simulate all combinations too.
        store: Folder of the store; False: keep nothing; None: the user's store.
        jobs: Number of evaluations, or simulations, at a time; default: the number of cores.
        options: Other options of ``gridval blocks run`` by the names of their fields, such as ``policy``, but not those
            of output.

    Returns:
        One row per combination.

    Raises:
        UserError: An argument or a file is wrong, or a combination cannot be evaluated.
        SimulationError: A simulation failed.
    """
    if not vary:
        raise UserError("vary", "names nothing", 'Give for example vary={"n": [1, 2, 4]}')
    check_options("blocks run", options, _REFUSED, None)
    values = dict(
        application=application, system=system, vary=vary, counts=counts, variables=variables, model=model, power=power,
        evaluator=evaluator, failure_rate=failure_rate, parts=parts, jobs=jobs, store=store, **options,
    )  # fmt: skip
    request: BlocksRequest | BlocksComparisonRequest
    request = asked(BlocksComparisonRequest, values) if simulate else asked(BlocksRequest, values)
    points = points_of(request)
    chosen = over_from(OVER, over, points)
    rows, cautions = (
        _simulated(request, points, chosen)
        if isinstance(request, BlocksComparisonRequest)
        else _evaluated(request, points, chosen)
    )
    table = BlockResults(pd.DataFrame(rows))
    table.attrs |= {"cautions": cautions, "varied": [chosen, *(name for name in vary if name != chosen)]}
    return table


def _evaluated(request: BlocksRequest, points: Sequence[Point], over: str) -> tuple[list[dict[str, Any]], list[str]]:
    results, cautions = evaluated_series(request, points)
    for result in results:
        if not isinstance(result, Result):
            raise result
    return rows_of(points, results, over), cautions


def _simulated(
    request: BlocksComparisonRequest, points: Sequence[Point], over: str
) -> tuple[list[dict[str, Any]], list[str]]:
    comparisons, failures, cautions, said = comparison_cli.compared_points(request, points, saying=False)
    for _, error in failures:
        raise error
    return series.rows_of(points, comparisons, over), [*cautions, *said]
