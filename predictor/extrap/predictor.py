"""Extra-P as a predictor: a model of runs on smaller numbers of nodes, evaluated at the target's number of ranks.

Extra-P fits its performance model normal form, here f(P) = c_0 + c_1 P^i (log2 P)^j with i and j from a given set, and
takes the (i, j) with the smallest cross-validated error (Calotoiu et al., SC13).  It is designed for weak scaling, in
which times grow.  For strong scaling, runs of one problem on more and more ranks, it offers two ways: an option that
adds negative exponents to the set, and, in its graphical interface, the conversion of times to the effort of all ranks,
P T.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.spec.target import Target
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.extrap import process
from predictor.regression.smaller_runs import extrapolation_flags, smaller_runs, time_flags

POINTS = range(5, 6)  # number of measured points: the smallest that Extra-P asks for


@dataclass(frozen=True)
class ExtrapModel:
    """The measured runs; each prediction calls Extra-P."""

    predictor: ExtrapPredictor
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict from Extra-P's model of the smaller runs.

        Raises:
            OutOfRange: There are too few smaller sizes, Extra-P is not installed, or its model has no value there.
        """
        if process.python() is None:
            raise process.not_installed(self.predictor.name)
        evidence = [self.answers[request] for request in self.predictor.runs(target)]
        ranks = [item.request.target.nranks for item in evidence]
        times_s = [item.record.time_s for item in evidence]
        effort = self.predictor.effort
        values = [P * time_s for P, time_s in zip(ranks, times_s, strict=True)] if effort else times_s
        said = process.model(ranks, values, at=target.nranks, negative_exponents=self.predictor.negative_exponents)
        share = 1 / target.nranks if effort else 1.0
        time_s = said.value * share
        if not math.isfinite(time_s):
            raise OutOfRange(
                f"{self.predictor.name}, {target}",
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
            evidence=tuple(item.id for item in evidence),
            cost=sum((item.cost for item in evidence), Cost()),
        )


def _version_flags(version: str) -> tuple[str, ...]:
    if version == process.VERSION:
        return ()
    return (f"Extra-P {version} is not {process.VERSION}, with which this predictor is tested",)


@dataclass(frozen=True)
class ExtrapPredictor(AsksOnce):
    """Extra-P as a predictor, with the choice of its input and options."""

    name: str
    effort: bool  # model P T in place of T
    negative_exponents: bool  # Extra-P's option allow_negative_exponents

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range; none if Extra-P is not installed."""
        if process.python() is None:
            return []
        return requests_in_range(self.runs, targets)

    def fit(self, evidence: Sequence[Evidence]) -> ExtrapModel:
        """Return a model that holds the runs."""
        return ExtrapModel(self, {item.request: item for item in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """Return the runs to measure; one run per size is enough, because simulations are deterministic.

        Raises:
            OutOfRange: There are too few smaller sizes.
        """
        return smaller_runs(target, POINTS, predictor=self.name)


EXTRAP = ExtrapPredictor("extrap", effort=False, negative_exponents=True)
EXTRAP_EFFORT = ExtrapPredictor("extrap:effort", effort=True, negative_exponents=False)
EXTRAP_DEFAULT = ExtrapPredictor("extrap:default", effort=False, negative_exponents=False)
