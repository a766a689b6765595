"""What a predictor is: it asks for evidence, fits a model to it, and the model predicts targets.

A predictor never simulates and never sees the time of the target.  A new one is a module with a class that has
``name``, ``requests``, ``further`` and ``fit``, and a line in ``predictor/registry.py``; one from outside the project
needs no line (predictor/own.py, docs/tutorials/own-predictor.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from apps.blockprobe.measure import BlockPlan
from apps.netprobe.measure import Measurement, Plan
from apps.record import RunRecord
from apps.recording import Recording
from apps.spec import Target
from platforms.errors import UserError

_Answer = TypeVar("_Answer")


class OutOfRange(UserError):
    """The target lies outside the assumptions of the model, so that its answer would mean nothing."""


@dataclass(frozen=True)
class EvidenceRequest:
    """Something a predictor wants to know about a target.

    ``run``: the record of a run of ``target``, which must not be the one to predict.
    ``trace``: a recording of what the target's program does on so many ranks, made elsewhere; ``iterations`` of it.
    ``exchange``: messages between the target's hosts, as ``plan`` says.
    ``blocks``: single computations, collectives and accesses to disks on the target's platform, as ``plan`` says.
    ``declared``: what the user says of the simulation, for free.
    """

    kind: str
    target: Target
    iterations: int | None = None  # of a trace
    plan: Plan | BlockPlan | None = None  # of an exchange or of blocks


@dataclass(frozen=True)
class Declared:
    """What the user says of the simulation."""

    options: tuple[tuple[str, str], ...]  # SimGrid options, those of the platform file included


@dataclass(frozen=True)
class Cost:
    """What evidence costs.

    >>> Cost(node_s=2.0, wall_s=0.5) + Cost(node_s=1.0)
    Cost(node_s=3.0, wall_s=0.5)
    """

    node_s: float = 0.0  # node-seconds on the machines: nodes in use times the time they are in use for
    wall_s: float = 0.0  # of this computer, to gather it

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.node_s + other.node_s, self.wall_s + other.wall_s)


@dataclass(frozen=True)
class Evidence:
    """The answer to a request."""

    request: EvidenceRequest
    answer: RunRecord | Recording | Measurement | Declared  # by the kind of the request
    id: str  # hash of the answer's identity
    cost: Cost

    @property
    def record(self) -> RunRecord:
        """The answer to a request for a run; raises TypeError for one of another kind, as the three below do."""
        return self._answer_as(RunRecord)

    @property
    def recording(self) -> Recording:
        """The answer to a request for a trace."""
        return self._answer_as(Recording)

    @property
    def measurement(self) -> Measurement:
        """The answer to a request for an exchange or for blocks."""
        return self._answer_as(Measurement)

    @property
    def declared(self) -> Declared:
        """The answer to a request for what the user says."""
        return self._answer_as(Declared)

    def _answer_as(self, kind: type[_Answer]) -> _Answer:
        if not isinstance(self.answer, kind):
            raise TypeError(f"evidence {self.request.kind!r} is a {type(self.answer).__name__}, not a {kind.__name__}")
        return self.answer


@dataclass(frozen=True)
class HostLoad:
    """What a host does in a run."""

    core_s: float  # core-seconds of computation, at the speed that a core has to itself
    busy_low_s: float  # bounds of the time during which at least one of its ranks computes
    busy_high_s: float


@dataclass(frozen=True)
class ErrorRange:
    """Between which errors predictions like this one were, in the validity map (predictor/regime.py)."""

    low_pct: float  # 100 (predicted - true) / true
    high_pct: float
    samples: int  # predictions behind it

    @property
    def largest_pct(self) -> float:
        """The larger of the two without its sign."""
        return max(abs(self.low_pct), abs(self.high_pct))


@dataclass(frozen=True)
class Prediction:
    """The predicted run time of a target.

    Models say ``loads``; its energy is made of them in one place (predictor/energy.py).
    """

    time_s: float
    parts: Mapping[str, float] = field(default_factory=dict)  # what the time is made of, s
    flags: tuple[str, ...] = ()  # reasons to distrust it
    remarks: tuple[str, ...] = ()  # what else is good to know, such as a fitted law
    low_s: float | None = None  # interval for the true time: the model's own, or that of error_range
    high_s: float | None = None
    error_range: ErrorRange | None = None  # what the validity map says of such predictions
    no_error_range: str | None = None  # why it says nothing
    loads: Mapping[str, HostLoad] | None = None  # of the hosts in use; None: the model knows the time alone
    # For which energy is counted: from the start of the first rank to the end of the last; None: for time_s.
    span_s: float | None = None
    energy_j: float | None = None  # of the hosts in use; None: the platform gives no watts
    energy_low_j: float | None = None  # interval: a point where the loads are known exactly
    energy_high_j: float | None = None
    evidence: tuple[str, ...] = ()  # ids of what it rests on
    cost: Cost = Cost()

    @property
    def counted_s(self) -> float:
        """For which energy is counted."""
        return self.time_s if self.span_s is None else self.span_s


class Gatherer(Protocol):
    """Who answers requests for evidence: predictor.evidence.Broker, or what stands in front of it."""

    def gather(self, requests: Sequence[EvidenceRequest]) -> Sequence[Evidence]:
        """The evidence, in the order of the requests."""


class Model(Protocol):
    """A fitted predictor.  One that is quicker with many targets at once is a ModelOfMany too."""

    def predict(self, target: Target) -> Prediction:
        """Raises OutOfRange where the model's assumptions fail."""


@runtime_checkable
class ModelOfMany(Model, Protocol):
    """A fitted predictor that is quicker with many targets at once than with one after the other."""

    def predict_many(self, targets: Sequence[Target]) -> Sequence[Prediction | OutOfRange]:
        """In the order of the targets, what ``predict`` returns, or the OutOfRange that it raises."""


class Predictor(Protocol):
    """One published model, or one of our own."""

    @property
    def name(self) -> str:
        """What it is called on command lines and in tables."""

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """What it needs to predict these targets."""

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """What it needs besides, now that it has this evidence; asked again until nothing more is needed."""

    def fit(self, evidence: Sequence[Evidence]) -> Model:
        """The model, from the answers to its requests."""
