"""The features of a prediction that are known before the run: what its error may depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from apps.recording.events import Recording
from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Evidence, Prediction

# Kinds of surroundings, each calibrated by its own cases.
GRID = "grid"  # generated, a rank on a node
FILE = "file"  # a platform file, a rank on a node
UNLIKE = "unlike"  # the same, where what was measured does not stand for all paths
CORES = "cores"  # several ranks on a node
MEASURED = "measured"  # a real machine, a rank on a node
SURROUNDINGS = (GRID, FILE, UNLIKE, CORES, MEASURED)

LEAST_SHARE = 1e-4  # shares of computation nearer to 0 or 1 than this count as this
LEAST_RESIDUAL = 1e-4  # smaller residuals of a fit count as this


@dataclass(frozen=True)
class Features:
    """The features of a prediction; a value is None if neither the prediction nor its evidence has it."""

    app: str  # name of the kernel, or of the user's program
    compute_share: float | None  # of the predicted time, else of the largest run of the evidence
    ratio: float | None  # ranks of the target over those of the largest run or recording of the evidence
    fit_residual: float | None  # largest relative residual of the fitted law
    surroundings: str = GRID  # one of SURROUNDINGS

    def coordinates(self) -> tuple[float, float, float]:
        """Return coordinates in which a distance of 1 is a notable difference; unknown values are NaN.

        They are half decades of computation over communication, doublings of the ranks, and decades of the residual.
        """
        share, ratio, residual = math.nan, math.nan, math.nan
        if self.compute_share is not None:
            inner = min(max(self.compute_share, LEAST_SHARE), 1 - LEAST_SHARE)
            share = 2 * math.log10(inner / (1 - inner))
        if self.ratio is not None:
            ratio = math.log2(self.ratio)
        if self.fit_residual is not None:
            residual = math.log10(max(self.fit_residual, LEAST_RESIDUAL))
        return share, ratio, residual


def features_of(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> Features:
    """Return the features of a prediction; ``evidence`` may hold evidence for other targets too."""
    used = [item for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    runs = [item.answer for item in used if item.request.kind == "run" and isinstance(item.answer, RunRecord)]
    ranks = [item.request.target.nranks for item in used if item.request.kind in ("run", "recording")]
    share = prediction.compute_share
    if share is None and runs:
        largest = max(runs, key=lambda run: run.ranks)
        if largest.compute_s and largest.time_s > 0:
            share = max(largest.compute_s) / largest.time_s
    ratio = target.nranks / max(ranks) if ranks else None
    around = MEASURED if any(map(is_measured, evidence)) else surroundings_of(prediction, target)
    return Features(target.problem.name, share, ratio, prediction.fit_residual, around)


def surroundings_of(prediction: Prediction, target: Target) -> str:
    """Return the kind of surroundings of a prediction from simulated evidence."""
    if target.nranks != target.nodes:
        return CORES
    if prediction.unlike:
        return UNLIKE
    return FILE if target.platform.network is None else GRID


def is_measured(evidence: Evidence) -> bool:
    """Return whether a run or recording was made on a real machine."""
    if isinstance(evidence.answer, RunRecord):
        return evidence.answer.source == "measurement"
    return isinstance(evidence.answer, Recording) and not math.isnan(evidence.answer.held_node_s)
