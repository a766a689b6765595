"""Request of ``gridval plan job``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from apps.options.machines import MachineOptions
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions
from platforms.command.request import JsonOption, argument, option
from platforms.errors import UserError
from platforms.options import PlacementOptions
from platforms.prices.options import CostOptions
from predictor.defaults.choice import BEST_TEXT
from predictor.options import PredictorOption

NODE_HOURS, TIME, COST = "node-hours", "time", "cost"
_LEAST_RISK, _MOST_RISK = 50.0, 99.0


@dataclass(frozen=True, kw_only=True)
class JobRequest(
    MachineOptions,
    ProgramOptions,
    PredictorOption,
    PlacementOptions,
    RunnerOptions,
    CostOptions,
    JsonOption,
):
    """A batch script to plan."""

    default_predictors: ClassVar[str] = BEST_TEXT
    without: ClassVar[frozenset[str]] = frozenset({"ranks_per_host", "hostfile"})  # the script has them

    job: str = argument("JOB", "a batch script of Slurm, PBS or LSF; it is read, never run")
    nodes: str | None = option(
        None,
        "N1,N2|N:M[:STEP]",
        "numbers of nodes to compare (default: half, all and twice those of the script; 4:64 takes powers of two)",
    )
    risk: float = option(95.0, "PERCENT", "share of runs that end within the time to request: 50 to 99 (default: 95)")
    spread: float | None = option(
        None,
        "PERCENT",
        "standard deviation of run times of one job on this machine, which widens the interval (default: 0 beside "
        "an interval; without one no time is advised)",
    )
    slack: float = option(10.0, "PERCENT", "how much slower than the fastest the cheapest may be (default: 10)")
    objective: str = option(
        NODE_HOURS,
        "",
        "what the chosen number of nodes has least of (default: node-hours); cost needs --price",
        choices=(NODE_HOURS, TIME, COST),
    )
    measured: str | None = option(
        None,
        "FILE.csv",
        "times of this job that were measured, columns nodes and time_s: all times are predicted from them, and no "
        "platform and no program are needed",
    )
    write: str | None = option(
        None, "FILE", "write the script with the chosen nodes and time there, never over the script itself"
    )


def check(request: JobRequest) -> None:
    """Check the numbers of a request.

    Raises:
        UserError: A number is out of its range.
    """
    if not _LEAST_RISK <= request.risk <= _MOST_RISK:
        raise UserError(f"--risk {request.risk:g}", f"not between {_LEAST_RISK:g} and {_MOST_RISK:g}", "Give 95")
    if request.spread is not None and not 0 <= request.spread <= 100:
        raise UserError(f"--spread {request.spread:g}", "not between 0 and 100 %", "Give for example 5")
    if request.objective == COST and request.price is None:
        raise UserError("--objective cost", "needs prices", "Give --price")
    if not 0 <= request.slack <= 1000:
        raise UserError(f"--slack {request.slack:g}", "not between 0 and 1000 %", "Give for example 10")
