"""--fail-above: a command ends with a status of its own where predictors are too wrong, as continuous tests want it."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from platforms.command import EXIT_STATUSES
from platforms.errors import UserError
from validation.metrics import ALL_APPS

if TYPE_CHECKING:
    import pandas as pd

TOO_WRONG = 3  # exit status
EXIT_STATUSES_AND_LIMIT = f"{EXIT_STATUSES} Besides: {TOO_WRONG} a predictor is worse than --fail-above allows."


def add_fail_above_argument(parser: argparse.ArgumentParser) -> None:
    """--fail-above, as limit_from_arguments reads it."""
    parser.add_argument(
        "--fail-above", metavar="PCT",
        help=f"exit with status {TOO_WRONG} where the mean absolute error of a predictor, over all that was run, is "
        "above so many %%, or where it has no answer at all; a failed run (1) or bad input (2) comes first",
    )  # fmt: skip


def limit_from_arguments(args: argparse.Namespace) -> float | None:
    """%, None without the option.  Raises UserError for what is no limit."""
    if args.fail_above is None:
        return None
    try:
        limit_pct = float(args.fail_above)
    except ValueError:
        limit_pct = math.nan
    if not 0 <= limit_pct < math.inf:
        raise UserError(f"--fail-above {args.fail_above}", "not a number from 0 on", "Give %, such as 5")
    return limit_pct


def too_wrong(summary: pd.DataFrame, limit_pct: float) -> str | None:
    """One line about the predictors whose mean absolute error over all apps is above the limit, app by app, and about
    those without any answer, which can be vouched for no more; None where there are none."""
    said = []
    for predictor, rows in summary.groupby("predictor", sort=False):
        errors = rows.set_index("app")["mean_abs_error_pct"]
        over_all = errors.pop(ALL_APPS)
        if math.isnan(over_all):
            said.append(f"{predictor} has no answer")
        elif over_all > limit_pct:
            by_app = ", ".join(f"{app} {error:.4g} %" for app, error in errors.dropna().items())
            said.append(f"{predictor} {over_all:.4g} %" + (f" ({by_app})" if len(errors) > 1 else ""))
    return f"--fail-above {limit_pct:g}: mean absolute error too large: {'; '.join(said)}" if said else None
