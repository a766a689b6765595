"""Predict run times without running the targets.

The library function is ``predict``; the command line gathers the evidence by simulation and prints time, parts, what
the evidence costs, and where the ranks go.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from apps.catalog import Problem, app_names, sized_names
from apps.errors import SimulationError
from apps.options import (
    add_problem_arguments,
    add_program_arguments,
    add_runner_arguments,
    add_settings_arguments,
    cautions,
    exit_status,
    own_problem_from_arguments,
    problem_from_arguments,
    runner_from_arguments,
    settings_from_arguments,
)
from apps.spec import RunSpec, Target
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.errors import UserError
from platforms.options import (
    add_placement_arguments,
    add_platform_arguments,
    placement_from_arguments,
    platform_from_arguments,
)
from platforms.writing import check_writable
from predictor.base import Evidence, Gatherer, Model, ModelOfMany, OutOfRange, Prediction, Predictor
from predictor.changing import with_changes
from predictor.energy import with_energy
from predictor.evidence import Broker
from predictor.regime import true_times, with_error_range
from predictor.registry import ALL, help_text, predictors

_SAME_ENERGY = 1e-9  # relative: an interval this narrow is a point


@dataclass(frozen=True)
class Answer:
    """What a predictor says of one target."""

    predictor: str
    target: Target
    prediction: Prediction | None  # None: the target is out of the model's range
    refusal: str | None  # why it is
    evidence: tuple[Evidence, ...]  # all that the predictor asked for, for all its targets
    wall_s: float  # of this computer, for the prediction alone


def fit(model: Predictor, targets: Sequence[Target], broker: Gatherer) -> tuple[Model, tuple[Evidence, ...]]:
    """The model for these targets, and all the evidence that it asked for."""
    evidence = tuple(broker.gather(model.requests(targets)))
    while more := model.further(targets, evidence):
        evidence += tuple(broker.gather(more))
    return model.fit(evidence), evidence


def predict(
    model: Predictor,
    targets: Sequence[Target],
    broker: Gatherer,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Answer]:
    """The model's answers, in the order of the targets.  A target out of its range has its reason instead.

    ``progress`` is told of each: whose answer it is, how many there are by now, and of how many.
    """
    fitted, evidence = fit(model, targets, broker)
    answers = []
    for target, (made, wall_s) in zip(targets, _made(fitted, targets), strict=True):
        started = time.perf_counter()
        prediction: Prediction | None = None
        refusal: str | None = None
        try:
            if isinstance(made, OutOfRange):
                raise made
            prediction = with_error_range(with_energy(made, target), model.name, target)
            prediction = with_changes(prediction, target)
        except OutOfRange as err:
            refusal = str(err)
        wall_s += time.perf_counter() - started
        answers.append(Answer(model.name, target, prediction, refusal, evidence, wall_s))
        if progress is not None:
            progress(f"{model.name}, {target.problem}", len(answers), len(targets))
    return answers


def answers_or_reasons(model: Predictor, targets: Sequence[Target], broker: Gatherer) -> list[Answer]:
    """As predict; where the evidence would be the truth itself, or cannot be had, no answers, with the reason."""
    try:
        return predict(model, targets, broker)
    except (UserError, SimulationError) as err:
        return [Answer(model.name, one, prediction=None, refusal=str(err), evidence=(), wall_s=0.0) for one in targets]


def _made(fitted: Model, targets: Sequence[Target]) -> Iterator[tuple[Prediction | OutOfRange, float]]:
    """What the model says of each target, and the seconds that took: of many at once, an equal part of all."""
    started = time.perf_counter()
    if isinstance(fitted, ModelOfMany):
        all_made = fitted.predict_many(targets)
        each_s = (time.perf_counter() - started) / max(1, len(targets))
        yield from ((one, each_s) for one in all_made)
        return
    for target in targets:
        started = time.perf_counter()
        made: Prediction | OutOfRange
        try:
            made = fitted.predict(target)
        except OutOfRange as err:
            made = err
        yield made, time.perf_counter() - started


def names(text: str, option: str) -> list[str]:
    """A comma-separated list given to ``option``, each name once."""
    parts = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise UserError(f"{option} {text!r}", "an empty list", "Name at least one, separated by commas")
    return parts


def problems_from_arguments(args: argparse.Namespace) -> list[Problem]:
    """What --app and --class or --size, or --program, ask for.  Raises UserError."""
    own = own_problem_from_arguments(args)
    if own is not None:
        return [own]
    if args.app is None and args.size is not None:
        raise UserError(f"--size {args.size}", "goes with --app", f"Name one of {', '.join(sized_names())}")
    apps = names("cg,mg,lu" if args.app is None else args.app, "--app")
    return [problem_from_arguments(args, app, default_class="B") for app in apps]


def add_predictor_argument(parser: argparse.ArgumentParser, *, default: Sequence[str]) -> None:
    """--predictor, as predictors_from_arguments reads it."""
    parser.add_argument(
        "--predictor", default=",".join(default), metavar="P1,P2,...",
        help=f"{help_text()}; or {ALL} (default: {','.join(default)}); those named dpgraph record the program and "
        "send messages first, some seconds for each platform, and compile at their very first use",
    )  # fmt: skip


def predictors_from_arguments(args: argparse.Namespace) -> list[Predictor]:
    """Raises UserError for a name that is not known."""
    return predictors(names(args.predictor, "--predictor"))


def build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m predictor.predict", description=__doc__.partition("\n")[0], epilog=EXIT_STATUSES
    )
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="A1,A2,...", help=f"of {', '.join(app_names())} (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    add_predictor_argument(parser, default=("hcf",))
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the target (default: as many as fit)")
    add_placement_arguments(parser)
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    parser.add_argument("--write-hostfile", metavar="FILE", help="write the target's hosts, one per line in rank order")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """One answer as JSON values; without the loads of single hosts, which may be thousands."""
    target = answer.target
    prediction = None if answer.prediction is None else asdict(replace(answer.prediction, loads=None))
    if prediction is not None:
        del prediction["loads"]
    return {
        "predictor": answer.predictor,
        "platform": target.platform.name,
        "platform_hash": target.platform.content_hash,
        "app": target.problem.app,
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
    head = f"{target.problem} on {target.nranks} ranks of {target.platform.name}, {answer.predictor}: "
    prediction = answer.prediction
    if prediction is None:
        return head + f"no answer\n    {answer.refusal}"
    parts = ", ".join(f"{name.removesuffix('_s')} {value:.4g} s" for name, value in prediction.parts.items())
    cost = f"{prediction.cost.node_s:.4g} node-seconds, simulated in {prediction.cost.wall_s:.3g} s"
    lines = [
        f"{head}{prediction.time_s:.4g} s",
        f"    of it {parts}",
        *_own_interval(prediction),
        _expected(prediction),
        *_energy(prediction),
        f"    evidence costs {cost}",
    ]
    lines += [f"    {remark}" for remark in prediction.remarks]
    return "\n".join([*lines, *(f"    caution: {flag}" for flag in prediction.flags)])


def _own_interval(prediction: Prediction) -> list[str]:
    """A line about the interval that the model itself gives, if it does; that of the validity map has its own line."""
    low_s, high_s, found = prediction.low_s, prediction.high_s, prediction.error_range
    if low_s is None or high_s is None or (found and (low_s, high_s) == true_times(prediction.time_s, found)):
        return []
    return [f"    by the model itself between {low_s:.4g} and {high_s:.4g} s"]


def _expected(prediction: Prediction) -> str:
    """What the validity map leaves for the true time."""
    found = prediction.error_range
    if found is None:
        return f"    error not known: {prediction.no_error_range}"
    low_s, high_s = true_times(prediction.time_s, found)
    errors = f"errors of {_signed(found.low_pct)} to {_signed(found.high_pct)} %"
    return f"    {errors} are usual at this compute share: the true time is then {low_s:.4g} to {high_s:.4g} s"


def _signed(percent: float) -> str:
    return f"{percent:+.0f}" if abs(percent) >= 100 else f"{percent:+.2g}"


def _energy(prediction: Prediction) -> list[str]:
    """A line about the energy, if there is any."""
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
    for caution in cautions(settings):
        print(f"caution: {caution}", file=sys.stderr)
    platform = platform_from_arguments(args)
    placement = placement_from_arguments(args, platform, args.ranks)
    targets = [Target(asked, platform, placement) for asked in problems]
    with runner_from_arguments(args) as runner:
        broker = Broker.of(settings, targets, runner)
        runner.start(_first_runs(models, targets, broker))
        ask = predict if len(models) == 1 else answers_or_reasons  # one that fails does not stop the others
        answers = [answer for model in models for answer in ask(model, targets, broker)]
    if args.write_hostfile is not None:
        from platforms.placement import write_host_file

        write_host_file(args.write_hostfile, placement)
    if args.json:
        print(json.dumps({"predictions": [answer_to_json(answer) for answer in answers]}))
        return 0
    for answer in answers:
        print(_lines(answer))
    print(f"host file, in rank order{_written(args.write_hostfile)}: {' '.join(placement)}")
    return 0


def _first_runs(models: Sequence[Predictor], targets: Sequence[Target], broker: Broker) -> Iterator[RunSpec]:
    for model in models:
        with suppress(UserError):  # said when its turn comes
            yield from broker.specs(model.requests(targets))


def _written(path: str | None) -> str:
    return f" (written to {path})" if path else ""


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
