"""Who chooses best?  Simulates every choice of clusters and mapping on a grid, and judges predictors by what they would
have chosen: rank correlation and regret, beside errors and costs (docs/validation/league.md)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

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
from platforms.command import CommandParser
from platforms.errors import UserError
from platforms.options import add_platform_arguments, check_usable
from platforms.placement import MAPPINGS
from predictor.predict import add_predictor_argument, names, predictors_from_arguments, problems_from_arguments
from predictor.registry import ALL
from validation.fail_above import EXIT_STATUSES_AND_LIMIT, add_fail_above_argument, limit_from_arguments
from validation.output import Output
from validation.run import asked_platforms

PROBED = ("subset", "grid")


def build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="python -m validation.league", description=__doc__)
    parser.epilog = EXIT_STATUSES_AND_LIMIT
    add_platform_arguments(parser, all_scenarios=True)
    parser.add_argument("--app", metavar="A1,A2,...", help=f"of {', '.join(app_names())} (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    add_predictor_argument(parser, default=(ALL,))
    parser.add_argument(
        "--mappings", metavar="M1,M2,...", default=",".join(MAPPINGS),
        help=f"to choose from: of {', '.join(MAPPINGS)} (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--probed", metavar="|".join(PROBED), default=PROBED[0],
        help="subset: to predictors every subset of clusters is a grid of its own, probed by itself (default); grid: "
        "they see the whole grid, so that a probe of it serves all its subsets",
    )  # fmt: skip
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    parser.add_argument(
        "--out", metavar="DIR",
        help="write results.csv, summary.csv, league.csv, pareto.csv, decisions.csv and the figures pareto and regret",
    )  # fmt: skip
    add_fail_above_argument(parser)
    parser.add_argument("--json", action="store_true", help="print all tables as one JSON object")
    return parser


def _mappings(args: argparse.Namespace) -> list[str]:
    mappings = names(args.mappings, "--mappings")
    for mapping in mappings:
        if mapping not in MAPPINGS:
            raise UserError(f"--mappings {mapping}", "no such mapping", f"Known: {', '.join(MAPPINGS)}")
    return mappings


def _run(args: argparse.Namespace) -> int:
    from validation.league.candidates import candidates
    from validation.league.evidence_costs import EvidenceCosts

    fail_above = limit_from_arguments(args)
    models = predictors_from_arguments(args)
    problems = problems_from_arguments(args)
    settings = settings_from_arguments(args)
    mappings = _mappings(args)
    if args.probed not in PROBED:
        raise UserError(f"--probed {args.probed}", "no such choice", f"Known: {', '.join(PROBED)}")
    for caution in cautions(settings):
        print(f"caution: {caution}", file=sys.stderr)
    platforms = asked_platforms(args)
    for platform in platforms:
        check_usable(platform, tuple(host.name for host in platform.hosts))
    found = [
        one
        for platform in platforms
        for one in candidates(platform, problems, mappings, own_grids=args.probed == "subset")
    ]
    for one in found:
        settings.spec(one.target)  # says what does not fit before anything runs
    costs = EvidenceCosts()
    with (
        Output(args.out, as_json=args.json, figures=False, fail_above=fail_above, decision_costs=costs) as output,
        runner_from_arguments(args) as runner,
    ):
        from validation.compare import runs, validate

        by_mapping = {mapping: [one.target for one in found if one.mapping == mapping] for mapping in mappings}
        runner.start(spec for targets in by_mapping.values() for spec in runs(targets, models, settings))
        for mapping, targets in by_mapping.items():
            for outcome in validate(targets, models, settings, mapping=mapping, runner=runner, witness=costs.witness):
                output.add(outcome)
    return output.status


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))
