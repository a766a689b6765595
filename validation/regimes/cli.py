"""Determine where predictors are valid: their error as a function of the compute share of the run.

Network speed and efficiency of the kernels are scaled over five decades, so that the runs range from almost only
communication to almost only computation.  Finished runs are kept in the store, so an interrupted command continues
where it stopped.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apps.options.dry_run import add_dry_run_argument, print_plan
from apps.options.exit_status import exit_status, print_failure
from apps.options.runner import add_runner_arguments, runner_from_request
from apps.programs.kernel import kernel_names, sized_names
from apps.programs.problem import problem
from apps.results.cautions import Cautions
from platforms.command.parser import CommandParser, any_case
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError, known_names
from platforms.files.writing import check_writable, usable_folder, write_text
from platforms.grids.network import network_names
from platforms.grids.scenario import SCENARIOS
from platforms.model.placement import MAPPINGS
from platforms.terminal.progress import Progress
from predictor.answers.answers import names
from predictor.options import (
    add_predictor_argument,
    predictors_from_request,
)
from predictor.registry import HCF_FAMILY, PREDICTORS
from validation.regimes.error_map import map_text

if TYPE_CHECKING:
    from validation.comparison.compare import Failure
    from validation.regimes.sweep import Sweep

DEFAULT = tuple(name for name in (*HCF_FAMILY, "structural") if name in PREDICTORS)
_NOT_OF_THE_MAP = ("help", "help_all", "dry_run", "jobs", "store", "no_store", "out", "write_map", "json")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.regimes",
        description=__doc__,
        epilog=EXIT_STATUSES,
    )
    parser.add_argument(
        "--scenario", default="all", metavar="S1,S2,...", type=any_case("all", "none"),
        help=f"grids or scenario files; all (default) for {SCENARIOS[0]} to {SCENARIOS[-1]}; none, with --random",
    )  # fmt: skip
    parser.add_argument(
        "--network", default="gigabit", metavar="N1,N2,...",
        help=f"networks to scale: of {', '.join(network_names())} (default: gigabit)",
    )  # fmt: skip
    parser.add_argument(
        "--network-scales", metavar="S1,S2,...",
        help="bandwidths are multiplied and latencies divided by each (default: 0.1,10,1000)",
    )  # fmt: skip
    parser.add_argument(
        "--efficiency-scales", metavar="E1,E2,...",
        help="the kernels' reference efficiency is multiplied by each (default: 1,0.316,0.1,0.0316, half decades "
        "between the network scales)",
    )  # fmt: skip
    with_classes = [name for name in kernel_names() if name not in sized_names()]
    parser.add_argument(
        "--app", default="cg,mg,lu", metavar="A1,A2,...", help=f"of {', '.join(with_classes)} (default: cg,mg,lu)"
    )
    parser.add_argument("--class", dest="preset", default="B", metavar="C1,C2,...", help="problem classes (default: B)")
    parser.add_argument(
        "--mapping", default="block", metavar="NAME", type=str.lower, help=f"of {', '.join(MAPPINGS)} (default: block)"
    )
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of every run (default: one on each node)")
    parser.add_argument(
        "--random", type=int, default=0, metavar="COUNT",
        help="number of random grids in addition to the scenarios, each at one step of the sweep in turn",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random grids (default: 1)")
    add_predictor_argument(parser, default=DEFAULT)
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    parser.add_argument(
        "--out", metavar="DIR",
        help="write results.csv, thresholds.csv, means.csv, published.csv and a figure per app there",
    )  # fmt: skip
    parser.add_argument(
        "--write-map", metavar="FILE.csv",
        help="write the errors by predicted compute share as a validity map, the file that gives every prediction its "
        "error range (docs/validation/regimes.md)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object, no text")
    return parser


def sweep_from_request(args: argparse.Namespace) -> Sweep:
    """Return the sweep that the options describe.

    Raises:
        UserError: The options do not fit together.
    """
    # Imported here for a quick start: it is slow to import.
    from validation.regimes.sweep import EFFICIENCY_SCALES, NETWORK_SCALES, Sweep

    if args.mapping not in MAPPINGS:
        raise UserError(f"--mapping {args.mapping}", "no such mapping", known_names(args.mapping, MAPPINGS))
    for option, value in (("--random", args.random), ("--seed", args.seed)):
        if value < 0:
            raise UserError(f"{option} {value}", "negative", "Give 0 or more")
    scenarios = [] if args.scenario == "none" else names(args.scenario, "--scenario")
    scenarios = [one for name in scenarios for one in (SCENARIOS if name == "all" else (name,))]
    if not scenarios and not args.random:
        raise UserError("--scenario none", "no grids are left", "Give --random COUNT, or a scenario")
    return Sweep(
        problems=tuple(
            problem(app, preset) for app in names(args.app, "--app") for preset in names(args.preset, "--class")
        ),
        scenarios=tuple(dict.fromkeys(scenarios)),
        networks=tuple(names(args.network, "--network")),
        network_scales=_scales(args.network_scales, "--network-scales", NETWORK_SCALES),
        efficiency_scales=_scales(args.efficiency_scales, "--efficiency-scales", EFFICIENCY_SCALES),
        mapping=args.mapping,
        ranks=args.ranks,
        random_grids=args.random,
        seed=args.seed,
    )


def _scales(text: str | None, option: str, default: tuple[float, ...]) -> tuple[float, ...]:
    if text is None:
        return default
    try:
        values = [float(part) for part in names(text, option)]
    except ValueError:
        values = [0.0]
    if not all(0 < value < math.inf for value in values):
        raise UserError(f"{option} {text}", "not positive numbers", "Write them with commas, such as 0.1,1,10")
    return tuple(dict.fromkeys(values))


def _run(args: argparse.Namespace) -> int:
    models = predictors_from_request(args)
    sweep = sweep_from_request(args)
    folder = None if args.out is None else usable_folder("--out", args.out)
    if args.write_map is not None:
        check_writable("--write-map", args.write_map)
    # Imported here for a quick start: they are slow to import.
    from validation.comparison.compare import Failure
    from validation.regimes.output import show
    from validation.regimes.sweep import cases, results, results_table

    asked = cases(sweep)
    print(f"{len(asked)} cases, {len(models)} predictors", file=sys.stderr)
    if args.dry_run:
        # Imported here for a quick start: it is slow to import.
        from predictor.evidence.plan import planned

        return print_plan(args, planned(((case.settings, [case.target]) for case in asked), models))
    total = len(asked) * len(models)
    rows: list[dict[str, Any]] = []
    status = 0
    progress = Progress()
    said = Cautions()
    try:
        with runner_from_request(args, cautions=said) as runner:
            for outcome in results(asked, models, mapping=sweep.mapping, runner=runner):
                if isinstance(outcome, Failure):
                    status = max(status, _report_failure(outcome))
                else:
                    rows.append(outcome)
                    progress(f"{outcome['predictor']}, {outcome['app']} on {outcome['scenario']}", len(rows), total)
            progress.close()
    finally:
        progress.close()
        if rows:
            table = results_table(rows)
            show(table, folder, as_json=args.json, cautions=said.lines())
            if len(rows) < total:
                print(f"{len(rows)} of {total} predictions", file=sys.stderr)
    if args.write_map is not None and rows:
        write_text("--write-map", args.write_map, map_text(table, _command(args)))
    return status


def _command(args: argparse.Namespace) -> str:
    """Return the command that makes the same map again, without options that do not change the map."""
    words = ["python -m validation.regimes"]
    for action in build_parser()._actions:
        value = getattr(args, action.dest, None)
        if action.dest not in _NOT_OF_THE_MAP and action.option_strings and value != action.default:
            words += [action.option_strings[-1], shlex.quote(str(value))]
    return " ".join(words)


def _report_failure(failure: Failure) -> int:
    """Print a failure on standard error and return its exit status."""
    if isinstance(failure.error, UserError):
        print(f"error: {failure.error}", file=sys.stderr)
        return 2
    print_failure(failure.error)
    return 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
