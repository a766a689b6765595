"""Interfaces of predictors: a predictor asks for evidence, fits a model to it, and the model predicts targets.

A predictor never simulates and never sees the time of the target.  To add a predictor, write a module with a class
that has ``name``, ``requests``, ``further`` and ``fit``, and add a line to ``predictor/registry.py``.  A predictor from
outside the project needs no such line (predictor/plugins.py, docs/tutorials/own-predictor.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Protocol, TypeVar, runtime_checkable

from apps.probes.plan import Measurement
from apps.probes.plan import Plan as ExperimentPlan
from apps.recording.events import Recording
from apps.results.record import RunRecord
from apps.spec.target import Target
from platforms.errors import UserError

_Answer = TypeVar("_Answer")


class OutOfRange(UserError):
    """The target lies outside the assumptions of the model, so a prediction would be meaningless."""


@dataclass(frozen=True)
class EvidenceRequest:
    """One piece of evidence that a predictor asks for, about a target.

    The kinds of evidence:

    ``run``: the record of a run of ``target``, which must not be a target that is to be predicted.
    ``recording``: the events of ``iterations`` iterations of the target's program on as many ranks, made anywhere.
    ``exchange``: measured messages between the target's hosts, as listed in ``plan``.
    ``blocks``: single computations, collectives and disk accesses on the target's platform, as listed in ``plan``.
    ``simulation``: the record of ``target`` itself in simulation, at the share ``efficiency`` of its nodes' speed; only
    where the truth is the time on a real machine.
    ``declared``: the simulation options that the user has chosen; costs nothing.
    """

    kind: str
    target: Target
    iterations: int | None = None  # number of recorded iterations; only for kind "recording"
    plan: ExperimentPlan | None = None  # only for the kinds "exchange" and "blocks"
    efficiency: float | None = None  # only for kind "simulation"


@dataclass(frozen=True)
class Declared:
    """The options that the user has chosen for the simulation."""

    options: tuple[tuple[str, str], ...]  # SimGrid options, including those of the platform file


@dataclass(frozen=True)
class Cost:
    """Cost of gathering evidence.

    >>> Cost(node_s=2.0, wall_s=0.5) + Cost(node_s=1.0)
    Cost(node_s=3.0, wall_s=0.5)
    """

    node_s: float = 0.0  # node-seconds on the machines: number of nodes in use times the time of their use
    wall_s: float = 0.0  # elapsed time on this computer while the evidence was gathered

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.node_s + other.node_s, self.wall_s + other.wall_s)


@dataclass(frozen=True)
class Evidence:
    """The answer to a request."""

    request: EvidenceRequest
    answer: RunRecord | Recording | Measurement | Declared  # the type depends on the kind of the request
    id: str  # hash of the answer's identity
    cost: Cost
    options: tuple[tuple[str, str], ...] | None = None  # of SimGrid, as given by the user; None: none took part

    @property
    def once_node_s(self) -> float:
        """Its node-seconds; for a run on a real machine, those of one repeat, because a recording is made once."""
        if not isinstance(self.answer, RunRecord) or self.answer.measured is None:
            return self.cost.node_s
        return self.cost.node_s / len(self.answer.measured.repeats_s)

    @property
    def record(self) -> RunRecord:
        """The answer to a request of kind ``run`` or ``simulation``.

        Raises:
            TypeError: The request is of another kind; ``recording``, ``measurement`` and ``declared`` do the same.
        """
        return self._answer_as(RunRecord)

    @property
    def recording(self) -> Recording:
        """The answer to a request of kind ``recording``."""
        return self._answer_as(Recording)

    @property
    def measurement(self) -> Measurement:
        """The answer to a request of kind ``exchange`` or ``blocks``."""
        return self._answer_as(Measurement)

    @property
    def declared(self) -> Declared:
        """The answer to a request of kind ``declared``."""
        return self._answer_as(Declared)

    def _answer_as(self, kind: type[_Answer]) -> _Answer:
        if not isinstance(self.answer, kind):
            raise TypeError(f"evidence {self.request.kind!r} is a {type(self.answer).__name__}, not a {kind.__name__}")
        return self.answer


@dataclass(frozen=True)
class HostLoad:
    """Computation of one host during a run."""

    core_s: float  # core-seconds of computation, at the speed of a core that runs one rank only
    busy_low_s: float  # bounds of the time during which at least one of the host's ranks computes
    busy_high_s: float


@dataclass(frozen=True)
class ErrorRange:
    """Range of the errors that the validity map holds for similar predictions (predictor/answers/regime.py)."""

    low_pct: float  # 100 (predicted - true) / true
    high_pct: float
    samples: int  # number of predictions from which the range was made

    @property
    def largest_pct(self) -> float:
        """The larger of the absolute values of both ends."""
        return max(abs(self.low_pct), abs(self.high_pct))


@dataclass(frozen=True)
class Interval:
    """Interval that holds the true time with probability ``level``, from known errors (predictor/intervals)."""

    low_s: float
    high_s: float
    level: float
    cases: int  # number of calibration cases behind it
    made_of: tuple[str, ...]  # the properties of the prediction by which the cases were weighted

    @property
    def width(self) -> float:
        """Upper end over lower end."""
        return self.high_s / self.low_s


@dataclass(frozen=True)
class CallCertainty:
    """Certainty of the learned laws of a call path, on the target's ranks."""

    call: str  # its operation and place
    state: str  # exact, unconfirmed (it took the largest recording to learn), ambiguous (formulas), fitted or assumed
    detail: str  # the error of a fit, the formulas, or the assumption
    settled_by: int | None  # the smallest further number of ranks whose recording would settle it, if one is known


@dataclass(frozen=True, repr=False)
class Prediction:
    """The predicted run time of a target.

    Models fill in ``loads``; predictor/answers/energy.py derives the energy from them for all models.
    """

    time_s: float
    parts: Mapping[str, float] = field(default_factory=dict)  # components of the time, s
    communication_only: bool = False  # the time leaves computation out (--compute none, or a program that injects none)
    bottleneck: str | None = None  # what takes most of the time; answers fill it in for models that give parts only
    flags: tuple[str, ...] = ()  # reasons to distrust the prediction
    remarks: tuple[str, ...] = ()  # further information, such as a fitted law
    low_s: float | None = None  # ends of ``interval``, else a range for the true time: the model's, else error_range's
    high_s: float | None = None
    error_range: ErrorRange | None = None  # errors of similar predictions in the validity map
    no_error_range: str | None = None  # why error_range is None
    unlike: bool = (
        False  # what was measured does not stand for all paths of the platform (predictor/network/unmeasured)
    )
    interval: Interval | None = None  # calibrated interval for the true time; answers fill it in for all models
    no_interval: str | None = None  # why interval is None: from the model, else from the answers
    fit_residual: float | None = None  # largest |fitted - measured| / measured of a fitted law; None: no fitted law
    loads: Mapping[str, HostLoad] | None = None  # of the hosts in use; None: the model predicts the time only
    # Time over which energy is integrated: from the start of the first rank to the end of the last; None: time_s.
    span_s: float | None = None
    energy_j: float | None = None  # of the hosts in use; None: the platform gives no watts
    energy_low_j: float | None = None  # interval of the energy; both ends are equal where the loads are known exactly
    energy_high_j: float | None = None
    energy_basis: str | None = None  # why there is no energy, or whose watts it rests on; None: the platform file's
    calls: tuple[CallCertainty, ...] = ()  # of predictors that learn a program
    evidence: tuple[str, ...] = ()  # ids of the evidence that was used
    cost: Cost = Cost()

    def __repr__(self) -> str:
        interval = "" if self._interval_s is None else f", interval_s=({_said(self._interval_s).replace(' to ', ', ')})"
        cautions = f", flags={len(self.flags)}" if self.flags else ""
        return f"Prediction(time_s={self.time_s:.6g}{interval}{cautions})"

    def _repr_html_(self) -> str:
        """Return the values that are known as a table, for notebooks."""
        rows: dict[str, object] = {"time, s": self.time_s, "interval, s": self._interval_s, **self.parts}
        rows |= {"energy, J": self.energy_j, "evidence, node-seconds": self.cost.node_s}
        rows |= {f"caution {number}": flag for number, flag in enumerate(self.flags, 1)}
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(_said(value))}</td></tr>"
            for name, value in rows.items()
            if value is not None
        )
        return f"<table>{cells}</table>"

    @property
    def _interval_s(self) -> tuple[float, float] | None:
        if self.interval is not None:
            return self.interval.low_s, self.interval.high_s
        return None if self.low_s is None or self.high_s is None else (self.low_s, self.high_s)

    @property
    def compute_share(self) -> float | None:
        """Share of computation in the predicted time; None if the model does not give it."""
        compute_s = self.parts.get("compute_s")
        if compute_s is None or not self.time_s > 0:
            return None
        return min(1.0, max(0.0, compute_s / self.time_s))

    @property
    def energy_span_s(self) -> float:
        """Time over which energy is integrated, s."""
        return self.time_s if self.span_s is None else self.span_s


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return " to ".join(map(_said, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Gatherer(Protocol):
    """Object that answers requests for evidence: predictor.evidence.broker.Broker, or a wrapper around a Broker."""

    def gather(self, requests: Sequence[EvidenceRequest]) -> Sequence[Evidence]:
        """Return the evidence, in the order of the requests."""


class Model(Protocol):
    """A fitted predictor.

    A model that predicts many targets at once faster than one by one also implements ModelOfMany.
    """

    def predict(self, target: Target) -> Prediction:
        """Predict the run time of a target.

        Raises:
            OutOfRange: The target violates the model's assumptions.
        """


@runtime_checkable
class ModelOfMany(Model, Protocol):
    """A fitted predictor that predicts many targets at once faster than one by one."""

    def predict_many(self, targets: Sequence[Target]) -> Sequence[Prediction | OutOfRange]:
        """Return, in the order of the targets, the result of ``predict`` or the OutOfRange that it would raise."""


def takes(model: Predictor, target: Target) -> bool:
    """Return whether a predictor may be asked about a target: only some know problems in unequal shares."""
    return not target.problem.shares or bool(getattr(model, "unequal_shares", False))


class Predictor(Protocol):
    """A method of prediction: a published model, or one from this project or its user.

    A predictor whose attribute ``unequal_shares`` is true is also asked about problems that are divided unevenly.
    """

    @property
    def name(self) -> str:
        """Name on command lines and in tables."""

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the evidence that is needed to predict these targets."""

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return requests for more evidence, given all evidence so far; called until the list is empty."""

    def fit(self, evidence: Sequence[Evidence]) -> Model:
        """Fit the model to the answers to all requests."""


class AsksOnce:
    """The part of a predictor whose first requests are enough."""

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return no requests."""
        return []


@runtime_checkable
class Resilient(Predictor, Protocol):
    """A predictor that can do without some of its evidence."""

    def without(self, request: EvidenceRequest, error: Exception) -> Resilient | None:
        """Return the predictor that does without evidence of which the run failed; None if it cannot."""


@runtime_checkable
class Learning(Protocol):
    """A predictor that learns a program from recordings on fewer ranks, with options of its own."""

    @property
    def graph(self) -> Predictor:
        """The predictor of numbers of ranks that are recorded themselves."""

    def with_options(self, recorded: str | None, known: Sequence[str]) -> Predictor:
        """Return the predictor with the options --recorded and --known (predictor/options.py)."""
