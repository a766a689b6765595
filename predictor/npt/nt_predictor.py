"""N-T models as a predictor: the time at a larger size, from runs of smaller sizes on the target's own hosts.

Ichikawa, Takahashi and Kawai measured their N-T models on every configuration (sections 4.1 and 5.1); here only the
target's is measured.  The model does not depend on P, so any placement is possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apps.spec.target import Target
from platforms.errors import UserError
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.npt.fit import Fit, fit
from predictor.npt.smaller import Sized, comparable_time_s, program_equations, size_of, smaller
from predictor.npt.terms import columns, size_part


@dataclass(frozen=True)
class NtPredictorModel:
    """The measured runs; each prediction fits a model to them."""

    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by an N-T model of the smaller sizes.

        Raises:
            OutOfRange: The program has no equations, or too few smaller sizes.
        """
        sized, N = _sized(target), size_of(target.problem)
        evidence = [self.answers[_request(target, size)] for size in sized]
        fitted = _fit(target, sized, [comparable_time_s(run, target) for run in evidence])
        values_s = fitted.coefficients * size_part(program_equations(target.problem).nt, np.array([N]))[:, 0]
        return Prediction(
            time_s=float(values_s.sum()),
            parts={f"{term}_s": float(value_s) for term, value_s in zip(fitted.terms, values_s, strict=True)},
            flags=(f"N = {N} is {N / sized[-1].N:.3g} times the largest measured one",),
            evidence=tuple(run.id for run in evidence),
            cost=sum((run.cost for run in evidence), Cost()),
        )


@dataclass(frozen=True)
class NtPredictor:
    """N-T models as a predictor."""

    name: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range."""
        return requests_in_range(lambda target: [_request(target, size) for size in _sized(target)], targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return no requests: the runs are enough."""
        return []

    def fit(self, evidence: Sequence[Evidence]) -> NtPredictorModel:
        """Return a model that holds the runs."""
        return NtPredictorModel({run.request: run for run in evidence})


def _request(target: Target, size: Sized) -> EvidenceRequest:
    return EvidenceRequest("run", Target(size.problem, target.platform, target.placement))


def _sized(target: Target) -> list[Sized]:
    """Return the problems that are measured; raise OutOfRange where they are too few for the equation."""
    program_equations(target.problem)
    sized = [size for size in smaller(target.problem) if size.fits(target.nranks)]
    _fit(target, sized, [1.0] * len(sized))
    return sized


def _fit(target: Target, sized: Sequence[Sized], times_s: Sequence[float]) -> Fit:
    form = program_equations(target.problem).nt
    where = f"N-T model of {target}"
    design = columns(form, np.array([float(size.N) for size in sized]), np.ones(len(sized)))
    try:
        return fit(design, np.array(times_s), [term.name for term in form], method="nnls", where=where)
    except UserError as err:
        remedy = "That takes more smaller sizes: use another predictor"
        raise OutOfRange(err.where, err.problem, remedy) from None


NT = NtPredictor("npt:nt")
