"""The runs, recordings and experiments that predictors and their comparison with the truth need."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from apps.probes.plan import Plan as ExperimentPlan
from apps.runs.limits import EvidenceLimit
from apps.runs.neutral import recording_identity
from apps.runs.plan import Plan, same_run
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store.identity import identity_hash
from predictor.base import EvidenceRequest, OutOfRange, Predictor, takes
from predictor.evidence.broker import Broker, RefusedEvidence, as_carried_out, evidence_settings


def planned(
    groups: Iterable[tuple[Settings, Sequence[Target]]],
    models: Sequence[Predictor] | Callable[[Target], Sequence[Predictor]],
    *,
    truths: bool = True,
    remark: str = "",
    limit: EvidenceLimit | None = None,
) -> Plan:
    """Return the simulations that the models and their comparison with the truth need.

    Args:
        groups: Targets that are run under the same settings.
        models: The predictors, of every target or by target.
        truths: Whether the targets themselves are run too.
        remark: A line about simulations that are not known yet.
        limit: Limit of the evidence of a prediction; None: the usual one.
    """
    evidence: dict[tuple[object, ...], RunSpec] = {}
    targeted: dict[tuple[object, ...], RunSpec] = {}
    recordings: dict[str, tuple[RunSpec, int]] = {}
    experiments: dict[str, ExperimentPlan] = {}
    askers: dict[str, None] = {}
    refused = Counter[tuple[str, str]]()
    limit = limit or EvidenceLimit()
    for settings, targets in groups:
        for target in targets:
            broker = Broker(settings, [target], record=simulate, limit=limit)
            for model in models(target) if callable(models) else models:
                try:
                    requests = _requests(model, target)
                    specs = broker.specs(requests)
                except (RefusedEvidence, OutOfRange) as err:  # reported in full when this target is evaluated
                    refused[model.name, err.problem] += 1
                    continue
                if any(request.kind not in ("run", "declared") for request in requests):
                    askers[model.name] = None
                evidence |= {same_run(spec): spec for spec in specs}
                recordings |= _recordings(broker.settings, requests)
                experiments |= _experiments(settings, requests)
        if truths:
            targeted |= {same_run(spec): spec for spec in map(settings.spec, targets)}
    runs = tuple(spec for key, spec in evidence.items() if key not in targeted)
    return Plan(
        runs,
        tuple(targeted.values()),
        tuple(recordings.values()),
        tuple(experiments.values()),
        askers=tuple(askers),
        refusals=tuple((name, reason, many) for (name, reason), many in refused.items()),
        limit=limit,
        remark=remark,
    )


def _requests(model: Predictor, target: Target) -> list[EvidenceRequest]:
    """Return the requests of a predictor about a target; one without requests has to answer, or raises OutOfRange."""
    if not takes(model, target):
        raise OutOfRange(model.name, "the model divides the work evenly among the ranks", "Use another")
    requests = model.requests([target])
    if not requests and not model.further([target], []):
        model.fit([]).predict(target)
    return requests


def recordings_plan(settings: Settings, targets: Iterable[Target], iterations: Callable[[Target], int]) -> Plan:
    """Return the recordings of targets.

    Args:
        settings: How they are recorded.
        targets: The targets.
        iterations: How many iterations of a target are recorded.
    """
    requests = [EvidenceRequest("recording", target, iterations=iterations(target)) for target in targets]
    return Plan(recordings=tuple(_recordings(evidence_settings(settings), requests).values()))


def _recordings(settings: Settings, requests: Sequence[EvidenceRequest]) -> dict[str, tuple[RunSpec, int]]:
    """Return the requested recordings, keyed by their identity."""
    recordings = {}
    for request in requests:
        if request.iterations is not None:
            spec = settings.spec(request.target)
            recordings[identity_hash(recording_identity(spec, request.iterations))] = spec, request.iterations
    return recordings


def _experiments(settings: Settings, requests: Sequence[EvidenceRequest]) -> dict[str, ExperimentPlan]:
    """Return the requested experiments, keyed by their identity."""
    plans = (as_carried_out(request.plan, settings) for request in requests if request.plan is not None)
    return {identity_hash(plan.identity()): plan for plan in plans}
