"""Find the grid to buy: the one that runs a mix of programs fastest among all that a budget allows.

A TOML file gives the prices of nodes and networks, the number of clusters that a grid may have, and the programs with
their weights (docs/planning/grid-design.md).  Every grid of that space is evaluated by a predictor, or ruled out by
bounds on its times; none is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from platforms.command.command import Command, Reply
from platforms.command.parser import any_case
from platforms.command.request import JsonOption, argument, option
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_text
from platforms.model.placement import write_host_file
from platforms.prices.carbon import Site
from platforms.prices.options import CarbonOptions, carbon_from_request
from platforms.terminal.progress import Progress
from platforms.wording import number_of
from predictor.base import OutOfRange
from predictor.evidence.plan import planned
from predictor.grid.output import as_json, scenario_text, text
from predictor.grid.request import DesignQuestion, read_request
from predictor.grid.search import PredictorTimes, Search, Times, candidate_targets
from predictor.grid.space import affordable
from predictor.options import problems_in_place
from predictor.registry import PREDICTORS, help_text, predictor

if TYPE_CHECKING:
    from apps.runs.plan import Plan
    from apps.runs.runner import Runner
    from predictor.grid.space import Candidate

DEFAULT_PREDICTOR = "dpgraph:known"  # a grid that does not exist cannot be measured, only described


def _graph_times(request: DesignQuestion, settings: Settings, runner: Runner) -> Times:
    # Imported here for a quick start: it is slow to import.
    from predictor.grid.graph_times import GraphTimes

    return GraphTimes(request, settings, runner)


# Predictors that evaluate many grids without a SimGrid process for each, and give bounds of the times.
_QUICK: Mapping[str, Callable[[DesignQuestion, Settings, Runner], Times]] = {"dpgraph:known": _graph_times}


@dataclass(frozen=True, kw_only=True)
class GridRequest(JsonOption, ProgramOptions, SettingsOptions, CarbonOptions, RunnerOptions, DryRunOption):
    """Request of ``gridval plan grid``."""

    absent: ClassVar[Mapping[str, str]] = {
        "--recording": "a trace has one number of ranks, and grids have many. Give --program"
    }

    file: str = argument("FILE.toml", "prices of nodes and networks, and the programs to run")
    app: str | None = option(
        None, "A1,A2,...", lambda _: f"kernels in place of the file's programs: of {', '.join(kernel_names())}"
    )
    budget: float | None = option(None, "B", "budget, in place of the file's")
    top: int = option(5, "K", "number of best grids to show (default: 5)")
    predictor: str = option(
        DEFAULT_PREDICTOR,
        "NAME",
        f"{help_text()} (default: {DEFAULT_PREDICTOR}, the only one with bounds; with another every grid is "
        "evaluated, and its evidence gathered)",
        parse=any_case(*PREDICTORS),
    )
    no_front: bool = option(False, help="the best grids only, which takes fewer evaluations")
    exhaustive: bool = option(False, help="evaluate every grid, to check the bounds")
    write: str | None = option(None, "FILE.toml", "write the best grid as a scenario file, for --scenario")
    write_hostfile: str | None = option(None, "FILE", "write its hosts, one per line in rank order")


def design_from_request(request: GridRequest) -> DesignQuestion:
    """Read the design file, with the budget of --budget if it is given.

    Raises:
        UserError: An option or the file is wrong.
    """
    if request.top < 1:
        raise UserError(f"--top {request.top}", "below one", "Give at least 1")
    design = read_request(request.file, problems_in_place(request))
    return design if request.budget is None else design.with_budget(request.budget)


def _site_from_request(request: GridRequest) -> Site | None:
    """Return the site of --carbon; None: it is not given.

    Raises:
        UserError: It names hosts or clusters, of which a grid that is not bought yet has none.
    """
    carbon = carbon_from_request(request)
    if carbon is None:
        return None
    if carbon.every is None or carbon.by_name:
        problem = "grids to buy have no names of clusters"
        raise UserError(f"--carbon {request.carbon}", problem, "Give one value or profile for the whole grid")
    return carbon.every


def times_for(name: str, request: DesignQuestion, settings: Settings, runner: Runner) -> Times:
    """Return the source of the programs' times on candidate grids, for a predictor by name.

    Raises:
        UserError: The predictor is not known.
    """
    model = predictor(name)
    quick = _QUICK.get(name)
    return PredictorTimes(model, request, settings, runner) if quick is None else quick(request, settings, runner)


def plan(name: str, request: DesignQuestion, settings: Settings, candidates: Sequence[Candidate]) -> Plan:
    """Return the simulations for the evidence of a predictor by name.

    Raises:
        UserError: The predictor is not known.
    """
    model = predictor(name)
    remark = f"{number_of(len(candidates), 'grid')} within the budget, each to be evaluated or ruled out"
    if name in _QUICK:
        # Imported here for a quick start: it is slow to import.
        from predictor.grid.graph_times import recorded_targets

        targets = [[recorded_target] for recorded_target in recorded_targets(request, candidates)]
    else:
        targets = [candidate_targets(request, candidate) for candidate in candidates]
    return planned(((settings, some) for some in targets), [model], truths=False, remark=remark)


def answer(request: GridRequest) -> Reply | int:
    """Find the best grids; with --dry-run say what that takes, and return the exit status."""
    for name, path in (("--write", request.write), ("--write-hostfile", request.write_hostfile)):
        if path is not None:
            check_writable(name, path)
    design, site = design_from_request(request), _site_from_request(request)
    settings = settings_from_request(request)
    said = Cautions()
    grids = affordable(design)
    if request.dry_run:
        return print_plan(request, plan(request.predictor, design, settings, grids.candidates))
    search = Search(
        grids.candidates,
        [program.weight for program in design.programs],
        top=request.top,
        with_front=not request.no_front,
        exhaustive=request.exhaustive,
    )
    status = 0
    progress = Progress()
    with runner_from_request(request, cautions=said) as runner:
        times = times_for(request.predictor, design, settings, runner)
        try:
            search.run(times, progress)
        except KeyboardInterrupt:
            if not search.evaluated:
                raise
            status = 130
        finally:
            progress.close()
    if not search.evaluated:
        ((reason, _),) = search.unanswered.most_common(1)
        problem, remedy = f"no answer for any grid: {reason.rstrip('.')}", "Change that, or use another --predictor"
        raise OutOfRange(f"{request.file}, {request.predictor}", problem, remedy)
    made = as_json(design, search, grids.refused, predictor=request.predictor, cost=times.cost, site=site)
    return Reply(
        (design, search),
        lambda: text(design, search, grids.refused, predictor=request.predictor, cost=times.cost, site=site),
        lambda: {**made, "cautions": runner.cautions.lines()},
        status,
    )


def _write(request: GridRequest, reply: Reply) -> None:
    """Write the requested files for the best grid."""
    design, search = reply.value
    best = search.best[0].candidate
    if request.write is not None:
        money = f"{best.price:.10g} {design.currency}".rstrip()
        source = f"Designed from {Path(request.file).name}: {best}, network {best.network.name}, for {money}."
        write_text("--write", request.write, scenario_text(best, source))
    if request.write_hostfile is not None:
        write_host_file(request.write_hostfile, best.placement(best.grid()))


COMMAND = Command(
    "plan grid",
    GridRequest,
    answer,
    __doc__,
    after=_write,
    status=exit_status,
)
main = COMMAND.main
