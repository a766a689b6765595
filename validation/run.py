"""Command line: predict, simulate and compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from apps.arguments.dry_run import add_dry_run_argument, print_plan
from apps.arguments.exit_status import exit_status
from apps.arguments.machines import add_machine_arguments, machine_from_arguments, machines_platform
from apps.arguments.programs import add_problem_arguments, add_program_arguments
from apps.arguments.runner import add_runner_arguments, runner_from_arguments
from apps.arguments.settings import add_settings_arguments, cautions, settings_from_arguments
from apps.arguments.shares import add_shares_argument, with_asked_shares
from apps.errors import OptionError
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from apps.spec.target import Target
from apps.timelines.files import TIMELINE, add_timeline_argument, check_timeline, write_timeline
from platforms.arguments import (
    add_placement_arguments,
    add_platform_arguments,
    placement_from_arguments,
)
from platforms.command import CommandParser
from platforms.errors import UserError
from platforms.terminal.progress import doing
from platforms.terminal.width import add_wide_argument
from predictor.arguments import (
    add_predictor_argument,
    predictors_by_target,
    problems_from_arguments,
)
from predictor.defaults.choice import DEFAULT_TEXT, PredictorsOf, default_predictors
from predictor.registry import predictor
from validation.arguments import asked_platforms
from validation.comparison.truth import read_measured
from validation.output.fail_above import EXIT_STATUSES_AND_LIMIT, add_fail_above_argument, limit_from_arguments
from validation.output.output import Output
from validation.report.option import add_report_argument, reporter_from_arguments

if TYPE_CHECKING:
    from apps.runs.plan import Plan
    from predictor.base import Predictor


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.run",
        description="Predict the run times of MPI kernels on a grid from a cheap probe, simulate the full runs with "
        "SimGrid, and report the error and the cost of each prediction.",
        epilog=EXIT_STATUSES_AND_LIMIT,
    )
    add_platform_arguments(parser, all_scenarios=True)
    parser.add_argument("--app", metavar="A1,A2,...", help=f"of {', '.join(kernel_names())} (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the full run (default: as many as fit)")
    add_placement_arguments(parser)
    add_predictor_argument(parser, default_text=DEFAULT_TEXT)
    add_machine_arguments(parser)
    parser.add_argument(
        "--no-target", action="store_true",
        help="with --machine: gather evidence and predict, but never run the targets themselves",
    )  # fmt: skip
    add_shares_argument(parser)
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    parser.add_argument(
        "--truth", metavar="FILE.csv",
        help="compare with times measured on a real machine instead of simulated ones: columns app (or program), "
        "platform, ranks, time_s, and if they matter class, network, mapping (docs/programs/own-program.md)",
    )  # fmt: skip
    add_timeline_argument(parser)
    parser.add_argument("--out", metavar="DIR", help="write results.csv, summary.csv and a figure per app there")
    parser.add_argument(
        "--energy", action="store_true",
        help="show energies and energy-delay products in the tables, and draw them too; results.csv always has them",
    )  # fmt: skip
    add_wide_argument(parser)
    add_report_argument(parser)
    add_dry_run_argument(parser)
    add_fail_above_argument(parser)
    parser.add_argument("--json", action="store_true", help="print results and summary as one JSON object, no table")
    return parser


def mapping_name(args: argparse.Namespace) -> str:
    """Return the name of the mapping that the options choose, for the results."""
    return args.mapping or ("hostfile" if args.hostfile else "block")


def _check_no_target(args: argparse.Namespace) -> None:
    """Raise OptionError if --no-target does not go with the other options."""
    if not args.no_target:
        return
    if args.machine is None:
        raise OptionError("--no-target", "goes with --machine", "Give that too, or use python -m predictor.predict")
    for option in ("truth", "out", "report", "fail_above"):
        if getattr(args, option) is not None:
            words = f"--{option.replace('_', '-')}"
            raise OptionError("--no-target", f"does not go with {words}: there is no truth", "Drop one of them")
    for option in ("energy", "wide"):
        if getattr(args, option):
            raise OptionError("--no-target", f"does not go with --{option}: there are no tables", "Drop one of them")


def _and_simulation(models: PredictorsOf) -> PredictorsOf:
    """Return the predictors with the simulation on the calibrated platform of a machine beside them."""
    return lambda target: [*models(target), predictor("simulate")]


def _best_alone(target: Target) -> list[Predictor]:
    """Return the predictor that predictor.predict asks first where the user names none."""
    return default_predictors(target)[:1]


def _run(args: argparse.Namespace, words: Sequence[str]) -> int:
    fail_above = limit_from_arguments(args)
    models = predictors_by_target(args)
    problems = problems_from_arguments(args)
    machine = machine_from_arguments(args)
    _check_no_target(args)
    settings = settings_from_arguments(args, machine)
    said = Cautions()
    said.say(*cautions(settings))
    with doing("reading the platforms"):
        platforms = asked_platforms(args) if machine is None else [machines_platform(args, machine)]
    if machine is not None and args.platform is not None and args.predictor is None:
        models = _and_simulation(models)
    places = {platform: placement_from_arguments(args, platform, args.ranks) for platform in platforms}
    targets = [
        Target(with_asked_shares(args, asked, platform, placement), platform, placement)
        for platform, placement in places.items()
        for asked in problems
    ]
    for target in targets:
        settings.spec(target)  # raises an error for impossible settings before anything runs
    if args.timeline is not None:
        _check_timeline(args, targets)
    if args.dry_run:
        # Imported here for a quick start: it is slow to import.
        from predictor.evidence.plan import planned

        if args.no_target and args.predictor is None:  # as predictor.predict: the best one of each target
            models = _best_alone
        plan = planned([(settings, targets)], models, truths=args.truth is None and not args.no_target)
        return print_plan(args, plan if args.timeline is None else _with_timeline(plan))
    if args.no_target:
        # Imported here for a quick start: it is slow to import.
        from predictor.predict import show_predictions

        chosen = None if args.predictor is None else models(targets[0])
        return show_predictions(args, settings, targets, chosen, said)
    measured = None if args.truth is None else read_measured(args.truth)
    with (
        reporter_from_arguments(args, words=words, module="validation.run", cautions=said) as report,
        Output(
            args.out,
            as_json=args.json,
            figures=True,
            energy=args.energy,
            wide=args.wide,
            fail_above=fail_above,
            cautions=said,
        ) as output,
        runner_from_arguments(args, cautions=said, saying=False) as runner,
    ):
        # Imported here for a quick start: it is slow to import.
        from validation.comparison.compare import validate

        for outcome in validate(
            targets, models, settings, mapping=mapping_name(args), runner=runner, measured=measured,
            witness=report.witness(settings),
        ):  # fmt: skip
            output.add(outcome)
            report.add(outcome)
        if args.timeline is not None and output.status not in (1, 2):  # the run of the target has not failed
            spec = settings.spec(targets[0])
            written = write_timeline(TIMELINE, args.timeline, spec, runner.record(spec))
            print(f"timeline: {written}", file=sys.stderr)
    return output.status


def _check_timeline(args: argparse.Namespace, targets: Sequence[Target]) -> None:
    """Raise UserError unless a timeline can be written: of one target, which is simulated."""
    where = f"{TIMELINE} {args.timeline}"
    if len(targets) != 1:
        raise UserError(where, f"it shows one run, but there are {len(targets)} targets", "Ask for one target")
    if args.truth is not None:
        raise UserError(where, "times from a file have no timeline", "Leave out --truth, or the timeline")
    if args.machine is not None:
        raise UserError(where, "shows a simulation, and does not go with --machine", "Drop one")
    check_timeline(TIMELINE, args.timeline)


def _with_timeline(plan: Plan) -> Plan:
    # Imported here for a quick start: it is slow to import.
    from apps.runs.plan import for_timeline

    return replace(plan, others=(for_timeline(plan.truths[0]),))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv), sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(main())
