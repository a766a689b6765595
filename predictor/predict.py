"""Predict run times without running the targets.

The library function is ``predict``.  The command gathers the evidence by simulation and prints the predicted time, its
parts, the cost of the evidence, and the placement of the ranks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from apps.arguments.exit_status import exit_status
from apps.arguments.programs import (
    add_problem_arguments,
    add_program_arguments,
)
from apps.arguments.runner import add_runner_arguments, runner_from_arguments
from apps.arguments.settings import add_settings_arguments, cautions, settings_from_arguments
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from apps.spec.run_spec import RunSpec
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
from predictor.answers.answers import Answer, answers_or_reasons, predict
from predictor.answers.regime import true_times
from predictor.arguments import (
    add_dry_run_argument,
    add_predictor_argument,
    predictors_from_arguments,
    print_plan,
    problems_from_arguments,
)
from predictor.base import Prediction, Predictor
from predictor.evidence.broker import Broker

_SAME_ENERGY = 1e-9  # relative width up to which an interval of energy counts as a single value


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m predictor.predict", description=__doc__.partition("\n")[0], epilog=EXIT_STATUSES
    )
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="A1,A2,...", help=f"of {', '.join(kernel_names())} (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    add_predictor_argument(parser, default=("hcf",))
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the target (default: as many as fit)")
    add_placement_arguments(parser)
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


def _lines(answer: Answer) -> str:
    target = answer.target
    head = f"{target}, {answer.predictor}: "
    prediction = answer.prediction
    if prediction is None:
        return head + f"no answer\n    {answer.refusal}"
    parts = ", ".join(f"{name.removesuffix('_s')} {value:.4g} s" for name, value in prediction.parts.items())
    cost = f"{prediction.cost.node_s:.4g} node-seconds, simulated in {prediction.cost.wall_s:.3g} s"
    lines = [
        f"{head}{prediction.time_s:.4g} s{_bias(prediction)}",
        f"    of it {parts}",
        *_own_interval(prediction),
        _expected(prediction),
        *_energy(prediction),
        f"    evidence costs {cost}",
    ]
    lines += [f"    {remark}" for remark in prediction.remarks]
    return "\n".join([*lines, *(f"    caution: {flag}" for flag in prediction.flags)])


def _own_interval(prediction: Prediction) -> list[str]:
    """Return a line about the model's own interval, if it gives one; the validity map's interval has another line."""
    low_s, high_s, found = prediction.low_s, prediction.high_s, prediction.error_range
    if low_s is None or high_s is None or (found and (low_s, high_s) == true_times(prediction.time_s, found)):
        return []
    return [f"    by the model itself between {low_s:.4g} and {high_s:.4g} s"]


def _expected(prediction: Prediction) -> str:
    """Return the line about the true time that the errors in the validity map allow."""
    found = prediction.error_range
    if found is None:
        return f"    error not known: {prediction.no_error_range}"
    low_s, high_s = true_times(prediction.time_s, found)
    true = f"the true time is then {low_s:.4g} to {high_s:.4g} s"
    if low_s <= prediction.time_s <= high_s:
        errors = f"errors of {_signed(found.low_pct)} to {_signed(found.high_pct)} %"
        return f"    {errors} are usual at this compute share: {true}"
    low, high = (f"{1 + error_pct / 100:.3g}" for error_pct in (found.low_pct, found.high_pct))
    times = low if low == high else f"{low} to {high}"
    return f"    predictions at this compute share were {times} times the true time: {true}"


def _bias(prediction: Prediction) -> str:
    """Return what to add to a time outside of the true times that the validity map allows; empty for one inside."""
    found = prediction.error_range
    if found is None:
        return ""
    low_s, high_s = true_times(prediction.time_s, found)
    if prediction.time_s > high_s:
        return " by the model, whose times are too high here"
    return " by the model, whose times are too low here" if prediction.time_s < low_s else ""


def _signed(percent: float) -> str:
    return f"{percent:+.0f}" if abs(percent) >= 100 else f"{percent:+.2g}"


def _energy(prediction: Prediction) -> list[str]:
    """Return a line about the energy, if it is known."""
    energy_j = prediction.energy_j
    if energy_j is None:
        return []
    low_j = energy_j if prediction.energy_low_j is None else prediction.energy_low_j
    high_j = energy_j if prediction.energy_high_j is None else prediction.energy_high_j
    known = high_j - low_j <= _SAME_ENERGY * high_j
    range_ = "" if known else f" (between {low_j:.4g} and {high_j:.4g} J)"
    most = "" if prediction.loads is not None else "at most "
    delay_js = energy_j * prediction.time_s
    return [f"    energy {most}{energy_j:.4g} J{range_}, energy-delay product {delay_js:.4g} J s"]


def _run(args: argparse.Namespace) -> int:
    if args.write_hostfile is not None:
        check_writable("--write-hostfile", args.write_hostfile)
    models = predictors_from_arguments(args)
    problems = problems_from_arguments(args)
    settings = settings_from_arguments(args)
    said = Cautions()
    said.say(*cautions(settings))
    platform = platform_from_arguments(args)
    placement = placement_from_arguments(args, platform, args.ranks)
    targets = [Target(asked, platform, placement) for asked in problems]
    if args.dry_run:
        # Imported here for a quick start: it is slow to import.
        from predictor.evidence.plan import planned

        return print_plan(args, planned([(settings, targets)], models, truths=False))
    with runner_from_arguments(args, cautions=said) as runner:
        broker = Broker.of(settings, targets, runner)
        runner.start(_first_runs(models, targets, broker))
        ask = predict if len(models) == 1 else answers_or_reasons  # a predictor that fails does not stop the others
        answers = [answer for model in models for answer in ask(model, targets, broker)]
    if args.write_hostfile is not None:
        write_host_file(args.write_hostfile, placement)
    if args.json:
        made = [answer_to_json(answer) for answer in answers]
        print(json.dumps({"predictions": made, "cautions": runner.cautions.lines()}))
        return 0
    for answer in answers:
        print(_lines(answer))
    print(f"host file, in rank order{_written(args.write_hostfile)}: {' '.join(placement)}")
    return 0


def _first_runs(models: Sequence[Predictor], targets: Sequence[Target], broker: Broker) -> Iterator[RunSpec]:
    for model in models:
        with suppress(UserError):  # the error is raised again when this predictor is asked
            yield from broker.specs(model.requests(targets))


def _written(path: str | None) -> str:
    return f" (written to {path})" if path else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
