"""Evidence is gathered here, for a price, and only what a predictor may know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from apps.identity import identity_hash
from apps.record import RunRecord
from apps.smpi import run_identity
from apps.spec import RunSpec, Settings, Target
from platforms.errors import UserError
from predictor.base import EVIDENCE_KINDS, Cost, Evidence, EvidenceRequest


class RefusedEvidence(UserError):
    """A predictor asked for the answer itself."""


class Broker:
    """Answers requests for evidence with the records that ``record`` makes (apps/runner.py: each run once).

    ``targets`` are what is to be predicted: a request for a run of one of them is refused, in whatever order its
    hosts are named and however few of its iterations are asked for.
    """

    def __init__(
        self,
        settings: Settings,
        targets: Sequence[Target],
        *,
        record: Callable[[RunSpec], RunRecord],
        identify: Callable[[RunSpec], dict] = run_identity,
    ):
        self._settings = settings
        self._forbidden = {_essence(target) for target in targets}
        self._record = record
        self._identify = identify

    def gather(self, requests: Sequence[EvidenceRequest]) -> list[Evidence]:
        """The evidence, in the order of the requests.

        Raises RefusedEvidence for a run of a target, and what the engine raises for a run that fails.
        """
        specs = self.specs(requests)
        return [self._answer(request, spec) for request, spec in zip(requests, specs, strict=True)]

    def specs(self, requests: Sequence[EvidenceRequest]) -> list[RunSpec]:
        """The runs behind the requests; raises RefusedEvidence as ``gather`` does."""
        for request in requests:
            self._check(request)
        return [self._settings.spec(request.target) for request in requests]

    def _check(self, request: EvidenceRequest) -> None:
        if request.kind not in EVIDENCE_KINDS:
            raise UserError(
                f"evidence {request.kind!r}", "no such kind of evidence", f"Known: {', '.join(EVIDENCE_KINDS)}"
            )
        if _essence(request.target) in self._forbidden:
            raise RefusedEvidence(
                f"{request.target.problem} on {request.target.platform.name}, {request.target.nranks} ranks",
                "the evidence asked for is a run of the target itself",
                "Predict a target that is larger than the predictor's probe",
            )

    def _answer(self, request: EvidenceRequest, spec: RunSpec) -> Evidence:
        record = self._record(spec)
        cost = Cost(node_s=record.node_seconds, wall_s=record.wall_s)
        return Evidence(request, record, identity_hash(self._identify(spec)), cost)


def _essence(target: Target) -> tuple:
    """What makes a run give away the target's time: the problem and the machines, not who sits where."""
    hosts = frozenset(Counter(target.placement).items())
    return target.problem.app, target.problem.params, target.platform.content_hash, hosts
