"""Command line: the send modes of MPI on the machines of the Li paper, simulated, fitted and predicted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, runner_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.request import JsonOption, OutOption, WideOption, option
from platforms.errors import UserError, nearest
from platforms.files.writing import usable_folder, written_into
from platforms.options import PlatformOptions, platform_from_request
from validation.modes.machines import CLUSTERS

_DEFAULT = "li-1"

if TYPE_CHECKING:
    from validation.modes.study import Study


@dataclass(frozen=True, kw_only=True)
class ModesRequest(PlatformOptions, OutOption, JsonOption, WideOption, RunnerOptions, DryRunOption):
    """Request of ``gridval platform modes``."""

    out_files: ClassVar[str] = "tables (CSV) and figures (PNG, SVG)"

    cluster: str | None = option(None, "NAME", f"{' or '.join(CLUSTERS)} (default: {_DEFAULT})", parse=str.lower)
    machine: str | None = option(
        None, "FILE.toml", "instead: the lines of the real machine that this file describes (docs/programs/machines.md)"
    )
    paper: bool = option(
        False,
        help="instead: the paper's Tables 2 to 4 beside ours, for both machines, and Figures 6 and 7 (IS on li-1), "
        "which --out draws",
    )


def _run(request: ModesRequest) -> int:
    if request.paper:
        return _run_paper(request)
    if request.machine is not None or request.scenario is not None or request.platform:
        return _run_anywhere(request)
    cluster = _DEFAULT if request.cluster is None else request.cluster
    if cluster not in CLUSTERS:
        raise UserError(f"--cluster {cluster}", "not a machine of the Li paper", nearest(cluster, CLUSTERS))
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from platforms.grids.scenario import named_grid
    from platforms.read.read import materialise
    from validation.modes.messages import message_specs, read_costs
    from validation.modes.study import messages, study, study_json, study_text

    platform, costs = materialise(named_grid(cluster)), read_costs(cluster)
    if request.dry_run:
        return print_plan(request, Plan(truths=tuple(message_specs(platform, messages(), costs).values())))
    folder, said = None if request.out is None else usable_folder("--out", request.out), Cautions()
    with runner_from_request(request, cautions=said) as runner:
        done = study(cluster, platform, costs, runner)
    if folder is not None:
        _write(done, folder)
    print(json.dumps({**study_json(done), "cautions": said.lines()}) if request.json else study_text(done))
    return 0


def _run_anywhere(request: ModesRequest) -> int:
    """Measure the lines of any platform, in simulation, or of a real machine."""
    for name in ("cluster", "out"):
        if getattr(request, name) is not None:
            raise UserError(f"--{name}", "goes with the clusters of the paper", "Leave it out")
    # Imported here for a quick start: they are slow to import.
    from apps.machines.machine_file import read_machine
    from apps.machines.machine_platform import machine_platform
    from apps.runs.plan import Plan
    from validation.modes.anywhere import anywhere, anywhere_json, anywhere_text, plans

    machine = None
    if request.machine is None:
        platform = platform_from_request(request)
    elif request.scenario is not None or request.platform:
        raise UserError("--machine", "does not go with a platform", "Drop one")
    else:
        machine = read_machine(request.machine)
        platform = machine_platform(machine)
    asked = [plan.under((), machine) for plan in plans(platform)]
    if request.dry_run:
        return print_plan(request, Plan(experiments=tuple(asked)))
    said = Cautions()
    with runner_from_request(request, cautions=said) as runner:
        made = anywhere(platform, platform.name, lambda plan: runner.measure(plan.under((), machine)))
    if request.json:
        print(json.dumps({**anywhere_json(made), "cautions": said.lines()}))
    else:
        print(anywhere_text(made, wide=request.wide))
    return 0


def _run_paper(request: ModesRequest) -> int:
    if request.cluster is not None:
        raise UserError(f"--cluster {request.cluster}", "--paper takes both machines", "Leave it out")
    # Imported here for a quick start: they are slow to import.
    from validation.modes.paper import paper, paper_json, paper_text, planned_paper, write_tables
    from validation.modes.paper_figures import write_figures

    if request.dry_run:
        return print_plan(request, planned_paper())
    folder, said = None if request.out is None else usable_folder("--out", request.out), Cautions()
    with runner_from_request(request, cautions=said) as runner:
        reproduction = paper(runner)
    if folder is not None:
        with written_into("--out", folder):
            write_tables(reproduction, folder)
            write_figures(reproduction, folder)
    done = {**paper_json(reproduction), "cautions": said.lines()} if request.json else None
    print(paper_text(reproduction, wide=request.wide) if done is None else json.dumps(done))
    return 0


def _write(done: Study, folder: Path) -> None:
    # Imported here for a quick start: they are slow to import.
    from validation.modes.plots import write_figures
    from validation.modes.study import write_tables

    with written_into("--out", folder):
        write_tables(done, folder)
        write_figures(done, folder)


COMMAND = Command(
    "platform modes",
    ModesRequest,
    _run,
    "Simulate one message in each of MPI's send modes on a machine of the Li paper, fit its lines to "
    "the simulated times, and report their errors for longer and shorter messages; or fit the lines of any platform or "
    "real machine.",
    status=exit_status,
)
main = COMMAND.main
