"""A predictor under check: its answers to the targets of a case, with all evidence that it was given."""

import functools
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from apps.runs.runner import Runner
from apps.spec.target import Target
from platforms.errors import UserError
from predictor.answers.answers import Answer, predict
from predictor.base import Cost, Evidence, EvidenceRequest, Prediction, Predictor
from predictor.conformance.cases import CASES, SETTINGS, ConformanceCase
from predictor.evidence.broker import Broker, RefusedEvidence

LEAST_TARGETS = 2  # that a predictor has to answer in a case
_SIMULATORS = ("smpirun", "smpimain", "s4u")  # in the command lines of simulations


class Watch:
    """Gives a predictor its evidence, and notes it, and the simulations that the predictor starts itself."""

    def __init__(self, broker: Broker):
        self._broker = broker
        self.evidence: list[Evidence] = []
        self.started: list[str] = []  # command lines
        self._thread: int | None = None  # that is watched; None: evidence is being gathered

    def gather(self, requests: Sequence[EvidenceRequest]) -> list[Evidence]:
        """Return the evidence, in the order of the requests."""
        thread, self._thread = self._thread, None
        try:
            gathered = self._broker.gather(requests)
        finally:
            self._thread = thread
        self.evidence += gathered
        return gathered

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the simulations that this thread starts, except those that gather evidence."""
        _listen()
        self._thread = threading.get_ident()
        _WATCHES.append(self)
        try:
            yield
        finally:
            _WATCHES.remove(self)

    def heard(self, command: str) -> None:
        """Note a process that the watched thread has started, if it simulates."""
        if self._thread == threading.get_ident() and any(simulator in command for simulator in _SIMULATORS):
            self.started.append(command)


_WATCHES: list[Watch] = []


@functools.cache
def _listen() -> None:
    """Tell the watches of every process that Python starts, from now on."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and _WATCHES:
            words = arguments[1]
            for watch in _WATCHES:
                watch.heard(words if isinstance(words, str) else " ".join(map(str, words)))

    sys.addaudithook(hear)


@dataclass(frozen=True)
class AskedTarget:
    """The answers of a predictor to some targets."""

    answers: tuple[Answer, ...]  # in the order of the targets
    evidence: tuple[Evidence, ...]  # each piece once
    started: tuple[str, ...]  # simulations that the predictor started itself

    @property
    def cost_node_s(self) -> float:
        """Cost of all evidence, node-seconds."""
        return sum(item.cost.node_s for item in self.evidence)

    def prediction(self, target: Target) -> Prediction:
        """Return the prediction of a target.

        Raises:
            UserError: The predictor refuses the target.
        """
        (own_answer,) = (answer for answer in self.answers if answer.target == target)
        if own_answer.prediction is None:
            raise UserError(str(target), f"refused here, but not elsewhere: {own_answer.refusal}", "Answer it")
        return own_answer.prediction


def ask(predictor: Predictor, targets: Sequence[Target], runner: Runner) -> AskedTarget:
    """Return a predictor's answers to targets, with evidence from a broker that refuses runs of them.

    Raises:
        UserError: As ``predictor.answers.answers.predict``.
    """
    watch = Watch(Broker.of(SETTINGS, targets, runner))
    with watch.watching():
        answers = predict(predictor, targets, watch)
    evidence = {item.id: item for item in watch.evidence}
    return AskedTarget(tuple(answers), tuple(evidence.values()), tuple(watch.started))


class NoCase(UserError):
    """A predictor answers too few targets of every case."""


@dataclass
class Subject:
    """A predictor, the case on which it is checked, and those of the case's targets that it answers."""

    predictor: Predictor
    runner: Runner
    case: ConformanceCase
    targets: tuple[Target, ...]
    _kept: dict[tuple[Target, ...], AskedTarget] = field(default_factory=dict)

    def asked(self, *targets: Target) -> AskedTarget:
        """Return the answers to these targets; each combination of targets is asked once."""
        if targets not in self._kept:
            self._kept[targets] = ask(self.predictor, targets, self.runner)
        return self._kept[targets]

    def true_time_s(self, target: Target) -> float:
        """Return the simulated time of a target, s."""
        return self.runner.record(SETTINGS.spec(target)).time_s


def subject(predictor: Predictor, runner: Runner) -> Subject:
    """Return the subject with the first case of which the predictor answers enough targets.

    Raises:
        RefusedEvidence: The predictor asked for the run of a target.
        NoCase: There is no such case.
    """
    refusals = []
    for case in CASES:
        try:
            asked_subject = ask(predictor, case.targets, runner)
        except RefusedEvidence:
            raise
        except UserError as err:
            refusals.append(str(err))
            continue
        answered = tuple(answer.target for answer in asked_subject.answers if answer.prediction is not None)
        if len(answered) >= LEAST_TARGETS:
            made = Subject(predictor, runner, case, answered)
            if answered == case.targets:
                made._kept[answered] = asked_subject
            return made
        refusals += [answer.refusal for answer in asked_subject.answers if answer.refusal is not None]
    raise NoCase(predictor.name, f"no answer for any case, such as: {refusals[0].rstrip('.')}", "Answer two targets")


def described(err: Exception) -> str:
    """Return an exception as one line, with the place of the code that raised it."""
    frames = traceback.extract_tb(err.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(err).__name__}: {' '.join(str(err).split())}{place}"


def comparable(made: Prediction) -> Prediction:
    """Return a prediction without the time that this computer took."""
    return replace(made, cost=Cost(made.cost.node_s))


def run_key(target: Target) -> tuple[Hashable, ...]:
    """Return the properties that decide a run's time, regardless of the hosts' names."""
    ranks = Counter(target.placement)
    hosts = Counter(
        (target.platform.host(host).speed_flops, target.platform.host(host).cores, count)
        for host, count in ranks.items()
    )
    problem = target.problem
    return problem.name, problem.params, problem.program, frozenset(hosts.items())
