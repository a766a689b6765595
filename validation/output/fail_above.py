"""Option --fail-above: an exit status of its own for errors above a limit, for continuous integration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from platforms.command.request import Request, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from validation.comparison.metrics import ALL_APPS
from validation.comparison.rows import Row, rows_by

TOO_WRONG = 3  # exit status
EXIT_STATUSES_AND_LIMIT = f"{EXIT_STATUSES} Also: {TOO_WRONG} the error of a predictor exceeds --fail-above."


@dataclass(frozen=True, kw_only=True)
class FailAboveOption(Request):
    """The option --fail-above."""

    fail_above: str | None = option(
        None,
        "PCT",
        f"exit with status {TOO_WRONG} if the mean absolute error of a predictor over all targets exceeds PCT %%, or "
        "if a predictor has no answer; the statuses of a failed run (1) and of bad input (2) take precedence",
        unit="%",
    )


def limit_from_request(request: FailAboveOption) -> float | None:
    """Return the limit in %, or None without the option.

    Raises:
        UserError: The option is not a number from 0 on.
    """
    if request.fail_above is None:
        return None
    try:
        limit_pct = float(request.fail_above)
    except ValueError:
        limit_pct = math.nan
    if not 0 <= limit_pct < math.inf:
        raise UserError(f"--fail-above {request.fail_above}", "not a number from 0 on", "Give %, such as 5")
    return limit_pct


def too_wrong(summary: Sequence[Row], limit_pct: float) -> str | None:
    """Return one line on the predictors whose mean absolute error over all apps exceeds the limit, or None.

    The line gives the errors by app.  A predictor without any answer counts as too wrong, because nothing is known of
    its error.

    Args:
        summary: The statistics, as ``summary_rows`` returns them.
        limit_pct: The largest error that is allowed, %.
    """
    said = []
    for (predictor,), rows in rows_by(summary, "predictor").items():
        errors = {row["app"]: row["mean_abs_error_pct"] for row in rows}
        over_all = errors.pop(ALL_APPS)
        if over_all is None:
            said.append(f"{predictor} has no answer")
        elif over_all > limit_pct:
            by_app = ", ".join(f"{app} {error:.4g} %" for app, error in errors.items() if error is not None)
            said.append(f"{predictor} {over_all:.4g} %" + (f" ({by_app})" if len(errors) > 1 else ""))
    return f"--fail-above {limit_pct:g}: mean absolute error too large: {'; '.join(said)}" if said else None
