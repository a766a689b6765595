"""The simplest baselines: one law in the number of ranks, fitted to the times of smaller runs.

Nothing is said of who computes how fast.  The kernels give every rank the same share of the work, so that the slowest
node decides; all runs have nodes of every cluster that the target uses, the slowest among them, and that cancels out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from apps.spec import Target
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.regression.flags import extrapolation_flags, time_flags
from predictor.regression.lines import fit_log_line, fit_power_law
from predictor.regression.smaller_runs import FEW, smaller_runs
from predictor.regression.terms import AMDAHL, fit_combination
from predictor.targets import requests_in_range


class Law(Protocol):
    """A fitted one; its text is the equation, in s."""

    def parts(self, ranks: int) -> dict[str, float]:
        """The terms and their values, s, which add up to the time."""


@dataclass(frozen=True)
class LawModel:
    """Answers to all requests; a law is fitted with each prediction."""

    predictor: LawPredictor
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Raises OutOfRange for too few smaller sizes, and for runs that take no time."""
        evidence = [self.answers[request] for request in self.predictor.runs(target)]
        ranks = [one.record.ranks for one in evidence]
        times_s = [one.record.time_s for one in evidence]
        if min(times_s) <= 0:
            where = f"{self.predictor.name}, {target.problem} on {target.platform.name}"
            raise OutOfRange(where, "a smaller run takes no time", "Let the program compute or communicate")
        law = self.predictor.fit_law(ranks, times_s)
        parts = law.parts(target.nranks)
        time_s = sum(parts.values())
        return Prediction(
            time_s=time_s,
            parts={f"{term}_s": value_s for term, value_s in parts.items()},
            flags=(*time_flags(time_s), *extrapolation_flags(target, ranks)),
            remarks=(f"T = {law} s",),
            evidence=tuple(one.id for one in evidence),
            cost=sum((one.cost for one in evidence), Cost()),
        )


@dataclass(frozen=True)
class LawPredictor:
    """The predictor: a law, ``fit_law`` of numbers of ranks and times in s."""

    name: str
    fit_law: Callable[[Sequence[int], Sequence[float]], Law]

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """The runs for all targets that are in range; for the others none."""
        return requests_in_range(self.runs, targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> LawModel:
        return LawModel(self, {one.request: one for one in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """What is measured.  Raises OutOfRange for too few smaller sizes."""
        return smaller_runs(target, FEW, predictor=self.name)


FIT_LOGLINEAR = LawPredictor("fit-loglinear", fit_power_law)
FIT_LOG = LawPredictor("fit-log", fit_log_line)
FIT_AMDAHL = LawPredictor("fit-amdahl", partial(fit_combination, terms=AMDAHL))
