"""Results that are kept in the store, so that a case whose inputs are all the same is not predicted once more.

A case's results are found by its run, its predictors, the limits of their evidence, and the code.  They are used only
while every piece of evidence and the truth are in the store as they were: where one was removed or made once more, or a
file of the project, a package or SimGrid has changed, the case is predicted again.  Kept are results of kernels under
simulation; a user's program may read anything, and no measurement repeats.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from apps.results.record import RunRecord
from apps.runs.cautions import experiments_cautions
from apps.runs.runner import Runner, caution_key
from apps.spec.machine_speed import processor_model
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from apps.store.codec import DoesNotFit, from_fields
from apps.store.identity import canonical, identity_hash
from apps.store.store import is_exact
from platforms.errors import UserError
from platforms.terminal.progress import doing
from predictor.answers.answers import Answer, names
from predictor.base import Evidence
from predictor.evidence.broker import as_carried_out, evidence_settings
from predictor.families import VARIANTS
from validation.comparison.compare import Failure, Result, Witness
from validation.kept.state import files_state
from validation.series.case import Case
from validation.series.series import Series

_KIND = "comparison"
# Kind of the entry of a kind of evidence; what the options declare needs none.
_STORED = {"run": "record", "exchange": "probe", "blocks": "probe", "declared": ""}
_OTHER_CODE = "predictor.extrap"  # it asks a program in an environment of its own

Said = list[tuple[str, list[str], Hashable]]  # cautions about runs, as arguments of Cautions.add


class Request(Protocol):
    """The options of ``gridval run`` that decide whether results are kept."""

    predictor: str | None
    machine: str | None
    truth: str | None
    report: str | None
    recorded: str | None
    known: tuple[str, ...]


def keeping(series: Series, runner: Runner, request: Request) -> Series:
    """Return the series of a request with kept results; unchanged where its results may not be kept."""
    kept_by = predictors_of(request)
    if type(series) is not Series or kept_by is None or runner.store is None:
        return series
    return KeptSeries(**vars(series), keeper=Keeper(runner, runner.store, kept_by))


def predictors_of(request: Request) -> list[str] | None:
    """Return what names the predictors for results that are kept; None: nothing is kept.

    Not kept are results of other code than the project's own, and those whose answers are needed, as by a report.
    """
    if request.machine or request.truth or request.report or request.recorded or request.known:
        return None
    asked = ["default"] if request.predictor is None else names(request.predictor, "--predictor")
    places = [VARIANTS[name].place if name in VARIANTS else "" for name in asked if request.predictor is not None]
    return None if any(not place or place.startswith(_OTHER_CODE) for place in places) else asked


@dataclass(frozen=True)
class Kept:
    """The results of a case from the store."""

    results: tuple[Result, ...]
    said: Said  # cautions about the evidence


@dataclass(frozen=True)
class KeptSeries(Series):
    """A series of cases with the same settings and mapping, of which some have results already."""

    keeper: Keeper = field(kw_only=True)

    @property
    def predictions(self) -> int:
        """Number of predictions."""
        kept = [(case, self.keeper.known(case)) for case in self.cases]
        return sum(len(self.asked(case.target) if known is None else known.results) for case, known in kept)

    def start(self, runner: Runner, cases: Sequence[Case] | None = None) -> None:
        """Let the runner start on all runs that are known to be needed."""
        some = self.cases if cases is None else cases
        runner.start(case.settings.spec(case.target) for case in some if self.keeper.known(case) is not None)
        super().start(runner, [case for case in some if self.keeper.known(case) is None])

    def outcomes(
        self,
        runner: Runner,
        cases: Sequence[Case] | None = None,
        *,
        witness: Callable[[Settings], Witness | None] = lambda _: None,
    ) -> Iterator[tuple[Case, Result | Failure]]:
        """Yield the outcomes as ``Series.outcomes`` does, those from the store without predicting.

        The witness gets answers without prediction and evidence for those.
        """
        some = self.cases if cases is None else cases
        self.start(runner, some)
        noted: dict[Target, list[tuple[Answer, Result]]] = {}

        def noting(settings: Settings) -> Witness:
            other = witness(settings)

            def note(answer: Answer, truth: RunRecord, result: Result) -> None:
                noted.setdefault(answer.target, []).append((answer, result))
                if other is not None:
                    other(answer, truth, result)

            return note

        new = super().outcomes(runner, [case for case in some if self.keeper.known(case) is None], witness=noting)
        by_case = groupby(new, key=lambda outcome: id(outcome[0]))
        for case in some:
            known = self.keeper.known(case)
            if known is not None:
                yield from self._looked_up(case, known, runner, witness(case.settings))
                continue
            yield from next(by_case)[1]
            if case.target in noted:  # else it has failed
                answers, results = zip(*noted.pop(case.target), strict=True)
                self.keeper.keep(case, answers, results)

    @staticmethod
    def _looked_up(
        case: Case, known: Kept, runner: Runner, witness: Witness | None
    ) -> Iterator[tuple[Case, Result | Failure]]:
        with doing(f"looking up {case.target}"):
            truth = runner.record(case.settings.spec(case.target))
        for run, sentences, key in known.said:
            runner.cautions.add(run, sentences, key=key)
        for result in known.results:
            if witness is not None:
                answer = Answer(result.predictor, case.target, None, None, (), result.prediction_wall_s)
                witness(answer, truth, result)
            yield case, result


class Keeper:
    """Looks up the results of cases, and keeps new ones.

    Args:
        runner: Makes the evidence.
        store: Its store.
        predictors: Names of the predictors, or of the way to choose them, which with the code and the target determine
            the predictors.
    """

    def __init__(self, runner: Runner, store: Store, predictors: Sequence[str]) -> None:
        self._runner, self._store, self._predictors = runner, store, list(predictors)
        self._code = _code()
        self._known: dict[int, Kept | None] = {}

    def known(self, case: Case) -> Kept | None:
        """Return the results of a case; None: it must be predicted."""
        if id(case) not in self._known:
            self._known[id(case)] = self._looked_up(case)
        return self._known[id(case)]

    def keep(self, case: Case, answers: Sequence[Answer], results: Sequence[Result]) -> None:
        """Keep the results of a case, if all that they rest on is in the store."""
        spec = case.settings.spec(case.target)
        if not _may_be_kept(spec) or not all(answer.prediction for answer in answers):
            return
        needed, said = {("record", identity_hash(self._runner.identify(spec)))}, Said()
        for piece in (piece for answer in answers for piece in answer.evidence):
            kind = piece.request.kind
            if kind not in _STORED or (kind == "run" and not is_exact(piece.record)):
                return
            if not _STORED[kind]:
                continue
            needed.add((_STORED[kind], piece.id))
            said.append(_cautions(case.settings, piece))
        digests = self._store.digests(needed)
        if digests.keys() != needed or _code() != self._code:
            return
        identity = self._identity(case, spec)
        payload = {
            "of": self._of(identity),
            "rests_on": sorted([*entry, digest] for entry, digest in digests.items()),
            "results": results,
            "said": [noted for noted in said if noted[1]],
        }
        summary = f"{len(results)} predictions"
        self._store.put(_KIND, identity_hash(identity), identity, payload, summary=summary)

    def _identity(self, case: Case, spec: RunSpec) -> dict[str, Any]:
        platform, limit = case.target.platform, self._runner.evidence_limit
        named = {
            "platform": platform.name,
            "network": platform.network,
            "path": None if platform.network is not None else str(platform.path),
            "platform_options": platform.options,
            "label": case.target.problem.label,
            "mapping": case.mapping,
            "predictors": self._predictors,
            "limit": repr(limit),
        }
        return {**self._runner.identify(spec), "comparison": named}

    def _of(self, identity: dict[str, Any]) -> str:
        """Return a hash of all that the results depend on but the entries that they rest on."""
        return hashlib.sha256(f"{self._code} {canonical(identity)}".encode()).hexdigest()

    def _looked_up(self, case: Case) -> Kept | None:
        try:
            spec = case.settings.spec(case.target)
            if not _may_be_kept(spec):
                return None
            identity = self._identity(case, spec)
        except UserError:  # said when the case is evaluated
            return None
        payload = self._store.get(_KIND, identity_hash(identity))
        if payload is None or payload.get("of") != self._of(identity):
            return None
        try:
            rests_on = {(kind, key): digest for kind, key, digest in payload["rests_on"]}
            results = tuple(from_fields(Result, row) for row in payload["results"])
            said = [(run, sentences, _hashable(key)) for run, sentences, key in payload["said"]]
            hash(tuple((run, *sentences, key) for run, sentences, key in said))
        except (KeyError, TypeError, ValueError, DoesNotFit) as err:
            self._store.refuse(_KIND, identity_hash(identity), str(err))
            return None
        return Kept(results, said) if self._store.digests(rests_on) == rests_on else None


def _cautions(settings: Settings, piece: Evidence) -> tuple[str, list[str], Hashable]:
    """Return the cautions about a piece of evidence as the runner adds them (Runner.record, Runner.measure)."""
    target, plan = piece.request.target, piece.request.plan
    if plan is None:
        return str(target), list(piece.record.cautions), caution_key(evidence_settings(settings).spec(target))
    plan = as_carried_out(plan, evidence_settings(settings))
    return f"{plan.measured} on {plan.platform.name}", list(experiments_cautions(plan)), piece.id


def _may_be_kept(spec: RunSpec) -> bool:
    """Return whether the run of a target, and the evidence for it, are determined by what is known of them."""
    return spec.machine is None and spec.target.problem.program is None and spec.compute in ("injected", "none")


def _code() -> str:
    """Return a hash of the code: all files of the project, Python, and the processor for which NumPy chooses loops."""
    variables = sorted(item for item in os.environ.items() if item[0].startswith(("NPY_", "OPENBLAS_", "PYTHON")))
    return hashlib.sha256(
        repr((sorted(files_state().items()), sys.version, processor_model(), variables)).encode()
    ).hexdigest()


def _hashable(value: Any) -> Hashable:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
