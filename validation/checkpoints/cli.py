"""Check the expected times and energies of an application of blocks on failing hardware with drawn failures.

Every node of every run has its own exponentially distributed failures, and each run is followed through work,
checkpoints, failures and restarts.  Each expected value must lie in the 99 % interval of the drawn mean.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from apps.options.exit_status import say_failures
from platforms.command.command import Command
from platforms.command.request import JsonOption, option
from platforms.errors import UserError
from platforms.terminal.progress import doing
from platforms.terminal.quantities import significant
from platforms.terminal.table import table_lines
from predictor.checkpoints.cli import CheckpointOptions, rows_from_request

if TYPE_CHECKING:
    from predictor.checkpoints.report import CheckpointRow
    from validation.failures.study import Check

MOST_RUNS = 1_000_000
_LEAST_FAILURES = 30.0  # of all drawn runs of a strategy together, about; the mean of fewer is not nearly normal
_MOST_FAILURES = 1e7  # of all drawn runs of a strategy together, about; more would take minutes


@dataclass(frozen=True, kw_only=True)
class CheckpointsComparisonRequest(CheckpointOptions, JsonOption):
    """Request of ``gridval plan failures``."""

    runs: int = option(1000, "N", "runs drawn per case (default: 1000)")
    seed: int = option(1, "S", "seed of all draws (default: 1)")


def checks(rows: Sequence[CheckpointRow], *, restart_s: float, runs: int, seed: int) -> tuple[list[Check], list[str]]:
    """Return a check of the expected time, and of the energy if it is known, of each row and strategy.

    Runs that fail too often or too seldom are not drawn; the second list says which, and why.

    Raises:
        UserError: Nothing can be drawn.
    """
    # Imported here because they are slow to import.
    import numpy as np

    from predictor.checkpoints.expectation import NO_FAILURES
    from validation.checkpoints.draws import drawn_parts
    from validation.failures.study import mean_check

    cases = [(row, name) for row in rows for name in row.expected if name != NO_FAILURES]
    made, refused = [], []
    for (row, name), stream in zip(cases, np.random.SeedSequence(seed).spawn(len(cases)), strict=True):
        expected, run = row.expected[name], row.run
        about = f"{name}, {''.join(f'{key} {value}, ' for key, value in row.varied.items())}{run.nodes} nodes"
        reason = _not_drawn(about, expected.time_s * run.rate_per_s * runs, runs)
        if reason is not None:
            refused.append(reason)
            continue
        parts = drawn_parts(
            np.random.default_rng(stream), runs, run, interval_s=expected.interval_s, restart_s=restart_s
        )  # fmt: skip
        made.append(mean_check(f"s, {about}", expected.time_s, parts.sum(axis=1)))
        if expected.energy_j is not None:
            watts = np.array([power or 0.0 for power in (run.work_w, run.checkpoint_w, run.idle_w)])
            made.append(mean_check(f"J, {about}", expected.energy_j, parts @ watts))
    if not made:
        raise refused[0]
    return made, [str(error) for error in refused]


def _not_drawn(about: str, failures: float, runs: int) -> UserError | None:
    """Return why a case with this number of expected failures in all its runs cannot be drawn; None: it can."""
    if failures < _LEAST_FAILURES:
        what = f"{failures:.2g} failures expected in {runs} runs, too few to check a mean with"
        return UserError(about, what, "Give more --runs, or a higher --failure-rate")
    if failures > _MOST_FAILURES:
        what = f"{failures:.2g} failures expected in {runs} runs, too many to draw"
        return UserError(about, what, "Give fewer --runs, or a case that fails less often")
    return None


def _run(request: CheckpointsComparisonRequest) -> int:
    if not 100 <= request.runs <= MOST_RUNS:
        raise UserError(f"--runs {request.runs}", "out of its range", f"Give 100 to {MOST_RUNS}")
    if not 0 <= request.seed <= 2**63:
        raise UserError(f"--seed {request.seed}", "out of its range", f"Give 0 to {2**63}")
    source, rows, failures = rows_from_request(request)
    with doing("drawing failures"):
        done, refused = checks(rows, restart_s=request.restart, runs=request.runs, seed=request.seed)
    if request.json:
        shown = [asdict(check) | {"inside": check.inside} for check in done]
        print(json.dumps({"run": source, "seed": request.seed, "checks": shown, "not_drawn": refused}))
    else:
        print(_text(source, done))
    for text in refused:
        print(f"not drawn: {text}", file=sys.stderr)
    status = say_failures(failures)
    return status if all(check.inside for check in done) else 1


def _text(source: str, done: Sequence[Check]) -> str:
    rows: list[tuple[str, ...]] = [("quantity", "expected", "drawn", "99 % interval", "")]
    for check in done:
        expected, drawn, low, high = (
            significant(value, 4) for value in (check.formula, check.estimate, check.low, check.high)
        )
        rows.append((check.quantity, expected, drawn, f"{low} to {high}", "inside" if check.inside else "OUTSIDE"))
    inside = sum(check.inside for check in done)
    verdict = f"{inside} of {len(done)} inside; by chance each lies outside once in 100 draws"
    return "\n".join([source, "", *table_lines(rows, left={0}), "", verdict])


COMMAND = Command(
    "plan failures",
    CheckpointsComparisonRequest,
    _run,
    __doc__,
    first="application --system --vary --restart --checkpoint --runs --seed --failure-rate --model".split(),
)
main = COMMAND.main
