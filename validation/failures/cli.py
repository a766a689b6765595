"""Check the formulas of reliability: success, restart from scratch, checkpoints at Young's and Daly's interval.

Runs are drawn with numpy; every node has its own exponentially distributed failures.  The probability of success is
also estimated from runs in SimGrid whose hosts fail by state profiles; a stalled run and an aborted run count as
failed.  Each formula must lie in the 99 % interval of its estimate: the exact interval of Clopper and Pearson for a
probability, Student's interval for a mean time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions, own_problem_from_request, problem_from_request
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.command.request import JsonOption, fields_of, option, titled
from platforms.errors import UserError
from platforms.model.placement import block
from platforms.options import PlatformOptions, platform_from_request
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import significant
from platforms.terminal.table import table_lines

if TYPE_CHECKING:
    from apps.spec.run_spec import RunSpec
    from validation.failures.study import Check, SimulatedRuns

_SUCCESS, _RANKS = 0.6, 4  # probability of success and number of ranks of the runs in SimGrid
MOST_RUNS = 10_000_000


_IN_SIMGRID = "runs in SimGrid"


@dataclass(frozen=True, kw_only=True)
class FailuresComparisonRequest(PlatformOptions, ProgramOptions, DryRunOption, JsonOption):
    """Request of ``gridval plan failures``."""

    default_class: ClassVar[str] = "S"
    sections: ClassVar[Mapping[str, str]] = titled(_IN_SIMGRID, PlatformOptions, ProgramOptions)
    section_help: ClassVar[Mapping[str, str]] = {_IN_SIMGRID: "default: --scenario grid4x2 --app ep --class S"}

    kept: ClassVar[bool] = False

    runs: int = option(10_000, "N", "runs drawn per case (default: 10000)")
    simulations: int = option(200, "N", "runs in SimGrid; 0: none (default: 200)")
    seed: int = option(1, "S", "seed of all draws (default: 1)")
    success: float | None = option(
        None, "Q", f"probability of a run without failures (default: {_SUCCESS:g})", section=_IN_SIMGRID
    )
    app: str | None = option(None, "NAME", lambda _: f"of {', '.join(kernel_names())}")
    ranks: int | None = option(None, "P", f"ranks, one per node (default: {_RANKS})", section=_IN_SIMGRID)
    jobs: int | None = option(None, "N", "simulations at a time (default: the number of cores)", section=_IN_SIMGRID)


def _check(request: FailuresComparisonRequest) -> None:
    for name, value, least, most in (
        ("runs", request.runs, 100, MOST_RUNS),
        ("simulations", request.simulations, 0, MOST_RUNS),
        ("seed", request.seed, 0, 2**63),
    ):
        if not least <= value <= most:
            raise UserError(f"--{name} {value}", "out of its range", f"Give {least} to {most}")
    if not request.simulations:
        _refuse_simulation_options(request)
        if request.dry_run:
            raise UserError("--dry-run", "nothing is simulated with --simulations 0", "Leave it out")
    if request.jobs is not None and request.jobs < 1:
        raise UserError(f"--jobs {request.jobs}", "below one", "Give 1 or more")
    if request.success is not None and not 0 < request.success < 1:
        raise UserError(f"--success {request.success:g}", "not between 0 and 1", "Give for example 0.6")


def _refuse_simulation_options(request: FailuresComparisonRequest) -> None:
    """Refuse the options of the runs in SimGrid, which would be ignored without these runs."""
    for field in fields_of(FailuresComparisonRequest):
        if field.section == _IN_SIMGRID and getattr(request, field.key) != field.default:
            remedy = "Leave it out, or give --simulations 1 or more"
            raise UserError(field.option, "does not go with --simulations 0", remedy)


def _spec(request: FailuresComparisonRequest) -> RunSpec:
    if request.scenario is None and not request.platform:
        request = replace(request, scenario="grid4x2")
    platform = platform_from_request(request)
    problem = own_problem_from_request(request) or problem_from_request(request, request.app or "ep")
    target = Target(problem, platform, block(platform, _RANKS if request.ranks is None else request.ranks))
    return Settings(iterations="full").spec(target)


def _run(request: FailuresComparisonRequest) -> int:
    # Imported here because they are slow to import.
    from apps.runs.cautions import target_cautions
    from validation.failures.study import drawn_checks, simulated_check

    _check(request)
    spec = _spec(request) if request.simulations else None
    if request.dry_run:
        return _say_plan(request, spec)
    checks = drawn_checks(request.runs, request.seed)
    done, said = None, Cautions()
    if spec is not None:
        said.add(str(spec.target), target_cautions(spec.target))
        jobs = request.jobs or os.cpu_count() or 1
        check, done = simulated_check(
            spec, runs=request.simulations, success_wanted=request.success or _SUCCESS, seed=request.seed, jobs=jobs
        )
        checks.append(check)
    said.say_all()
    whole = {**_to_json(request.seed, checks, done), "cautions": said.lines()}
    print(json.dumps(whole) if request.json else _text(checks, done))
    return 0 if all(check.inside for check in checks) else 1


def _say_plan(request: FailuresComparisonRequest, spec: RunSpec | None) -> int:
    """Print what would be simulated: one run without failures, and those with drawn failures."""
    # Imported here because it is slow to import.
    from apps.runs.plan import Other, Plan, wall_s

    if spec is None:
        raise ValueError("a plan needs a run")
    time_s = wall_s([spec] * request.simulations, request.jobs or os.cpu_count() or 1)
    failing = Other("run with failures", "runs with failures", request.simulations, time_s)
    return print_plan(request, Plan(truths=(spec,), others=(failing,)))


def _to_json(seed: int, checks: Sequence[Check], done: SimulatedRuns | None) -> dict[str, Any]:
    return {
        "seed": seed,
        "checks": [asdict(check) | {"inside": check.inside} for check in checks],
        "simulations": None if done is None else {**done.counts, "as_drawn": done.as_drawn},
    }


def _text(checks: Sequence[Check], done: SimulatedRuns | None) -> str:
    rows: list[tuple[str, ...]] = [("quantity", "runs", "formula", "estimate", "99 % interval", "")]
    for check in checks:
        formula, estimate, low, high = (
            significant(value, 4) for value in (check.formula, check.estimate, check.low, check.high)
        )
        verdict = "inside" if check.inside else "OUTSIDE"
        rows.append((check.quantity, str(check.runs), formula, estimate, f"{low} to {high}", verdict))
    lines = [*table_lines(rows, left={0}), ""]
    if done is not None:
        became = ", ".join(f"{count} {name}" for name, count in done.counts.items())
        lines.append(f"in SimGrid: {became}; {done.as_drawn} of {len(done.outcomes)} agree with their draws")
    inside = sum(check.inside for check in checks)
    lines.append(f"{inside} of {len(checks)} inside; by chance each lies outside once in 100 draws")
    return "\n".join(folded_lines(lines))


COMMAND = Command(
    "plan failures",
    FailuresComparisonRequest,
    _run,
    __doc__,
    status=exit_status,
)
main = COMMAND.main
