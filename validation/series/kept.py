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
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from apps.results.cautions import Cautions
from apps.runs.runner import Runner
from apps.spec.machine_speed import processor_model
from apps.spec.run_spec import RunSpec
from apps.store.codec import DoesNotFit, from_fields
from apps.store.identity import canonical, identity_hash
from apps.store.store import is_exact
from platforms.errors import UserError
from platforms.files.installation import files_state
from platforms.terminal.progress import doing
from predictor.answers.answers import Answer
from validation.comparison.compare import Failure, Result, Witness
from validation.series.case import Case

_KIND = "comparison"
_STORED = {"run": "record", "exchange": "probe", "blocks": "probe"}  # kind of the entry of a kind of evidence
_FREE = "declared"  # evidence that the options are

Said = list[tuple[str, list[str], Hashable]]  # cautions about runs, as arguments of Cautions.add


@dataclass(frozen=True)
class Kept:
    """The results of a case from the store."""

    case: Case
    results: tuple[Result, ...]
    said: Said  # cautions about the evidence

    def has_truth(self, runner: Runner) -> bool:
        """Return whether the truth is there."""
        return runner.has(self.case.settings.spec(self.case.target))

    def compared(self, runner: Runner, witness: Witness | None) -> Iterator[tuple[Case, Result | Failure]]:
        """Yield the results; the witness gets answers without prediction and evidence."""
        target = self.case.target
        with doing(f"looking up {target}"):
            truth = runner.record(self.case.settings.spec(target))
        for run, sentences, key in self.said:
            runner.cautions.add(run, sentences, key=key)
        for result in self.results:
            if witness is not None:
                answer = Answer(result.predictor, target, None, None, (), result.prediction_wall_s)
                witness(answer, truth, result)
            yield self.case, result


class Keeper:
    """Looks up the results of cases, and keeps new ones.

    Args:
        runner: Makes the evidence, and has the store; without one nothing is kept.
        predictors: Names of the predictors, or of the way to choose them, which with the code and the target determine
            the predictors.
    """

    def __init__(self, runner: Runner, predictors: Sequence[str]) -> None:
        self._runner, self._store, self._predictors = runner, runner.store, list(predictors)
        self._code = _code()
        self._known: dict[int, tuple[Case, Kept | None]] = {}

    def known(self, case: Case) -> Kept | None:
        """Return the results of a case; None: it must be predicted."""
        if id(case) not in self._known:
            self._known[id(case)] = case, self._looked_up(case)
        return self._known[id(case)][1]

    @contextmanager
    def noting(self) -> Iterator[Said]:
        """Give the list of all cautions that the runner adds in this context."""
        before, said = self._runner.cautions, Said()
        self._runner.cautions = _Noting(before, said)
        try:
            yield said
        finally:
            self._runner.cautions = before

    def keep(self, case: Case, answers: Sequence[Answer], results: Sequence[Result], said: Said) -> None:
        """Keep the results of a case, if all that they rest on is in the store."""
        spec = case.settings.spec(case.target)
        if (
            self._store is None
            or not _may_be_kept(spec)
            or any(answer.prediction is None for answer in answers)
            or not results
        ):
            return
        needed = {("record", identity_hash(self._runner.identify(spec)))}
        for piece in (piece for answer in answers for piece in answer.evidence):
            if piece.request.kind == _FREE:
                continue
            if piece.request.kind not in _STORED or (piece.request.kind == "run" and not is_exact(piece.record)):
                return
            needed.add((_STORED[piece.request.kind], piece.id))
        digests = self._store.digests(needed)
        if digests.keys() != needed or _code() != self._code:
            return
        identity = self._identity(case, spec)
        payload = {
            "of": self._of(identity),
            "rests_on": sorted([*entry, digest] for entry, digest in digests.items()),
            "results": results,
            "said": said,
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
            if self._store is None or not _may_be_kept(spec):
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
        except (KeyError, TypeError, ValueError, DoesNotFit) as err:
            self._store.refuse(_KIND, identity_hash(identity), str(err))
            return None
        return Kept(case, results, said) if self._store.digests(rests_on) == rests_on else None


class _Noting(Cautions):
    """Notes what is added to other cautions."""

    def __init__(self, others: Cautions, said: Said) -> None:
        super().__init__()
        self._others, self._added = others, said

    def add(self, run: str, sentences: Iterable[str], *, key: Hashable = None) -> None:
        """Note and add."""
        noted = list(sentences)
        if noted:
            self._added.append((run, noted, key))
        self._others.add(run, noted, key=key)


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
