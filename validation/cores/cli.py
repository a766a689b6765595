"""Compare the hierarchical model with simulations.

Without --app, the simulation implements the model's own assumptions: the cores of a node compute, share a memory and
send in phases.  The largest error must be within 2 %.  With --app, it runs this project's kernels under SMPI, on nodes
with the memory bus of --memory-bus, with real broadcasts and all-to-alls and a real network; NAS kernels take a class.
With --program, or a kernel that is recorded, it runs all allocations of the recorded numbers of ranks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, runner_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.request import JsonOption, OutOption, WideOption, given, option
from platforms.errors import UserError
from platforms.files.writing import usable_folder, written_into
from predictor.evidence.given import NOT_SIMULATED
from predictor.hierarchical.memory import memory_from
from predictor.hierarchical.model import SCALING
from predictor.hierarchical.recorded_request import (
    RecordedOptions,
    is_recorded,
    recorded_question,
    refuse_recording_options,
)
from validation.comparison.rows import records

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from predictor.hierarchical.multicore_cluster import MulticoreCluster
    from validation.cores.communication import Study
    from validation.cores.recorded import RecordedPoint

_CORES, _NODES, _WORLD_NODES = "1,2,4,8,16", "1,2,4,8,16", "1,2,4,8,16,32,64"
_ANY_BETA = "hpl"  # the program that is simulated with every beta(q, p)
INSIDE, BYTES = ("memory", "network"), ("declared", "table")


@dataclass(frozen=True, kw_only=True)
class CoresComparisonRequest(RecordedOptions, OutOption, WideOption, JsonOption, RunnerOptions, DryRunOption):
    """Request of ``gridval plan cores``."""

    absent: ClassVar[Mapping[str, str]] = NOT_SIMULATED
    out_files: ClassVar[str] = "tables (CSV) and, with --app, surfaces (PNG)"

    system: str | None = option(
        None,
        "FILE|NAME",
        "as in gridval plan cores (default with --app: bwUniCluster; without: the paper's four)",
    )
    memory: str | None = option(
        None, "GB/S|FILE", "memory bandwidth of a node, for a scenario, as in gridval plan cores"
    )
    app: str | None = option(
        None,
        "NAME",
        "scalar-product, matrix-product, hpl, fft or fftw, with --n; a NAS kernel with --class; or a kernel with "
        "--size, or without declared exchanges",
        parse=str.lower,
    )
    n: int | None = option(None, "N", "problem size, as in the paper's table")
    cores: str | None = option(None, "Q1,Q2,...", f"cores per node (default: those of {_CORES} that the machine has)")
    nodes: str | None = option(None, "P1,P2,...", f"default: {_NODES}; without --app {_WORLD_NODES}")
    scaling: str | None = option(
        None, "NAME", f"{' or '.join(SCALING)}: the model's s(z) (default with --app: hockney; without: both)"
    )
    beta: str | None = option(None, "FORM", "sharing of the network in the model, beta(q, p), as in gridval plan cores")
    bytes: str | None = option(
        None, "WHOSE", "source of the simulated #b: declared (by the kernel, default) or table (of the paper)"
    )
    inside: str | None = option(
        None, "WHERE", "path of messages within a node: memory (default), or network (the node's link)"
    )
    search: bool = option(
        False, help="with --app: simulate every q and p once, and tell how far the planner's advice is from the fastest"
    )


def _numbers(text: str, option: str) -> tuple[int, ...]:
    """Parse an option's list of whole numbers from 1 on; return them in ascending order."""
    try:
        numbers = {int(part) for part in text.split(",")}
    except ValueError:
        numbers = set()
    if not numbers or min(numbers) < 1:
        raise UserError(f"{option} {text}", "not a list of whole numbers from 1 on", "Write for example 1,2,4")
    return tuple(sorted(numbers))


def _choice(value: str | None, default: str, known: Collection[str], option: str) -> str:
    if value is not None and value not in known:
        raise UserError(f"{option} {value}", "no such choice", f"Known: {', '.join(known)}")
    return value or default


def _world(request: CoresComparisonRequest, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Other, Plan
    from predictor.hierarchical.model import BETAS
    from predictor.hierarchical.multicore_cluster import hardware_table, read_cluster
    from validation.cores.output import world_table, world_text, write_csv
    from validation.cores.world import POINT_S, SIZES, TOLERANCE, WorldCase, WorldPoint, simulate_world

    for value, name in (
        (request.n, "--n"),
        (request.beta, "--beta"),
        (request.bytes, "--bytes"),
        (request.inside, "--inside"),
    ):
        if value is not None:
            raise UserError(f"{name} {value}", "needs --app", "Add --app, or leave it out")
    if request.search:
        raise UserError("--search", "needs --app", "Add --app, or leave it out")
    systems = [row.system for row in hardware_table()]
    if request.system is not None:
        systems = [read_cluster(request.system, memory_gbyte_s=memory_from(request.memory, request))]
    scalings = [_choice(request.scaling, "", SCALING, "--scaling")] if request.scaling else list(SCALING)
    points: list[WorldPoint] = []
    planned = 0
    for system in systems:
        cases = [WorldCase(system, app, n, overlap=s == "overlap") for app, n in SIZES.items() for s in scalings]
        known = {case.shared for case in cases if case.app == _ANY_BETA}
        others = (beta for beta in BETAS.values() if beta not in known)
        cases += [WorldCase(system, _ANY_BETA, SIZES[_ANY_BETA], beta) for beta in others]
        cores = _numbers(request.cores or _CORES, "--cores")
        nodes = _numbers(request.nodes or _WORLD_NODES, "--nodes")
        planned += len(cases) * len(cores) * len(nodes)
        if not request.dry_run:
            points += simulate_world(cases, cores, nodes)
    if request.dry_run:
        return print_plan(
            request,
            Plan(others=(Other("point of its own world", "points of its own world", planned, planned * POINT_S),)),
        )
    table = world_table(points)
    if folder is not None:
        with written_into("--out", folder):
            write_csv(table, folder, "world")
    # No caution applies: the simulated world is a program of its own, without SMPI, extrapolation or repairs.
    print(
        json.dumps({"points": records(table), "cautions": []})
        if request.json
        else world_text(points, wide=request.wide)
    )
    return 0 if max(abs(point.error) for point in points) <= TOLERANCE else 1


def _communication(request: CoresComparisonRequest, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from predictor.hierarchical.model import named_beta
    from predictor.hierarchical.multicore_cluster import read_cluster
    from validation.cores.communication import Study, region_errors, simulate_points, study_specs
    from validation.cores.output import points_table, study_json, study_text, write_csv

    if request.n is None:
        raise UserError(f"--app {request.app}", "its size is not given", "Give --n, such as 4096")
    system = read_cluster(request.system or "bwUniCluster", memory_gbyte_s=memory_from(request.memory, request))
    some = ",".join(q for q in _CORES.split(",") if int(q) <= system.cores)
    study = Study(
        system,
        given(request.app),
        request.n,
        _numbers(request.cores or some, "--cores"),
        _numbers(request.nodes or _NODES, "--nodes"),
        inside=_choice(request.inside, "memory", INSIDE, "--inside"),
        bytes_from=_choice(request.bytes, "declared", BYTES, "--bytes"),
        beta=None if request.beta is None else named_beta(request.beta),
        overlap=_choice(request.scaling, "hockney", SCALING, "--scaling") == "overlap",
    )
    if request.search:
        return _search(request, study, folder)
    if request.dry_run:
        return print_plan(request, Plan(truths=tuple(spec for pair in study_specs(study).values() for spec in pair)))
    said = Cautions()
    with runner_from_request(request, cautions=said) as runner:
        points = simulate_points(study, runner)
    regions = region_errors(points)
    if folder is not None:
        # Imported here for a quick start: it is slow to import.
        from validation.cores.plots import write_figure

        name = f"{study.app}-{study.n}-{study.system.name.replace(' ', '')}"
        with written_into("--out", folder):
            write_csv(points_table(points), folder, name)
            write_figure(points, folder, name)
    if request.json:
        print(json.dumps({**study_json(study, points, regions), "cautions": said.lines()}))
    else:
        print(study_text(study, points, regions, wide=request.wide))
    return 0


def _recorded(request: CoresComparisonRequest, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from predictor.dpgraph.predictors import iterations_to_record
    from predictor.evidence.plan import recordings_plan
    from predictor.hierarchical.multicore_cluster import read_cluster
    from validation.cores.recorded import simulate_recorded

    for name in ("n", "cores", "nodes", "scaling", "beta", "bytes"):
        if (value := getattr(request, name)) is not None:
            raise UserError(f"--{name} {value}", "does not go with a program that is recorded", "Leave it out")
    if request.search:
        raise UserError("--search", "all allocations of a recorded program are simulated anyway", "Leave it out")
    inside = _choice(request.inside, "memory", INSIDE, "--inside")
    system = read_cluster(request.system or "bwUniCluster", memory_gbyte_s=memory_from(request.memory, request))
    asked = recorded_question(request, system, None)
    if request.dry_run:
        recordings = recordings_plan(asked.settings, asked.targets, iterations_to_record)
        remark = "and a run of each allocation of as many ranks"
        return print_plan(request, Plan(recordings=recordings.recordings, remark=remark))
    said = Cautions()
    with runner_from_request(request, cautions=said) as runner:
        plan = asked.plan(runner, said)
        points = simulate_recorded(plan, asked.settings, runner, inside=inside)
    return _show_points(request, system, plan.problem, points, said, folder)


def _show_points(
    request: CoresComparisonRequest, system: MulticoreCluster, problem: Problem, points: Sequence[RecordedPoint],
    said: Cautions, folder: Path | None,
) -> int:  # fmt: skip
    """Print the points of a program, write them into the folder if there is one, and return the exit status."""
    # Imported here for a quick start: they are slow to import.
    from validation.cores.recorded import points_json, points_text

    made = points_json(system, problem, points)
    if folder is not None:
        import pandas as pd  # imported here for a quick start: it is slow to import

        from validation.cores.output import write_csv  # imported here because it needs pandas

        with written_into("--out", folder):
            write_csv(pd.DataFrame(made["points"]), folder, f"{problem.name}-{system.name.replace(' ', '')}")
    if request.json:
        print(json.dumps({**made, "cautions": said.lines()}))
    else:
        print(points_text(f"{problem} on {system.name}, the fastest first", points, wide=request.wide))
    return 0


def _kernels(request: CoresComparisonRequest, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.programs.problem import problem
    from apps.runs.plan import Plan
    from predictor.hierarchical.model import named_beta
    from predictor.hierarchical.multicore_cluster import read_cluster
    from validation.cores.recorded import KernelStudy, kernel_specs, simulate_kernel

    if request.problem_class is None:
        raise UserError(f"--app {request.app}", "its class is not given", "Give --class, such as A")
    for name in ("n", "bytes", "search"):
        if getattr(request, name) not in (None, False):
            raise UserError(f"--{name}", "does not go with a kernel that has classes", "Leave it out")
    system = read_cluster(request.system or "bwUniCluster", memory_gbyte_s=memory_from(request.memory, request))
    some = ",".join(q for q in _CORES.split(",") if int(q) <= system.cores)
    study = KernelStudy(
        system,
        problem(given(request.app), request.problem_class),
        _numbers(request.cores or some, "--cores"),
        _numbers(request.nodes or _NODES, "--nodes"),
        inside=_choice(request.inside, "memory", INSIDE, "--inside"),
        beta=None if request.beta is None else named_beta(request.beta),
        overlap=_choice(request.scaling, "hockney", SCALING, "--scaling") == "overlap",
    )
    if request.dry_run:
        return print_plan(request, Plan(truths=tuple(kernel_specs(study).values())))
    said = Cautions()
    with runner_from_request(request, cautions=said) as runner:
        points = simulate_kernel(study, runner)
    return _show_points(request, system, study.problem, points, said, folder)


def _search(request: CoresComparisonRequest, study: Study, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from validation.cores.output import write_csv
    from validation.cores.search import search, search_json, search_specs, search_table, search_text

    if request.dry_run:
        return print_plan(request, Plan(truths=tuple(search_specs(study).values())))
    said = Cautions()
    with runner_from_request(request, cautions=said) as runner:
        searched = search(study, runner)
    if folder is not None:
        with written_into("--out", folder):
            write_csv(
                search_table(searched), folder, f"{study.app}-{study.n}-{study.system.name.replace(' ', '')}-search"
            )
    print(json.dumps({**search_json(searched), "cautions": said.lines()}) if request.json else search_text(searched))
    return 0


def _run(request: CoresComparisonRequest) -> int:
    folder = None if request.out is None else usable_folder("--out", request.out)
    refuse_recording_options(request)
    if is_recorded(request):
        return _recorded(request, folder)
    # Imported here for a quick start: it is slow to import.
    from predictor.hierarchical.kernels import exchanging_names

    if request.app in exchanging_names():
        return _kernels(request, folder)
    return _world(request, folder) if request.app is None else _communication(request, folder)


COMMAND = Command(
    "plan cores",
    CoresComparisonRequest,
    _run,
    __doc__,
    status=exit_status,
)
main = COMMAND.main
