"""Extra-P as a predictor: it is given runs on smaller numbers of nodes, and asked for the target's.

Extra-P fits its performance model normal form, here f(P) = c_0 + c_1 P^i (log2 P)^j with i and j from a given set, and
takes the (i, j) with the smallest cross-validated error (Calotoiu et al., SC13).  It is made for weak scaling, in which
times grow.  For runs of one problem on more and more ranks, strong scaling, it has two ways: an option that adds
negative exponents to the set, and, in its graphical interface, the conversion of times to the effort of all ranks, P T.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.spec import Target
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.extrap import process
from predictor.regression.flags import extrapolation_flags, time_flags
from predictor.regression.smaller_runs import smaller_runs
from predictor.targets import requests_in_range

POINTS = range(5, 6)  # the fewest that Extra-P asks for


@dataclass(frozen=True)
class ExtrapModel:
    """Answers to all requests; Extra-P is asked with each prediction."""

    predictor: ExtrapPredictor
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Raises OutOfRange for too few smaller sizes, and where Extra-P is not installed."""
        if process.python() is None:
            raise process.not_installed(self.predictor.name)
        evidence = [self.answers[request] for request in self.predictor.runs(target)]
        ranks = [one.request.target.nranks for one in evidence]
        times_s = [one.record.time_s for one in evidence]
        effort = self.predictor.effort
        values = [P * time_s for P, time_s in zip(ranks, times_s, strict=True)] if effort else times_s
        said = process.model(ranks, values, at=target.nranks, negative_exponents=self.predictor.negative_exponents)
        share = 1 / target.nranks if effort else 1.0
        time_s = said.value * share
        if not math.isfinite(time_s):
            raise OutOfRange(
                f"{self.predictor.name}, {target.problem} on {target.nranks} ranks of {target.platform.name}",
                f"Extra-P's model {said.text} has no value there",
                "Use another predictor",
            )
        return Prediction(
            time_s=time_s,
            parts={f"{text} / P_s" if effort else f"{text}_s": value * share for text, value in said.terms},
            flags=(
                *time_flags(time_s),
                *extrapolation_flags(target, ranks),
                *(f"Extra-P: {text}" for text in said.warnings),
                *_version_flags(said.version),
            ),
            remarks=(
                f"Extra-P {said.version}: {'P T' if effort else 'T'} = {said.text} s, SMAPE {said.smape_pct:.1f} %",
            ),
            evidence=tuple(one.id for one in evidence),
            cost=sum((one.cost for one in evidence), Cost()),
        )


def _version_flags(version: str) -> tuple[str, ...]:
    if version == process.VERSION:
        return ()
    return (f"Extra-P {version} is not {process.VERSION}, with which this predictor is tested",)


@dataclass(frozen=True)
class ExtrapPredictor:
    """The predictor: what Extra-P is given, and how it is set.

    ``effort``: P T in place of T.  ``negative_exponents``: Extra-P's option ``allow_negative_exponents``.
    """

    name: str
    effort: bool
    negative_exponents: bool

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """The runs for all targets that are in range, for the others none; none at all without Extra-P."""
        if process.python() is None:
            return []
        return requests_in_range(self.runs, targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> ExtrapModel:
        return ExtrapModel(self, {one.request: one for one in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """What is measured, one run each: simulations repeat.  Raises OutOfRange for too few smaller sizes."""
        return smaller_runs(target, POINTS, predictor=self.name)


EXTRAP = ExtrapPredictor("extrap", effort=False, negative_exponents=True)
EXTRAP_EFFORT = ExtrapPredictor("extrap-effort", effort=True, negative_exponents=False)
EXTRAP_DEFAULT = ExtrapPredictor("extrap-default", effort=False, negative_exponents=False)
