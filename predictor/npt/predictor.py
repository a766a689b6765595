"""P-T and NP-T models as predictors: the time at a larger size, from runs of smaller sizes on each cluster alone.

Each cluster that the target uses is measured with the target's M_i ranks per node on several numbers of nodes, and
T = max_i T_i(N, P)|M_i (Ichikawa, Takahashi, Kawai, section 4).  Where all ranks are on one node, P = M_i, an N-T model
of that node is used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from apps.programs.problem import Problem
from apps.spec.target import Target
from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.search import time_flags
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import in_range, requests_in_range
from predictor.npt.fitting import fit_models
from predictor.npt.homogeneous import HomogeneousRun, one_pe, several_pes, shares
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.smaller import comparable_time_s, program_equations, size_of


@dataclass(frozen=True)
class Part:
    """Subject of a model: a problem on one cluster, with a number of ranks on each of its nodes."""

    problem: Problem
    platform_hash: str
    cluster: int  # counted from 0
    processes: int  # M_i
    one_pe: bool  # all ranks are on one node


@dataclass(frozen=True)
class FittedPart:
    """T_i of a part as a function of P, with the evidence of its fit."""

    time_s: Callable[[int], float]
    largest_N: int  # largest measured N
    most_ranks: int  # largest measured P
    evidence: tuple[Evidence, ...]


def parts(target: Target) -> list[Part]:
    """Return the part of each cluster that the target uses.

    Raises:
        OutOfRange: The placement is not a configuration.
    """
    alone = target.nodes == 1
    return [
        Part(target.problem, target.platform.content_hash, i, processes, alone)
        for i, (_, processes) in shares(target).items()
    ]


@dataclass(eq=False)
class NptPredictorModel:
    """The measured runs, and the models fitted so far."""

    predictor: NptPredictor
    answers: Mapping[EvidenceRequest, Evidence]
    _fitted: dict[Part, FittedPart] = field(default_factory=dict)

    def predict(self, target: Target) -> Prediction:
        """Predict by the models of all clusters that the target uses.

        Raises:
            OutOfRange: A part has no model; see ``NptPredictor.runs``.
        """
        fitted = {part.cluster: self._part(target, part) for part in parts(target)}
        times_s = {i: part.time_s(target.nranks) for i, part in fitted.items()}
        time_s = max(times_s.values())
        evidence = [run for part in fitted.values() for run in part.evidence]
        names = [cluster.name for cluster in target.platform.clusters]
        return Prediction(
            time_s=time_s,
            parts={f"T_{names[i]}_s": part_s for i, part_s in times_s.items()},
            flags=(*time_flags(time_s), *_flags(target, {names[i]: part for i, part in fitted.items()})),
            evidence=tuple(run.id for run in evidence),
            cost=sum((run.cost for run in evidence), Cost()),
        )

    def _part(self, target: Target, part: Part) -> FittedPart:
        if part not in self._fitted:
            runs = self.predictor.runs(target, part)
            evidence = [self.answers[run.request] for run in runs]
            self._fitted[part] = self.predictor.fit_part(target, part, runs, evidence)
        return self._fitted[part]


@dataclass(frozen=True)
class NptPredictor:
    """P-T or NP-T models as a predictor."""

    name: str
    form: str = "npt"  # or "npt:pt", "npt:pt-printed"
    method: str = "nnls"  # or "ls"

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range."""
        example = {part: target for target, target_parts in in_range(parts, targets) for part in target_parts}
        return requests_in_range(lambda part: [run.request for run in self.runs(example[part], part)], example)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return no requests: the runs are enough."""
        return []

    def fit(self, evidence: Sequence[Evidence]) -> NptPredictorModel:
        """Return a model that holds the runs."""
        return NptPredictorModel(self, {run.request: run for run in evidence})

    def runs(self, target: Target, part: Part) -> list[HomogeneousRun]:
        """Return the runs to measure for a part.

        Raises:
            OutOfRange: The program has no equations, or too few smaller sizes or nodes for them.
        """
        if part.one_pe:
            return one_pe(target, part.cluster, part.processes)
        return several_pes(target, part.cluster, part.processes, form=self.form)

    def fit_part(
        self, target: Target, part: Part, runs: Sequence[HomogeneousRun], evidence: Sequence[Evidence]
    ) -> FittedPart:
        """Fit the model of a part.

        Raises:
            OutOfRange: The times do not suffice for a model.
        """
        N, form = size_of(target.problem), "npt:nt" if part.one_pe else self.form
        measurements = Measurements.of(
            Measurement(run.configuration, run.N, comparable_time_s(piece, target))
            for run, piece in zip(runs, evidence, strict=True)
        )
        try:
            models = fit_models(measurements, program_equations(target.problem), form=form, method=self.method)
        except UserError as err:
            raise OutOfRange(err.where, err.problem, "Use another predictor") from None

        curves = models.curves  # None: an N-T model of one PE

        def time_s(ranks: int) -> float:
            if curves is None:
                return models.predict(Configuration(((1, part.processes),)), N)[0]
            return float(curves.times_s(N, np.array([ranks]))[0, 0])

        most_ranks = max(run.pes * run.processes for run in runs)
        return FittedPart(time_s, max(run.N for run in runs), most_ranks, tuple(evidence))


def _flags(target: Target, fitted: Mapping[str, FittedPart]) -> Iterator[str]:
    """Yield reasons to distrust a prediction, besides its value."""
    N, largest = size_of(target.problem), min(part.largest_N for part in fitted.values())
    yield f"N = {N} is {N / largest:.3g} times the largest measured one"
    beyond = {name: part for name, part in fitted.items() if target.nranks > part.most_ranks}
    if beyond:
        name, narrowest = min(beyond.items(), key=lambda item: item[1].most_ranks)
        yield f"P = {target.nranks} is beyond what was measured, {narrowest.most_ranks} on cluster {name}"
    hosts = [host for host, _ in groupby(target.placement)]
    clusters = [name for name, _ in groupby(hosts, key=lambda host: target.platform.cluster_of(host).name)]
    if len(set(hosts)) < len(hosts) or len(set(clusters)) < len(clusters):
        yield "the ranks are not in the order of clusters and nodes, which is what was measured"


NPT = NptPredictor("npt")
NPT_LS = NptPredictor("npt:ls", method="ls")
PT = NptPredictor("npt:pt", form="npt:pt")
PT_PRINTED = NptPredictor("npt:pt-printed", form="npt:pt-printed")
