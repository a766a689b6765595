"""The checks: what each means, how it is judged, and the function that judges it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.spec.target import Target
from platforms.errors import UserError
from predictor.answers.answers import fit
from predictor.base import ModelOfMany, OutOfRange, Prediction
from predictor.conformance.subject import (
    SETTINGS,
    Subject,
    ask,
    comparable,
    described,
    odd_targets,
    permuted,
    renamed,
    run_key,
    scaled,
)
from predictor.evidence.broker import Broker

SAME = 1e-9  # relative difference of answers up to which they are the same where sums change their order
_SUM = 1e-12  # the same for a sum of costs
FACTOR = 2.0  # by which seconds are scaled


@dataclass(frozen=True)
class Finding:
    """The judgement of one check."""

    failures: tuple[str, ...] = ()  # each one line; none: the check passes
    deviation: float | None = None  # the largest relative deviation, where the check measures one
    note: str = ""  # about a check that passes


@dataclass(frozen=True)
class Check:
    """One check that every predictor has to pass."""

    name: str
    meaning: str
    judged: str  # how it is judged
    judge: Callable[[Subject], Finding]
    quick: bool = True  # it needs little evidence beyond that of a prediction


def _deterministic(subject: Subject) -> Finding:
    again = ask(subject.predictor, subject.targets, subject.runner)
    return _differences(subject, again.prediction, "when it is asked again")


def _independent_of_order(subject: Subject) -> Finding:
    backwards = subject.asked(*reversed(subject.targets))
    return _differences(subject, backwards.prediction, "when the targets come in the reverse order")


def _differences(subject: Subject, other: Callable[[Target], Prediction], when: str) -> Finding:
    first = subject.asked(*subject.targets)
    return Finding(
        tuple(
            f"{target.problem}: {_first_difference(comparable(first.prediction(target)), made)} {when}"
            for target in subject.targets
            if comparable(first.prediction(target)) != (made := comparable(other(target)))
        )
    )


def _first_difference(prediction: Prediction, other: Prediction) -> str:
    name = next(name for name in vars(prediction) if getattr(prediction, name) != getattr(other, name))
    return f"{name} is {getattr(prediction, name)}, and {getattr(other, name)}"


def _blind(subject: Subject) -> Finding:
    failures = []
    for target in subject.targets:
        asked = subject.asked(target)
        failures += [f"{target.problem}: it simulates by itself, {command}" for command in asked.started]
        failures += [
            f"{target.problem}: it was given the run of {item.request.target}, which is the target's"
            for item in asked.evidence
            if item.request.kind == "run" and run_key(item.request.target) == run_key(target)
        ]
    return Finding(tuple(failures))


def _charged(subject: Subject) -> Finding:
    failures = []
    for target in subject.targets:
        asked = subject.asked(target)
        made = asked.prediction(target)
        failures += [
            f"{target.problem}: evidence of kind {item.request.kind} costs {item.cost.node_s} node-seconds"
            for item in asked.evidence
            if item.request.kind != "declared" and not item.cost.node_s > 0
        ]
        if not math.isclose(made.cost.node_s, asked.cost_node_s, rel_tol=_SUM):
            failures.append(
                f"{target.problem}: the prediction costs {made.cost.node_s:.6g} node-seconds, but the evidence "
                f"{asked.cost_node_s:.6g}"
            )
        missing = {evidence_id.id for evidence_id in asked.evidence} ^ set(made.evidence)
        if missing:
            failures.append(f"{target.problem}: {len(missing)} pieces of evidence are not those that it names")
    return Finding(tuple(failures))


def _never_cheaper(subject: Subject) -> Finding:
    first, second, *_ = subject.targets
    alone_node_s = [subject.asked(target).cost_node_s for target in (first, second)]
    together_node_s = subject.asked(first, second).cost_node_s
    if together_node_s >= max(alone_node_s) * (1 - _SUM):
        return Finding()
    alone = " and ".join(f"{cost_node_s:.6g}" for cost_node_s in alone_node_s)
    return Finding((f"evidence of both costs {together_node_s:.6g} node-seconds, of each alone {alone}",))


def _refuses_in_one_line(subject: Subject) -> Finding:
    failures = []
    for what, target in odd_targets():
        try:
            (answer,) = ask(subject.predictor, [target], subject.runner).answers
        except UserError as err:
            failures += _not_one_line(what, str(err))
        except Exception as err:
            failures.append(f"{what}: {described(err)}")
        else:
            if answer.prediction is None:
                failures += _not_one_line(what, str(answer.refusal))
            elif not math.isfinite(answer.prediction.time_s):
                failures.append(f"{what}: the predicted time is {answer.prediction.time_s} s")
    return Finding(tuple(failures))


def _not_one_line(what: str, said: str) -> list[str]:
    return [] if len(said.splitlines()) == 1 else [f"{what}: {len(said.splitlines())} lines, {said!r}"]


def _interval(subject: Subject) -> Finding:
    failures = []
    for target in subject.targets:
        made = subject.asked(*subject.targets).prediction(target)
        # A calibrated interval lies beside the time of a model that is biased in such cases.
        low_s, high_s = (made.low_s, made.high_s) if made.interval is None else (None, None)
        for what, low, value, high in (
            ("time", low_s, made.time_s, high_s),
            ("energy", made.energy_low_j, made.energy_j, made.energy_high_j),
        ):
            if value is not None and not (low is None or low <= value) & (high is None or value <= high):
                failures.append(f"{target.problem}: its {what} {value:.6g} is not in {low} to {high}")
    return Finding(tuple(failures))


def _many_as_one(subject: Subject) -> Finding:
    targets = (*subject.targets, *(target for _, target in odd_targets()))
    model, _ = fit(subject.predictor, targets, Broker.of(SETTINGS, targets, subject.runner))
    if not isinstance(model, ModelOfMany):
        return Finding(note="it has no predict_many")
    failures = []
    for target, made in zip(targets, model.predict_many(targets), strict=True):
        try:
            alone: Prediction | str = model.predict(target)
        except OutOfRange as err:
            alone = str(err)
        if (str(made) if isinstance(made, OutOfRange) else made) != alone:
            failures.append(f"{target}: {made} of many, and {alone} alone")
    return Finding(tuple(failures))


def _scales(subject: Subject) -> Finding:
    return _compared(subject, scaled(subject.case, subject.targets, FACTOR), 1 / FACTOR)


def _renamed(subject: Subject) -> Finding:
    return _compared(subject, renamed(subject.case, subject.targets), 1.0)


def _permuted(subject: Subject) -> Finding:
    return _compared(subject, permuted(subject.case, subject.targets), 1.0)


def _compared(subject: Subject, changed: Sequence[Target], factor: float) -> Finding:
    """Return the finding about times that have to be ``factor`` times as long on the changed platform."""
    failures, deviations = [], [0.0]
    first, other = subject.asked(*subject.targets), subject.asked(*changed)
    for target, counterpart in zip(subject.targets, changed, strict=True):
        first_time, two = first.prediction(target), other.prediction(counterpart)
        values = {
            "simulated": (subject.true_time_s(target), subject.true_time_s(counterpart)),
            "predicted": (first_time.time_s, two.time_s),
            "lower": (first_time.low_s, two.low_s),
            "upper": (first_time.high_s, two.high_s),
        }
        for what, (before_s, after_s) in values.items():
            if before_s is None or after_s is None:
                deviation = 0.0 if before_s is after_s else math.inf
            else:
                deviation = abs(after_s - factor * before_s) / abs(factor * before_s)
            deviations.append(deviation)
            if not deviation <= SAME:
                failures.append(
                    f"{target.problem}: the {what} time is {after_s} s, not {factor:g} x {before_s} s ({deviation:.1e})"
                )
    return Finding(tuple(failures), max(deviations))


CHECKS = (
    Check(
        "deterministic",
        "Asked twice, it answers the same.",
        "Two fits to the same runs give the same bits of all that a prediction holds, except this computer's time.",
        _deterministic,
    ),
    Check(
        "order",
        "The order of the targets does not matter.",
        "Asked about the targets in the reverse order, it gives the same bits.",
        _independent_of_order,
    ),
    Check(
        "blind",
        "It never sees the run of the target.",
        "The broker has nothing to refuse; no evidence is a run of the problem on as many equal hosts with as many "
        "ranks, whatever their names; the predictor starts no simulation itself.",
        _blind,
    ),
    Check(
        "charged",
        "It pays for its evidence.",
        "Every run, recording, exchange and block has a cost above 0; a prediction of one target names all evidence "
        "that was gathered for it, and costs the sum.",
        _charged,
    ),
    Check(
        "never-cheaper",
        "More evidence never costs less.",
        "The evidence of two targets together costs at least that of the dearer one alone.",
        _never_cheaper,
    ),
    Check(
        "interval",
        "An interval contains its own value.",
        "The predicted time lies in its interval, and so does the energy.",
        _interval,
    ),
    Check(
        "many",
        "Predicted together is predicted alone.",
        "`predict_many`, if it has one, equals `predict`, refusals included.",
        _many_as_one,
        quick=False,
    ),
    Check(
        "renamed",
        "Names do not matter.",
        "With other names of hosts and clusters, whose alphabetical order is the reverse, the time and its interval "
        "are the same to 1e-9; so is the simulated time.",
        _renamed,
        quick=False,
    ),
    Check(
        "permuted",
        "The order of the platform file does not matter.",
        "With the clusters, and the hosts of each, in the reverse order, and every rank on an equal host, the time and "
        "its interval are the same to 1e-9; so is the simulated time.",
        _permuted,
        quick=False,
    ),
    Check(
        "scales",
        "Seconds scale.",
        "With all speeds and bandwidths doubled and all latencies halved, the time and its interval are halved to "
        "1e-9; so is the simulated time.",
        _scales,
        quick=False,
    ),
    Check(
        "refuses",
        "What it does not predict, it refuses in one line.",
        "Two ranks on each core, a rank on each of two cores, one rank, one host, a program of its user, and a "
        "platform file of one cluster: a finite time, or an OutOfRange or UserError of one line.",
        _refuses_in_one_line,
        quick=False,
    ),
)
