"""Predict run times without running the targets.

The library function is ``predict``.  The command gathers the evidence by simulation and prints the predicted time, its
parts, the cost of the evidence, and the placement of the ranks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from typing import Any

from apps.arguments.dry_run import add_dry_run_argument, print_plan
from apps.arguments.exit_status import exit_status
from apps.arguments.machines import add_machine_arguments, machine_from_arguments, machines_platform
from apps.arguments.programs import (
    add_problem_arguments,
    add_program_arguments,
)
from apps.arguments.runner import add_runner_arguments, runner_from_arguments
from apps.arguments.settings import add_settings_arguments, cautions, settings_from_arguments
from apps.arguments.shares import add_shares_argument, with_asked_shares
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.arguments import (
    add_placement_arguments,
    add_platform_arguments,
    placement_from_arguments,
    platform_from_arguments,
)
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.errors import UserError
from platforms.files.writing import check_writable
from platforms.model.placement import write_host_file
from platforms.terminal.progress import doing
from platforms.terminal.prose import prose_lines
from predictor.answers.answers import Answer, answers_or_reasons, predict
from predictor.answers.text import answer_lines
from predictor.arguments import (
    add_predictor_argument,
    predictors_from_arguments,
    problems_from_arguments,
)
from predictor.base import Predictor, takes
from predictor.defaults.choice import BEST_TEXT, Best, best_answer, default_predictors
from predictor.evidence.broker import Broker
from predictor.evidence.given import Given, add_recording_arguments, given_from_arguments


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m predictor.predict", description=__doc__.partition("\n")[0], epilog=EXIT_STATUSES
    )
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="A1,A2,...", help=f"of {', '.join(kernel_names())} (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    add_recording_arguments(parser)
    add_predictor_argument(parser, default_text=BEST_TEXT)
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the target (default: as many as fit)")
    add_placement_arguments(parser)
    add_machine_arguments(parser)
    add_shares_argument(parser)
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    parser.add_argument("--write-hostfile", metavar="FILE", help="write the target's hosts, one per line in rank order")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """Return one answer as JSON values, without the loads of the hosts, of which there may be thousands."""
    target = answer.target
    prediction = None if answer.prediction is None else asdict(replace(answer.prediction, loads=None))
    if prediction is not None:
        del prediction["loads"]
    return {
        "predictor": answer.predictor,
        "platform": target.platform.name,
        "platform_hash": target.platform.content_hash,
        "app": target.problem.name,
        "class": target.problem.label,
        "ranks": target.nranks,
        "prediction": prediction,
        "out_of_range": answer.refusal,
        "evidence": [
            {"id": e.id, "kind": e.request.kind, "host": list(e.request.target.placement), **asdict(e.cost)}
            for e in answer.evidence
        ],
        "wall_s": answer.wall_s,
        "hostfile": list(target.placement),
    }


def _run(args: argparse.Namespace) -> int:
    if args.write_hostfile is not None:
        check_writable("--write-hostfile", args.write_hostfile)
    models = None if args.predictor is None else predictors_from_arguments(args)
    with doing("reading the recording") if args.recording is not None else nullcontext():
        given = given_from_arguments(args)
    problems = problems_from_arguments(args) if given is None else [given.problem]
    machine = machine_from_arguments(args)
    settings = settings_from_arguments(args, machine)
    said = Cautions()
    said.say(*cautions(settings))
    with doing("reading the platform"):
        platform = platform_from_arguments(args) if machine is None else machines_platform(args, machine)
    placement = placement_from_arguments(args, platform, args.ranks if given is None else given.recording.nranks)
    targets = [Target(with_asked_shares(args, one, platform, placement), platform, placement) for one in problems]
    if args.dry_run:
        # Imported here for a quick start: it is slow to import.
        from predictor.evidence.plan import planned

        asked = models or (lambda target: default_predictors(target)[:1])
        return print_plan(args, planned([(settings, targets)], asked, truths=False))
    return show_predictions(args, settings, targets, models, said, given=given, write_to=args.write_hostfile)


def show_predictions(
    args: argparse.Namespace,
    settings: Settings,
    targets: Sequence[Target],
    models: Sequence[Predictor] | None,
    said: Cautions,
    *,
    given: Given | None = None,
    write_to: str | None = None,
) -> int:
    """Predict targets that share one placement, and print the answers; return the exit status.

    Args:
        args: Options of the runner, and ``json``.
        settings: How the runs of the evidence are made.
        targets: The targets.
        models: The predictors; None: the best one of each target.
        said: Collects the cautions.
        given: The recording that the user gives, in place of one that is made.
        write_to: File to which the placement is written.
    """
    placement = targets[0].placement
    with runner_from_arguments(args, cautions=said, saying=False) as runner:
        broker = Broker.of(settings, targets, runner, given)
        if models is None:
            for target in targets if settings.machine is None else ():  # on a machine one run waits for the other
                runner.start(_first_runs(default_predictors(target)[:1], [target], broker))
            found = [best_answer(target, broker) for target in targets]
        else:
            if settings.machine is None:
                runner.start(_first_runs(models, targets, broker))
            found = [Best(answer, ()) for model in models for answer in _asked(model, targets, broker, len(models))]
    if write_to is not None:
        write_host_file(write_to, placement)
    if args.json:
        made = [{**answer_to_json(one.answer), "asked_because": None if models else one.why()} for one in found]
        print(json.dumps({"predictions": made, "cautions": said.lines()}))
        said.say_all()
        return 0
    for one in found:
        why = one.why() if models is None else None
        print("\n".join(answer_lines(one.answer, why=why)))
    written = "" if write_to is None else f" (written to {write_to})"
    print("\n".join(prose_lines(f"host file, in rank order{written}: {' '.join(placement)}")), flush=True)
    said.say_all()
    return 0


def _asked(model: Predictor, targets: Sequence[Target], broker: Broker, models: int) -> list[Answer]:
    """Return the answers of a predictor; where there are several, one that fails does not stop the others."""
    with doing(f"{model.name} predicts"):
        return predict(model, targets, broker) if models == 1 else answers_or_reasons(model, targets, broker)


def _first_runs(models: Sequence[Predictor], targets: Sequence[Target], broker: Broker) -> Iterator[RunSpec]:
    for model in models:
        with suppress(UserError):  # the error is raised again when this predictor is asked
            yield from broker.specs(model.requests([target for target in targets if takes(model, target)]))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())
