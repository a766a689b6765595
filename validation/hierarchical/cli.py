"""Compare the hierarchical model with simulations.

Without --app, the simulation implements the model's own assumptions: the cores of a node compute, share a memory and
send in phases.  The largest error must be within 2 %.  With --app, it runs this project's kernels under SMPI, on nodes
with the memory bus of --memory-bus, with real broadcasts and all-to-alls and a real network.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.dry_run import add_dry_run_argument, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import add_runner_arguments, runner_from_request
from apps.results.cautions import Cautions
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import written_into
from platforms.terminal.width import add_wide_argument
from predictor.hierarchical.model import SCALING
from validation.comparison.dataframes import records

if TYPE_CHECKING:
    from validation.hierarchical.communication import Study

_CORES, _NODES, _WORLD_NODES = "1,2,4,8,16", "1,2,4,8,16", "1,2,4,8,16,32,64"
_ANY_BETA = "hpl"  # the program that is simulated with every beta(q, p)
INSIDE, BYTES = ("memory", "network"), ("declared", "table")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.hierarchical",
        description=__doc__,
        epilog=EXIT_STATUSES,
    )
    parser.add_argument(
        "--system", metavar="FILE|NAME",
        help="as in python -m predictor.hierarchical (default with --app: bwUniCluster; without: the paper's four)",
    )  # fmt: skip
    parser.add_argument(
        "--memory",
        type=float,
        metavar="GB/S",
        help="memory bandwidth of a node, for a scenario; inf: memory is no limit",
    )
    parser.add_argument(
        "--app", metavar="NAME", type=str.lower, help="scalar-product, matrix-product, hpl, fft or fftw"
    )
    parser.add_argument("--n", type=int, metavar="N", help="problem size, as in the paper's table")
    parser.add_argument(
        "--cores", metavar="Q1,Q2,...", help=f"cores per node (default: those of {_CORES} that the machine has)"
    )
    parser.add_argument("--nodes", metavar="P1,P2,...", help=f"default: {_NODES}; without --app {_WORLD_NODES}")
    parser.add_argument(
        "--scaling", metavar="NAME",
        help=f"{' or '.join(SCALING)}: the model's s(z) (default with --app: hockney; without: both)",
    )  # fmt: skip
    parser.add_argument(
        "--beta",
        metavar="FORM",
        help="sharing of the network in the model, beta(q, p), as in python -m predictor.hierarchical",
    )
    parser.add_argument(
        "--bytes",
        metavar="WHOSE",
        help="source of the simulated #b: declared (by the kernel, default) or table (of the paper)",
    )
    parser.add_argument(
        "--inside", metavar="WHERE",
        help="path of messages within a node: memory (default), or network (the node's link)",
    )  # fmt: skip
    parser.add_argument(
        "--search", action="store_true",
        help="with --app: simulate every q and p once, and tell how far the planner's advice is from the fastest",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="write tables (CSV) and, with --app, surfaces (PNG) there")
    add_wide_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, no text")
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    return parser


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


def _world(args: argparse.Namespace, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Other, Plan
    from predictor.hierarchical.beta import BETAS
    from predictor.hierarchical.multicore_cluster import hardware_table, read_cluster
    from validation.hierarchical.output import world_table, world_text, write_csv
    from validation.hierarchical.world import POINT_S, SIZES, TOLERANCE, WorldCase, WorldPoint, simulate_world

    for value, option in ((args.n, "--n"), (args.beta, "--beta"), (args.bytes, "--bytes"), (args.inside, "--inside")):
        if value is not None:
            raise UserError(f"{option} {value}", "needs --app", "Add --app, or leave it out")
    if args.search:
        raise UserError("--search", "needs --app", "Add --app, or leave it out")
    systems = [row.system for row in hardware_table()]
    if args.system is not None:
        systems = [read_cluster(args.system, memory_gbyte_s=args.memory)]
    scalings = [_choice(args.scaling, "", SCALING, "--scaling")] if args.scaling else list(SCALING)
    points: list[WorldPoint] = []
    planned = 0
    for system in systems:
        cases = [WorldCase(system, app, n, overlap=s == "overlap") for app, n in SIZES.items() for s in scalings]
        known = {case.shared for case in cases if case.app == _ANY_BETA}
        others = (beta for beta in BETAS.values() if beta not in known)
        cases += [WorldCase(system, _ANY_BETA, SIZES[_ANY_BETA], beta) for beta in others]
        cores = _numbers(args.cores or _CORES, "--cores")
        nodes = _numbers(args.nodes or _WORLD_NODES, "--nodes")
        planned += len(cases) * len(cores) * len(nodes)
        if not args.dry_run:
            points += simulate_world(cases, cores, nodes)
    if args.dry_run:
        return print_plan(
            args, Plan(others=(Other("point of its own world", "points of its own world", planned, planned * POINT_S),))
        )
    table = world_table(points)
    if folder is not None:
        with written_into("--out", folder):
            write_csv(table, folder, "world")
    # No caution applies: the simulated world is a program of its own, without SMPI, extrapolation or repairs.
    print(json.dumps({"points": records(table), "cautions": []}) if args.json else world_text(points, wide=args.wide))
    return 0 if max(abs(point.error) for point in points) <= TOLERANCE else 1


def _communication(args: argparse.Namespace, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from predictor.hierarchical.beta import named_beta
    from predictor.hierarchical.multicore_cluster import read_cluster
    from validation.hierarchical.communication import Study, region_errors, simulate_points, study_specs
    from validation.hierarchical.output import points_table, study_json, study_text, write_csv

    if args.n is None:
        raise UserError(f"--app {args.app}", "its size is not given", "Give --n, such as 4096")
    system = read_cluster(args.system or "bwUniCluster", memory_gbyte_s=args.memory)
    some = ",".join(q for q in _CORES.split(",") if int(q) <= system.cores)
    study = Study(
        system,
        args.app,
        args.n,
        _numbers(args.cores or some, "--cores"),
        _numbers(args.nodes or _NODES, "--nodes"),
        inside=_choice(args.inside, "memory", INSIDE, "--inside"),
        bytes_from=_choice(args.bytes, "declared", BYTES, "--bytes"),
        beta=None if args.beta is None else named_beta(args.beta),
        overlap=_choice(args.scaling, "hockney", SCALING, "--scaling") == "overlap",
    )
    if args.search:
        return _search(args, study, folder)
    if args.dry_run:
        return print_plan(args, Plan(truths=tuple(spec for pair in study_specs(study).values() for spec in pair)))
    said = Cautions()
    with runner_from_request(args, cautions=said) as runner:
        points = simulate_points(study, runner)
    regions = region_errors(points)
    if folder is not None:
        # Imported here for a quick start: it is slow to import.
        from validation.hierarchical.plots import write_figure

        name = f"{study.app}-{study.n}-{study.system.name.replace(' ', '')}"
        with written_into("--out", folder):
            write_csv(points_table(points), folder, name)
            write_figure(points, folder, name)
    if args.json:
        print(json.dumps({**study_json(study, points, regions), "cautions": said.lines()}))
    else:
        print(study_text(study, points, regions, wide=args.wide))
    return 0


def _search(args: argparse.Namespace, study: Study, folder: Path | None) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from validation.hierarchical.output import write_csv
    from validation.hierarchical.search import search, search_json, search_specs, search_table, search_text

    if args.dry_run:
        return print_plan(args, Plan(truths=tuple(search_specs(study).values())))
    said = Cautions()
    with runner_from_request(args, cautions=said) as runner:
        found = search(study, runner)
    if folder is not None:
        with written_into("--out", folder):
            write_csv(search_table(found), folder, f"{study.app}-{study.n}-{study.system.name.replace(' ', '')}-search")
    print(json.dumps({**search_json(found), "cautions": said.lines()}) if args.json else search_text(found))
    return 0


def _run(args: argparse.Namespace) -> int:
    # Imported here for a quick start: it is slow to import.
    from validation.output.output import usable_folder

    folder = None if args.out is None else usable_folder(args.out)
    return _world(args, folder) if args.app is None else _communication(args, folder)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
