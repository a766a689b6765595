"""The simplest baselines: one law in the number of ranks, fitted to the times of smaller runs.

The laws ignore the speeds of the nodes.  The kernels give every rank the same share of the work, so the slowest node
determines the time; all runs use nodes of every cluster that the target uses, including the slowest, so that its speed
affects all runs alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from apps.spec.target import Target
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.regression.flags import extrapolation_flags, time_flags
from predictor.regression.lines import fit_log_line, fit_power_law
from predictor.regression.smaller_runs import FEW, smaller_runs
from predictor.regression.terms import AMDAHL, fit_combination


class Law(Protocol):
    """A fitted law; its text is the equation, in s."""

    def parts(self, ranks: int) -> dict[str, float]:
        """Return the values of the terms, s, by name; their sum is the time."""


@dataclass(frozen=True)
class LawModel:
    """The measured runs; each prediction fits a law to them."""

    predictor: LawPredictor
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by a law fitted to the smaller runs.

        Raises:
            OutOfRange: There are too few smaller sizes, or a run takes no time.
        """
        evidence = [self.answers[request] for request in self.predictor.runs(target)]
        ranks = [run.record.ranks for run in evidence]
        times_s = [run.record.time_s for run in evidence]
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
            fit_residual=_residual(law, ranks, times_s),
            evidence=tuple(run.id for run in evidence),
            cost=sum((run.cost for run in evidence), Cost()),
        )


def _residual(law: Law, ranks: Sequence[int], times_s: Sequence[float]) -> float | None:
    """Return the largest relative residual; None if there are no more runs than coefficients."""
    if len(ranks) < FEW.stop - 1:
        return None
    return max(abs(sum(law.parts(P).values()) / time_s - 1) for P, time_s in zip(ranks, times_s, strict=True))


@dataclass(frozen=True)
class LawPredictor:
    """A fitted law as a predictor."""

    name: str
    fit_law: Callable[[Sequence[int], Sequence[float]], Law]  # from numbers of ranks and times, s

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range."""
        return requests_in_range(self.runs, targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return no requests: the runs are enough."""
        return []

    def fit(self, evidence: Sequence[Evidence]) -> LawModel:
        """Return a model that holds the runs."""
        return LawModel(self, {run.request: run for run in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """Return the runs to measure.

        Raises:
            OutOfRange: There are too few smaller sizes.
        """
        return smaller_runs(target, FEW, predictor=self.name)


FIT_LOGLINEAR = LawPredictor("fit:loglinear", fit_power_law)
FIT_LOG = LawPredictor("fit:log", fit_log_line)
FIT_AMDAHL = LawPredictor("fit:amdahl", partial(fit_combination, terms=AMDAHL))
