"""Command line: predict and simulate a product of platforms, networks, problems, mappings and efficiencies.

Finished runs are kept in the store, so an interrupted campaign continues where it stopped.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import KEYS as PROBLEM_KEYS
from apps.options.programs import ProgramOptions, problem_of_table, said_of
from apps.options.runner import RunnerOptions, checked_runner, runner_from_request
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import Problem, problem, sized_problem
from apps.results.cautions import Cautions
from apps.runs.limits import rough_duration
from apps.runs.plan import refusal_lines, wall_s
from apps.runs.scheduler import SchedulerOptions, open_to_strangers, scheduler_from_request
from apps.spec.choices import AUTO
from apps.spec.settings import Settings, parse_iterations
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.command.request import JsonOption, OutOption, WideOption, argument, option
from platforms.errors import PlatformError, UserError, known_names
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.grids.grid import Grid
from platforms.grids.random_grid import Ranges, random_grid
from platforms.grids.scenario import SCENARIOS, named_grid
from platforms.model.placement import MAPPINGS, Placement
from platforms.model.platform import Platform
from platforms.options import check_all_usable, read_platforms
from platforms.read.read import materialise
from platforms.terminal.prose import prose_lines
from predictor.base import Predictor
from predictor.defaults.choice import PredictorsOf, default_predictors
from predictor.evidence.given import NOT_SIMULATED
from predictor.options import problems_in_place
from predictor.plugins import within
from predictor.registry import predictors
from validation.output import EXIT_STATUSES_AND_LIMIT, FailAboveOption, Output, limit_from_request
from validation.report.option import ReportOption, reporter_from_request
from validation.series.case import Case
from validation.series.series import Series, carry_out

_KEYS = {
    "": (
        *("scenarios", "platforms", "networks", "random", "apps", "classes", "sizes", "mappings"),
        *("efficiencies", "programs", "predictors", "iterations", "compute", "clusters", "ranks", "ranks_per_host"),
    ),
    "programs": PROBLEM_KEYS,
    "random": ("count", "seed", "clusters", "nodes", "speed_gflops", "bandwidth_gbit_s", "wan_latency_ms"),
}


_WIDTH = 74  # of the example in the help
MOST_RANDOM = 100_000  # platforms
MOST_CASES = 1_000_000  # targets


def read_campaign(path: str | Path, folder: Path | None = None, asked: Sequence[Problem] | None = None) -> Series:
    """Read a campaign from a TOML file.

    The targets are the product of the file's lists::

        scenarios = ["all"]                 # names, scenario or system files; "all" for the six of the HCF paper
        platforms = ["site.xml"]            # SimGrid platform files
        clusters = "left=a*,right=b*"       # of the platform files, as in --clusters; default: zones, split by speed
        networks = ["gigabit", "metro"]     # networks of the scenarios; default: the scenario's own, or gigabit
        apps = ["cg", "mg", "lu"]           # default these, or none beside programs of your own
        classes = ["B"]                     # of the kernels, default B
        sizes = [64, 128]                   # of those kernels that take a size, as in --size
        mappings = ["block", "cyclic"]      # default block
        ranks = [16, 32]                    # default: as many as the hosts take
        ranks_per_host = [1, 2]             # default 1; up to the cores
        efficiencies = ["reference", 0.1]   # default reference
        predictors = ["hcf"]                # default as gridval run; "all" for every one; "mine.py:NAME" for yours
        iterations = "steady"               # or "full", or a number; default steady, full where a platform changes
        compute = "auto"                    # or "injected", "measured", "none"; default auto, as --compute
        [random]                            # random platforms beside the others; [[random]]: several such tables
        count = 100
        seed = 1
        clusters = [2, 5]                   # ranges, as in platforms/grids/random_grid.py
        nodes = [2, 12]
        speed_gflops = [20, 100]
        bandwidth_gbit_s = [0.1, 10]
        wan_latency_ms = [0.05, 10]
        [[programs]]                        # programs of your own, each in a table like this
        file = "halo.c"                     # source or binary, as in --program
        arguments = "128 {iterations}"      # as in --program-args
        iterations = 100                    # of a full run, if the arguments determine it
        flags = "-DFAST"                    # of the compiler, as in --program-flags; build and status likewise
        name = "halo-128"                   # in the results; default: that of the file
        [[programs]]                        # or another kernel, with its class, or with its size
        app = "himeno"
        size = 64
        params = { niter = 20 }

    File names are relative to the campaign file.

    Args:
        path: The campaign file.
        folder: Folder to which the file names are relative instead.
        asked: Problems in place of those of the file; None: those of the file.

    Raises:
        UserError: The file cannot be read or a key is wrong; the error names the file and the key.
    """
    path = Path(path)
    folder = path.parent if folder is None else folder
    table = read_checked(path, _KEYS, "campaign file")
    platforms = list(_platforms(table, folder))
    if not platforms:
        raise UserError(str(path), "no scenarios, platforms or random platforms", "Name at least one")
    problems = _problems(table, folder) if asked is None else list(asked)
    efficiencies = table.list_of("efficiencies", ["reference"], (str, int, float), "numbers, reference or measured")
    iterations = table.value("iterations", None)
    settings = [
        Settings(
            compute=table.text("compute", AUTO),
            efficiency=str(efficiency),
            iterations=None if iterations is None else parse_iterations(str(iterations)),
        )
        for efficiency in efficiencies
    ]
    mappings = _names(table, "mappings", ["block"])
    for mapping in mappings:
        if mapping not in MAPPINGS:
            raise UserError(f"{path}, mappings", f"no mapping {mapping!r}", known_names(mapping, MAPPINGS))
    placements, misfits = _placements(table, platforms, mappings)
    count = len(settings) * len(placements) * len(problems)
    if count > MOST_CASES:
        raise UserError(str(path), f"a product of {count} runs", f"Ask for at most {MOST_CASES}")
    cases = [
        Case(Target(problem_asked, platform, placement), mapping, setting)
        for setting, (mapping, platform, placement), problem_asked in product(settings, placements, problems)
    ]
    models: Sequence[Predictor] | PredictorsOf = default_predictors
    if table.has("predictors"):
        models = tuple(predictors(within(folder, name) for name in _names(table, "predictors", [])))
    return Series(tuple(cases), models, left_out=misfits)


def _problems(table: CheckedTable, folder: Path) -> list[Problem]:
    """Return the kernels of each class, then those of the tables: other kernels, and the user's own programs."""
    programs = table.tables("programs")
    apps = [] if programs and not table.has("apps") else _names(table, "apps", ["cg", "mg", "lu"])
    problems = _kernels(table, apps)
    names = set(apps)
    for entry in programs:
        asked = problem_of_table(entry, folder)
        if asked in problems:
            raise UserError(entry.where, f"{asked} again", "Leave one of them out")
        if asked.program is not None and asked.name in names:
            raise UserError(entry.where, f"another program or kernel is called {asked.name}", "Give it another name")
        names.add(asked.name)
        problems.append(asked)
    return problems


def _kernels(table: CheckedTable, apps: Sequence[str]) -> list[Problem]:
    """Return each kernel in each size if it takes one, else in each class."""
    sizes = _numbers(table, "sizes")
    sized = [app for app in apps if sizes and named_kernel(app).size_parameter is not None]
    if sizes and not sized:
        raise UserError(table.at("sizes"), f"none of {', '.join(apps) or 'no apps'} takes a size", "Leave it out")
    classes = _names(table, "classes", ["B"])
    with said_of(table.at("sizes")):
        return [
            sized_problem(app, int(value)) if app in sized else problem(app, str(value))
            for app in apps
            for value in (sizes if app in sized else classes)
        ]


def _placements(
    table: CheckedTable, platforms: Sequence[Platform], mappings: Sequence[str]
) -> tuple[list[tuple[str, Platform, Placement]], tuple[str, ...]]:
    ranks: list[int | None] = [*_numbers(table, "ranks")] or [None]
    each = _numbers(table, "ranks_per_host") or [1]
    placements, misfits = [], dict[str, PlatformError]()
    for mapping, platform, most, asked in product(mappings, platforms, each, ranks):
        try:
            placement = MAPPINGS[mapping](platform, asked or most * len(platform.hosts), most)
            placements.append((mapping, platform, placement))
        except PlatformError as err:
            misfits[str(err)] = err
    if not placements:
        raise misfits.popitem()[1]
    for platform in platforms:
        check_all_usable(platform, [placement for _, other, placement in placements if other is platform])
    return placements, tuple(misfits)


def _numbers(table: CheckedTable, key: str) -> list[int]:
    """Return the distinct numbers of a list, or an empty list if the key is left out."""
    if not table.has(key):
        return []
    numbers = table.list_of(key, [], int, "whole numbers")
    if not numbers or min(numbers) < 1:
        raise UserError(table.at(key), f"{numbers}", "Give numbers of at least 1, or leave the key out")
    return list(dict.fromkeys(numbers))


def _names(table: CheckedTable, key: str, default: list[str]) -> list[str]:
    names = table.list_of(key, default, str, "names")
    if not names:
        raise UserError(table.at(key), "an empty list", "Name at least one, or leave the key out")
    return list(dict.fromkeys(names))


def _platforms(table: CheckedTable, folder: Path) -> Iterator[Platform]:
    # Imported here because it is slow to import.
    from platforms.system.convert import materialise_file

    networks = _names(table, "networks", []) if table.has("networks") else [None]
    for name in table.list_of("scenarios", [], str, "names"):
        for scenario in SCENARIOS if name == "all" else (name,):
            for network in networks:
                if scenario.endswith(".toml"):
                    yield materialise_file(folder / scenario, network)
                else:
                    yield materialise(named_grid(scenario, network))
    files = [folder / name for name in table.list_of("platforms", [], str, "file names")]
    clusters = table.text("clusters", "")
    if clusters and not files:
        raise UserError(table.at("clusters"), "given without platform files", "Name some in platforms")
    yield from read_platforms(files, clusters)
    yield from map(materialise, _random_grids(table))


def _random_grids(table: CheckedTable) -> Iterator[Grid]:
    """Yield the random grids of ``[random]``, or of each ``[[random]]``."""
    several = isinstance(table.value("random", None), list)
    every = table.tables("random") if several else [table.table("random", "random")] if table.has("random") else []
    seeds = [random.integer("seed") for random in every]
    for random, seed in zip(every, seeds, strict=True):
        count = random.integer("count")
        if not 1 <= count <= MOST_RANDOM or seed < 0:
            remedy = f"Give a count from 1 to {MOST_RANDOM} and a seed of at least 0"
            raise UserError(random.where, f"count {count}, seed {seed}", remedy)
        if seeds.count(seed) > 1:  # their platforms would have the same names
            raise UserError(random.at("seed"), f"{seed} is the seed of another table too", "Give each its own")
        ranges = _ranges(random)
        yield from (random_grid(seed, number, ranges) for number in range(count))


def _ranges(random: CheckedTable) -> Ranges:
    units = {
        "clusters": ("clusters", 1),
        "nodes": ("nodes", 1),
        "speed_gflops": ("speed_flops", 1e9),
        "bandwidth_gbit_s": ("bandwidth_Bps", 1e9 / 8),
        "wan_latency_ms": ("wan_latency_s", 1e-3),
    }
    given = {}
    for key, (field, unit) in units.items():
        if random.has(key):
            low_high = random.list_of(key, [], (int, float), "two numbers")
            if len(low_high) != 2:
                raise UserError(random.at(key), f"{low_high}", "Give the smallest and the largest")
            given[field] = tuple(value * unit for value in low_high)
    return Ranges(**given)


def _file_help() -> str:
    """Return the example file from the docstring of ``read_campaign``."""
    example = textwrap.dedent((read_campaign.__doc__ or "").partition("::")[2].partition("File names")[0]).strip()
    lines = []
    for line in example.splitlines():
        code, _, comment = (part.strip() for part in line.partition("  # "))
        lines += [line] if len(line) <= _WIDTH else [*textwrap.wrap(comment, _WIDTH, initial_indent="# "), code]
    return textwrap.indent("\n".join(lines), "  ")


@dataclass(frozen=True, kw_only=True)
class CampaignRequest(
    DryRunOption,
    ProgramOptions,
    OutOption,
    WideOption,
    ReportOption,
    FailAboveOption,
    JsonOption,
    SchedulerOptions,
    RunnerOptions,
):
    """Request of ``gridval series campaign``."""

    absent: ClassVar[Mapping[str, str]] = NOT_SIMULATED
    out_files: ClassVar[str] = "results.csv, summary.csv and, from four predictors on, the league"

    file: str = argument("FILE.toml", "the campaign file")
    app: str | None = option(
        None, "A1,A2,...", lambda _: f"kernels in place of the file's programs: of {', '.join(kernel_names())}"
    )
    energy: bool = option(False, help="show energies and energy-delay products in the tables")


def run(request: CampaignRequest) -> int:
    """Predict, simulate, compare and print; return the exit status."""
    fail_above = limit_from_request(request)
    scheduler = scheduler_from_request(request)
    campaign = read_campaign(request.file, asked=problems_in_place(request))
    size = f"{len(campaign.cases)} targets, {campaign.predictions} predictions"
    size = "; left out: ".join([size, *campaign.left_out])
    if request.dry_run:
        print(size)
        return print_plan(request, campaign.plan())
    jobs, _ = checked_runner(request)
    plan = campaign.plan()
    others = f", besides the recordings and messages of {', '.join(plan.askers)}" if plan.askers else ""
    said = f"{size}, {len(plan.specs)} runs; about {rough_duration(wall_s(plan.specs, jobs))} if none is known{others}"
    print("\n".join(prose_lines("; ".join([said, *refusal_lines(plan.refusals)]))), file=sys.stderr)
    text = Path(request.file).read_text("utf-8")
    cautions = Cautions()
    cautions.say(*open_to_strangers(scheduler))
    with (
        reporter_from_request(
            request, verb=COMMAND.name, energy=request.energy, file=(request.file, text), cautions=cautions
        ) as report,
        Output(
            request.out,
            as_json=request.json,
            figures=False,
            energy=request.energy,
            wide=request.wide,
            fail_above=fail_above,
            cautions=cautions,
        ) as output,
        runner_from_request(request, scheduler=scheduler, cautions=cautions, saying=False) as runner,
    ):
        carry_out(campaign, runner, output, report)
    return output.status


COMMAND = Command(
    "series campaign",
    CampaignRequest,
    run,
    "Predict and simulate a product of platforms, networks, problems, mappings and efficiencies. "
    "Finished runs are kept in the store: an interrupted campaign continues where it stopped.",
    epilog=f"The campaign file:\n\n{_file_help()}\n\n{EXIT_STATUSES_AND_LIMIT}",
    status=exit_status,
)
main = COMMAND.main
