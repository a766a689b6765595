"""Predict run times without running the targets.

The library function is ``predict``.  The command gathers the evidence by simulation and prints the predicted time, its
parts, the cost of the evidence, and the placement of the ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from apps.errors import OptionError
from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.machines import MachineOptions, machine_from_request, machines_platform
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, evidence_limit_from_request, runner_from_request
from apps.options.settings import settings_from_request
from apps.options.shares import SharesOption, with_asked_shares
from apps.results.cautions import Cautions
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.addons import is_there, provided
from platforms.command.command import Command
from platforms.command.request import JsonOption, option
from platforms.errors import UserError
from platforms.files.writing import check_writable
from platforms.model.placement import Placement, write_host_file
from platforms.options import PlacementOptions, placement_from_request, platform_from_request
from platforms.terminal.progress import doing
from platforms.terminal.prose import prose_lines
from platforms.wording import number_of
from predictor.answers.answers import Answer, answers_or_reasons, predict
from predictor.answers.text import answer_lines
from predictor.base import Learning, Predictor, takes
from predictor.defaults.choice import BEST_TEXT, Best, best_answer, best_names
from predictor.evidence.broker import Broker
from predictor.evidence.given import Given, RecordingOptions, given_from_request
from predictor.options import (
    LearningOptions,
    PredictorOption,
    predictors_from_request,
    problems_from_request,
    with_learning_options,
)
from predictor.registry import predictor

_DURATIONS = "predictor.durations.before:warn"  # an add-on
MOST_NAMED = 8  # clusters whose hosts are counted in the text


@dataclass(frozen=True, kw_only=True)
class PredictRequest(
    MachineOptions,
    ProgramOptions,
    RecordingOptions,
    PredictorOption,
    LearningOptions,
    PlacementOptions,
    SharesOption,
    RunnerOptions,
    DryRunOption,
    JsonOption,
):
    """Targets to predict."""

    default_predictors: ClassVar[str] = BEST_TEXT

    ranks: int | None = option(None, "P", "ranks of the target (default: as many as fit)")
    write_hostfile: str | None = option(None, "FILE", "write the target's hosts, one per line in rank order")


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """Return one answer as JSON values, without the loads of the hosts, of which there may be thousands."""
    target = answer.target
    prediction = None if answer.prediction is None else asdict(replace(answer.prediction, loads=None))
    if prediction is not None:
        del prediction["loads"]
        if prediction["communication_only"]:
            prediction = {
                f"communication_{key}" if key == "time_s" else key: value for key, value in prediction.items()
            }
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


@dataclass(frozen=True)
class Predictions:
    """Answers about targets that share one placement."""

    answers: Sequence[Best]
    chosen: bool  # the user has named the predictors; otherwise the best one of each target was asked
    placement: Placement
    written_to: str | None  # file with the placement
    cautions: Cautions

    def text(self) -> str:
        """Return the answers and the places of the ranks as lines of text."""
        lines = [
            line for best in self.answers for line in answer_lines(best.answer, why=None if self.chosen else best.why())
        ]
        return "\n".join([*lines, *prose_lines(self._places())])

    def _places(self) -> str:
        """Return where the ranks run: on how many hosts of each cluster, and where the host file is."""
        platform, hosts = self.answers[0].answer.target.platform, dict.fromkeys(self.placement)
        of_cluster = Counter(platform.cluster_of(host).name for host in hosts)
        named = [f"{count} of {cluster}" for cluster, count in of_cluster.items()]
        more = (
            [f"and others of {number_of(len(named) - MOST_NAMED, 'more cluster')}"] if len(named) > MOST_NAMED else []
        )
        each = ", ".join([*named[:MOST_NAMED], *more])
        ranks, nodes = number_of(len(self.placement), "rank"), number_of(len(hosts), "host")
        file = "--write-hostfile FILE lists" if self.written_to is None else f"{self.written_to} lists"
        return f"{ranks} on {nodes}: {each}; {file} them in rank order"

    def to_json(self) -> dict[str, Any]:
        """Return the answers and the cautions as JSON values."""
        made = [
            {**answer_to_json(best.answer), "asked_because": None if self.chosen else best.why()}
            for best in self.answers
        ]
        return {"predictions": made, "cautions": self.cautions.lines()}


def answer(request: PredictRequest) -> Predictions | int:
    """Predict what a request asks for; with --dry-run say what that takes, and return the exit status."""
    if request.write_hostfile is not None:
        check_writable("--write-hostfile", request.write_hostfile)
    named = predictors_from_request(request)
    models = None if request.predictor is None else named
    with doing("reading the recording") if request.recording is not None else nullcontext():
        given = given_from_request(request, several=True)
    if given is not None and given.others:
        models = _learning_from(given, request, models)
    problems = problems_from_request(request) if given is None else [given.problem]
    machine = machine_from_request(request)
    settings = settings_from_request(request, machine, request.repeats)
    said = Cautions()
    with doing("reading the platform"):
        platform = platform_from_request(request) if machine is None else machines_platform(request, machine)
    ranks = request.ranks if given is None or given.others else given.recording.nranks
    placement = placement_from_request(request, platform, ranks)
    targets = [
        Target(with_asked_shares(request, problem, platform, placement), platform, placement) for problem in problems
    ]
    if request.dry_run:
        # Imported here because it is slow to import.
        from predictor.evidence.plan import planned

        asked = models or (lambda target: [_best(target, settings)])
        return print_plan(
            request, planned([(settings, targets)], asked, truths=False, limit=evidence_limit_from_request(request))
        )
    return predictions(request, settings, targets, models, said, given=given, write_to=request.write_hostfile)


def _learning_from(given: Given, request: PredictRequest, models: Sequence[Predictor] | None) -> list[Predictor]:
    """Return the predictors, which learn from all recordings that the user gives.

    Raises:
        OptionError: One of them does not learn, or the numbers of ranks to record are named too.
        UserError: There are fewer than three recordings.
    """
    where = f"--recording {request.recording}"
    if request.recorded is not None:
        raise OptionError(f"--recorded {request.recorded}", "does not go with --recording", "Drop one")
    if models is None or not all(isinstance(model, Learning) for model in models):
        problem = "several recordings are for predictors that learn from them"
        raise OptionError(where, problem, "Add --predictor learned:known, or give one recording")
    return with_learning_options(models, ",".join(map(str, given.counts)), request.known)


def predictions(
    request: RunnerOptions,
    settings: Settings,
    targets: Sequence[Target],
    models: Sequence[Predictor] | None,
    said: Cautions,
    *,
    given: Given | None = None,
    write_to: str | None = None,
) -> Predictions:
    """Predict targets that share one placement.

    Args:
        request: How the runs of the evidence are started and kept.
        settings: How they are made.
        targets: The targets.
        models: The predictors; None: the best one of each target.
        said: Collects the cautions.
        given: The recording that the user gives, in place of one that is made.
        write_to: File to which the placement is written.
    """
    placement = targets[0].placement
    with runner_from_request(request, cautions=said, saying=False) as runner:
        broker = Broker.of(settings, targets, runner, given)
        if models is None:
            for target in targets if settings.machine is None else ():  # on a machine one run waits for the other
                runner.start(_first_runs([_best(target, settings)], [target], broker))
            answers = [best_answer(target, broker, on_machine=settings.machine is not None) for target in targets]
        else:
            if settings.machine is None:
                runner.start(_first_runs(models, targets, broker))
            answers = [Best(answer, ()) for model in models for answer in _asked(model, targets, broker, len(models))]
    if given is None and is_there(_DURATIONS):
        provided(_DURATIONS)([best.answer for best in answers], settings, said)
    if write_to is not None:
        write_host_file(write_to, placement)
    return Predictions(answers, models is not None, placement, write_to, said)


def say_cautions(request: RunnerOptions, results: Predictions) -> None:
    """Print the cautions about the runs of the evidence."""
    results.cautions.say_all()


def _best(target: Target, settings: Settings) -> Predictor:
    """Return the predictor that is asked first where the user names none."""
    return predictor(best_names(target, on_machine=settings.machine is not None)[0][0])


def _asked(model: Predictor, targets: Sequence[Target], broker: Broker, models: int) -> list[Answer]:
    """Return the answers of a predictor; where there are several, one that fails does not stop the others."""
    with doing(f"{model.name} predicts"):
        return predict(model, targets, broker) if models == 1 else answers_or_reasons(model, targets, broker)


def _first_runs(models: Sequence[Predictor], targets: Sequence[Target], broker: Broker) -> Iterator[RunSpec]:
    for model in models:
        with suppress(UserError):  # the error is raised again when this predictor is asked
            yield from broker.specs(model.requests([target for target in targets if takes(model, target)]))


COMMAND = Command("predict", PredictRequest, answer, __doc__.partition("\n")[0], after=say_cautions, status=exit_status)
main = COMMAND.main
