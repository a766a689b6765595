"""Ask predictors about targets, and complete what they answer."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from apps.errors import KernelError, SimulationError
from apps.recording.events import Recording
from apps.results.record import RunRecord, without_computation
from apps.spec.target import Target
from platforms.addons import is_there, provided
from platforms.errors import UserError
from platforms.terminal.quantities import duration, percent, significant
from platforms.wording import number_of
from predictor.answers.energy import with_energy
from predictor.answers.regime import with_error_range
from predictor.base import (
    Evidence,
    EvidenceRequest,
    Gatherer,
    Model,
    ModelOfMany,
    OutOfRange,
    Prediction,
    Predictor,
    Resilient,
    takes,
)
from predictor.families import knowing_shares
from predictor.intervals.interval import with_interval

_FOLLOWED = "predictor.followed.effects"  # an add-on
_SCATTER = "predictor.followed.scatter"
_MOSTLY = 0.5  # share of the time that a cluster computes before it can be said to hold the others up
_LESS = 0.9  # and the most that any other cluster computes, over its time


@dataclass(frozen=True)
class Answer:
    """The answer of a predictor for one target."""

    predictor: str
    target: Target
    prediction: Prediction | None  # None: the target is out of the model's range
    error: UserError | SimulationError | None  # reason for the missing prediction
    evidence: tuple[Evidence, ...]  # all evidence that the predictor requested, for all its targets
    wall_s: float  # elapsed time on this computer for the prediction, without gathering evidence

    @property
    def refusal(self) -> str | None:
        """Why there is no prediction, in one line."""
        return None if self.error is None else str(self.error)


def fit(model: Predictor, targets: Sequence[Target], broker: Gatherer) -> tuple[Model, tuple[Evidence, ...]]:
    """Gather the evidence for these targets; return the fitted model and the evidence."""
    model, evidence = _gathered(model, model.requests(targets), broker)
    while more := model.further(targets, evidence):
        model, added = _gathered(model, more, broker)
        evidence += added
    return model.fit(evidence), evidence


def _gathered(
    model: Predictor, requests: Sequence[EvidenceRequest], broker: Gatherer
) -> tuple[Predictor, tuple[Evidence, ...]]:
    """Return the evidence, and the predictor that works without the parts that could not be gathered."""
    if not isinstance(model, Resilient):
        return model, tuple(broker.gather(requests))
    evidence: list[Evidence] = []
    resilient = model
    for request in requests:
        try:
            evidence += broker.gather([request])
        except (KernelError, SimulationError) as err:
            rest = resilient.without(request, err)
            if rest is None:
                raise
            resilient = rest
    return resilient, tuple(evidence)


def predict(
    model: Predictor,
    targets: Sequence[Target],
    broker: Gatherer,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Answer]:
    """Return the model's answers, in the order of the targets; a target out of its range gets the reason instead.

    Args:
        model: The predictor.
        targets: The targets to predict.
        broker: Gathers the evidence.
        progress: Called after each answer with a description, the number of answers so far, and their total number.
    """
    refused = [_uneven(model, target) for target in targets]
    asked = [target for target, refusal in zip(targets, refused, strict=True) if refusal is None]
    evidence: tuple[Evidence, ...] = ()
    results: Iterator[tuple[Prediction | OutOfRange, float]] = iter(())
    if asked:
        fitted, evidence = fit(model, asked, broker)
        results = _made(fitted, asked)
    answers = []
    for target, uneven in zip(targets, refused, strict=True):
        made, wall_s = next(results) if uneven is None else (uneven, 0.0)
        started = time.perf_counter()
        prediction: Prediction | None = None
        error: OutOfRange | None = None
        try:
            if isinstance(made, OutOfRange):
                raise made
            prediction = complete(made, model.name, target, evidence)
        except OutOfRange as err:
            error = err
        wall_s += time.perf_counter() - started
        answers.append(Answer(model.name, target, prediction, error, evidence, wall_s))
        if progress is not None:
            progress(f"{model.name}, {target.problem}", len(answers), len(targets))
    return answers


def complete(prediction: Prediction, predictor: str, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return a model's prediction with its energy, its range of errors, its cautions, bottleneck and interval.

    Raises:
        OutOfRange: The energy of the target is unknown, or an option of SimGrid is not represented.
    """
    if is_there(_FOLLOWED):
        prediction = provided(f"{_FOLLOWED}:with_options")(prediction, predictor, target, evidence)
    prediction = replace(prediction, communication_only=_without_computation(prediction, target, evidence))
    prediction = with_error_range(with_energy(prediction, target), predictor, target)
    prediction = _with_notes(with_bottleneck(with_changes(prediction, target)), target)
    prediction = with_interval(prediction, predictor, target, evidence)
    return provided(f"{_SCATTER}:with_scatter")(prediction, target, evidence) if is_there(_SCATTER) else prediction


def _without_computation(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> bool:
    """Return whether the evidence of a user's program, or of runs in which computation takes no time, has none."""
    used = [item.answer for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    records = [answer for answer in used if isinstance(answer, RunRecord)]
    recordings = [answer for answer in used if isinstance(answer, Recording)]
    if any(record.identity.get("compute") == "none" for record in records):
        return True
    seen = [without_computation(record) for record in records] + [not recording.computes for recording in recordings]
    return target.problem.program is not None and bool(seen) and all(seen)


def _with_notes(prediction: Prediction, target: Target) -> Prediction:
    """Return the prediction with the notes on the use of the nodes among its remarks."""
    busy_s = {host: load.busy_low_s for host, load in (prediction.loads or {}).items()}
    notes = (cores_note(target), slowest_cluster_note(target, busy_s, prediction.time_s))
    return replace(prediction, remarks=(*prediction.remarks, *(note for note in notes if note is not None)))


def answers_or_reasons(model: Predictor, targets: Sequence[Target], broker: Gatherer) -> list[Answer]:
    """Return the answers of ``predict``, or answers that only hold the reason where its evidence cannot be gathered.

    Evidence cannot be gathered where it would be a run of the target itself, or where a simulation fails.
    """
    try:
        return predict(model, targets, broker)
    except (UserError, SimulationError) as err:
        return [Answer(model.name, target, prediction=None, error=err, evidence=(), wall_s=0.0) for target in targets]


def _uneven(model: Predictor, target: Target) -> OutOfRange | None:
    """Return the refusal of a problem in unequal shares, for a predictor that does not know them."""
    if takes(model, target):
        return None
    remedy = f"Use {knowing_shares()}"
    return OutOfRange(f"{model.name}, {target}", "the model divides the work evenly among the ranks", remedy)


def _made(fitted: Model, targets: Sequence[Target]) -> Iterator[tuple[Prediction | OutOfRange, float]]:
    """Yield the model's result for each target and the seconds it took; targets predicted together share the time."""
    started = time.perf_counter()
    if isinstance(fitted, ModelOfMany):
        all_made = fitted.predict_many(targets)
        each_s = (time.perf_counter() - started) / max(1, len(targets))
        yield from ((answers, each_s) for answers in all_made)
        return
    for target in targets:
        started = time.perf_counter()
        made: Prediction | OutOfRange
        try:
            made = fitted.predict(target)
        except OutOfRange as err:
            made = err
        yield made, time.perf_counter() - started


def with_bottleneck(prediction: Prediction) -> Prediction:
    """Return the prediction with what takes most of its time, where the model gives only its compute share."""
    share = prediction.compute_share
    if prediction.bottleneck is not None or share is None:
        return prediction
    most, said = (share, "computation") if share >= 0.5 else (1 - share, "communication")
    return replace(prediction, bottleneck=f"{said}, {percent(100 * most)} % of the time")


def names(text: str, option: str) -> list[str]:
    """Split the comma-separated list given to ``option``; each name is returned once.

    Raises:
        UserError: The list is empty.
    """
    parts = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise UserError(f"{option} {text!r}", "an empty list", "Name at least one, separated by commas")
    return parts


def with_changes(prediction: Prediction, target: Target) -> Prediction:
    """Return the prediction, with a flag added where the platform has profiles.

    A model assumes that hosts and links stay as they were when they were probed.
    """
    changes = target.changes
    if not changes:
        return prediction
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    flag = f"the platform changes over time, which the prediction ignores: {changes[0]}{more}"
    return replace(prediction, flags=(*prediction.flags, flag))


def cores_note(target: Target) -> str | None:
    """Return how many cores of the hosts in use have a rank, where each has one rank and several cores.

    None: a host has several ranks, or one core.
    """
    hosts = [target.platform.host(name) for name in target.placement]
    if len(set(target.placement)) < len(hosts) or min(host.cores for host in hosts) == 1:
        return None
    cores = sum(host.cores for host in hosts)
    return f"{target.nranks} of {cores} cores of these hosts are used; --ranks-per-host cores uses all"


def slowest_cluster_note(target: Target, busy_s: Mapping[str, float], time_s: float) -> str | None:
    """Return which cluster the others wait for: it computes most of the time, and all others clearly less.

    Args:
        target: The target.
        busy_s: Time that each host in use computes, s.
        time_s: Time of the run, s.
    """
    of_cluster: dict[str, list[float]] = {}
    for host, host_s in busy_s.items():
        of_cluster.setdefault(target.platform.cluster_of(host).name, []).append(host_s)
    if len(of_cluster) < 2 or not time_s > 0:
        return None
    slowest = max(of_cluster, key=lambda name: max(of_cluster[name]))
    most_s = max(of_cluster[slowest])
    others_s = max(max(each) for name, each in of_cluster.items() if name != slowest)
    if most_s < _MOSTLY * time_s or others_s > _LESS * most_s:
        return None
    unit = duration(time_s).split()[-1]
    computing = duration(most_s, like_s=time_s).removesuffix(f" {unit}")
    nodes = number_of(len(of_cluster[slowest]), "node")
    return (
        f"{slowest} holds the others up: its {nodes} compute for {computing} of {duration(time_s)}, all others for at "
        f"most {significant(100 * others_s / most_s)} % of that"
    )
