"""Command line: predict, simulate, compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from apps.catalog import app_names
from apps.options import (
    add_problem_arguments,
    add_program_arguments,
    add_runner_arguments,
    add_settings_arguments,
    cautions,
    exit_status,
    runner_from_arguments,
    settings_from_arguments,
)
from apps.spec import Target
from platforms.command import CommandParser
from platforms.errors import UserError
from platforms.options import (
    add_placement_arguments,
    add_platform_arguments,
    placement_from_arguments,
    platform_from_arguments,
    platforms_from_arguments,
)
from platforms.scenario import SCENARIOS
from predictor.predict import add_predictor_argument, predictors_from_arguments, problems_from_arguments
from predictor.registry import HCF_FAMILY
from validation.fail_above import EXIT_STATUSES_AND_LIMIT, add_fail_above_argument, limit_from_arguments
from validation.output import Output
from validation.report.option import add_report_argument, reporter_from_arguments
from validation.truth import read_measured

if TYPE_CHECKING:
    from platforms.platform import Platform


def build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m validation.run",
        description="Predict the run times of MPI kernels on a grid from a cheap probe, simulate the full runs with "
        "SimGrid, and say how wrong each prediction is and what it cost.",
        epilog=EXIT_STATUSES_AND_LIMIT,
    )
    add_platform_arguments(parser, all_scenarios=True)
    parser.add_argument("--app", metavar="A1,A2,...", help=f"of {', '.join(app_names())} (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the full run (default: as many as fit)")
    add_placement_arguments(parser)
    add_predictor_argument(parser, default=HCF_FAMILY)
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    parser.add_argument(
        "--truth", metavar="FILE.csv",
        help="compare with times measured on a real machine instead of simulated ones: columns app (or program), "
        "platform, ranks, time_s (docs/programs/own-program.md)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="write results.csv, summary.csv and a figure per app there")
    parser.add_argument(
        "--energy", action="store_true",
        help="show energies and energy-delay products in the tables, and draw them too; results.csv always has them",
    )  # fmt: skip
    add_report_argument(parser)
    add_fail_above_argument(parser)
    parser.add_argument("--json", action="store_true", help="print results and summary as one JSON object, no table")
    return parser


def asked_platforms(args: argparse.Namespace) -> list[Platform]:
    """Those of the options of add_platform_arguments, ``--scenario all`` included.  Raises UserError."""
    if args.platform is not None or args.scenario != "all":
        return platforms_from_arguments(args)
    if args.speeds is not None:
        raise UserError("--speeds", "does not go with --scenario all", "Name one scenario")
    one_by_one = (argparse.Namespace(**{**vars(args), "scenario": name}) for name in SCENARIOS)
    return [platform_from_arguments(one) for one in one_by_one]


def _mapping_name(args: argparse.Namespace) -> str:
    return args.mapping or ("hostfile" if args.hostfile else "block")


def _run(args: argparse.Namespace, words: Sequence[str]) -> int:
    fail_above = limit_from_arguments(args)
    models = predictors_from_arguments(args)
    problems = problems_from_arguments(args)
    settings = settings_from_arguments(args)
    for caution in cautions(settings):
        print(f"caution: {caution}", file=sys.stderr)
    targets = [
        Target(asked, platform, placement_from_arguments(args, platform, args.ranks))
        for platform in asked_platforms(args)
        for asked in problems
    ]
    for target in targets:
        settings.spec(target)  # says what does not fit before anything runs
    measured = None if args.truth is None else read_measured(args.truth)
    with (
        reporter_from_arguments(args, words=words, module="validation.run") as report,
        Output(args.out, as_json=args.json, figures=True, energy=args.energy, fail_above=fail_above) as output,
        runner_from_arguments(args) as runner,
    ):
        from validation.compare import validate

        for outcome in validate(
            targets, models, settings, mapping=_mapping_name(args), runner=runner, measured=measured,
            witness=report.witness(settings),
        ):  # fmt: skip
            output.add(outcome)
            report.add(outcome)
    return output.status


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args, sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(main())
