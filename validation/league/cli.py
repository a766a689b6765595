"""Simulate every choice of clusters and mapping on a grid and compare the choices of the predictors.

The output has rank correlation and regret beside errors and costs (docs/validation/league.md).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from apps.options.dry_run import add_dry_run_argument, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import add_problem_arguments, add_program_arguments
from apps.options.runner import add_runner_arguments, runner_from_request
from apps.options.settings import add_settings_arguments, cautions, settings_from_request
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from platforms.command.parser import CommandParser
from platforms.errors import UserError, known_names
from platforms.model.placement import MAPPINGS
from platforms.options import add_platform_arguments, check_usable
from platforms.terminal.width import add_wide_argument
from predictor.answers.answers import names
from predictor.options import (
    add_predictor_argument,
    predictors_from_request,
    problems_from_request,
)
from predictor.registry import ALL
from validation.league.candidates import candidates
from validation.options import asked_platforms
from validation.output.fail_above import EXIT_STATUSES_AND_LIMIT, add_fail_above_argument, limit_from_request
from validation.output.output import Output

PROBED = ("subset", "grid")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(prog="python -m validation.league", description=__doc__)
    parser.epilog = EXIT_STATUSES_AND_LIMIT
    add_platform_arguments(parser, all_scenarios=True)
    parser.add_argument("--app", metavar="A1,A2,...", help=f"of {', '.join(kernel_names())} (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    add_predictor_argument(parser, default=(ALL,))
    parser.add_argument(
        "--mappings", metavar="M1,M2,...", type=str.lower, default=",".join(MAPPINGS),
        help=f"mappings to choose from: of {', '.join(MAPPINGS)} (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--probed", metavar="|".join(PROBED), type=str.lower, default=PROBED[0],
        help="subset: each subset of clusters is a grid with its own probe for the predictors (default); grid: they "
        "see the whole grid, whose probe serves all subsets",
    )  # fmt: skip
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    parser.add_argument(
        "--out", metavar="DIR",
        help="write results.csv, summary.csv, league.csv, pareto.csv, decisions.csv and the figures pareto and regret",
    )  # fmt: skip
    add_wide_argument(parser)
    add_dry_run_argument(parser)
    add_fail_above_argument(parser)
    parser.add_argument("--json", action="store_true", help="print all tables as one JSON object")
    return parser


def _mappings(args: argparse.Namespace) -> list[str]:
    mappings = names(args.mappings, "--mappings")
    for mapping in mappings:
        if mapping not in MAPPINGS:
            raise UserError(f"--mappings {mapping}", "no such mapping", known_names(mapping, MAPPINGS))
    return mappings


def _run(args: argparse.Namespace) -> int:
    # Imported here for a quick start: it is slow to import.
    from validation.ranking.evidence_costs import EvidenceCosts

    fail_above = limit_from_request(args)
    models = predictors_from_request(args)
    problems = problems_from_request(args)
    settings = settings_from_request(args)
    mappings = _mappings(args)
    if args.probed not in PROBED:
        raise UserError(f"--probed {args.probed}", "no such choice", known_names(args.probed, PROBED))
    said = Cautions()
    said.say(*cautions(settings))
    platforms = asked_platforms(args)
    for platform in platforms:
        check_usable(platform, tuple(host.name for host in platform.hosts))
    found = [
        one
        for platform in platforms
        for one in candidates(platform, problems, mappings, own_grids=args.probed == "subset")
    ]
    for one in found:
        settings.spec(one.target)  # raises an error for impossible settings before anything runs
    if args.dry_run:
        # Imported here for a quick start: it is slow to import.
        from predictor.evidence.plan import planned

        return print_plan(args, planned([(settings, [one.target for one in found])], models))
    costs = EvidenceCosts()
    with (
        Output(
            args.out,
            as_json=args.json,
            figures=False,
            wide=args.wide,
            fail_above=fail_above,
            decision_costs=costs,
            cautions=said,
        ) as output,
        runner_from_request(args, cautions=said, saying=False) as runner,
    ):
        # Imported here for a quick start: it is slow to import.
        from validation.comparison.compare import runs, validate

        by_mapping = {mapping: [one.target for one in found if one.mapping == mapping] for mapping in mappings}
        runner.start(spec for targets in by_mapping.values() for spec in runs(targets, models, settings))
        for mapping, targets in by_mapping.items():
            for outcome in validate(targets, models, settings, mapping=mapping, runner=runner, witness=costs.witness):
                output.add(outcome)
    return output.status


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
