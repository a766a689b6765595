"""P-T and NP-T models as predictors: the time at a larger size, from runs of smaller ones on each cluster alone.

Each cluster that the target uses is measured with the target's M_i ranks on a node and several numbers of nodes, and
T = max_i T_i(N, P)|M_i (Ichikawa, Takahashi, Kawai, section 4).  Where all ranks are on one node, P = M_i, an N-T model
of that takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from apps.catalog import Problem
from apps.spec import Target
from platforms.errors import UserError
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.npt.configuration import Configuration
from predictor.npt.fitting import fit_models
from predictor.npt.homogeneous import Run, one_pe, several_pes, shares
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.search import time_flags
from predictor.npt.smaller import comparable_time_s, program_equations, size_of
from predictor.targets import in_range, requests_in_range


@dataclass(frozen=True)
class Part:
    """What a model is of: a problem on one cluster, with so many ranks on each of its nodes."""

    problem: Problem
    platform_hash: str
    cluster: int  # from 0
    processes: int  # M_i
    one_pe: bool  # all ranks on one node


@dataclass(frozen=True)
class FittedPart:
    """T_i of a part as a function of P, and what it rests on."""

    time_s: Callable[[int], float]
    largest_N: int  # that was measured
    most_ranks: int  # largest P that was measured
    evidence: tuple[Evidence, ...]


def parts(target: Target) -> list[Part]:
    """One for each cluster that the target uses.  Raises OutOfRange for a placement that is no configuration."""
    alone = target.nodes == 1
    return [
        Part(target.problem, target.platform.content_hash, i, processes, alone)
        for i, (_, processes) in shares(target).items()
    ]


@dataclass(eq=False)
class NptPredictorModel:
    """Answers to all requests; what is made of them is kept."""

    predictor: NptPredictor
    answers: Mapping[EvidenceRequest, Evidence]
    _fitted: dict[Part, FittedPart] = field(default_factory=dict)

    def predict(self, target: Target) -> Prediction:
        """Raises OutOfRange where there is no model: see ``NptPredictor.runs``."""
        fitted = {part.cluster: self._part(target, part) for part in parts(target)}
        times_s = {i: one.time_s(target.nranks) for i, one in fitted.items()}
        time_s = max(times_s.values())
        evidence = [one for part in fitted.values() for one in part.evidence]
        names = [cluster.name for cluster in target.platform.clusters]
        return Prediction(
            time_s=time_s,
            parts={f"T_{names[i]}_s": part_s for i, part_s in times_s.items()},
            flags=(*time_flags(time_s), *_flags(target, {names[i]: one for i, one in fitted.items()})),
            evidence=tuple(one.id for one in evidence),
            cost=sum((one.cost for one in evidence), Cost()),
        )

    def _part(self, target: Target, part: Part) -> FittedPart:
        if part not in self._fitted:
            runs = self.predictor.runs(target, part)
            evidence = [self.answers[run.request] for run in runs]
            self._fitted[part] = self.predictor.fit_part(target, part, runs, evidence)
        return self._fitted[part]


@dataclass(frozen=True)
class NptPredictor:
    """The predictor: a form of model and how it is fitted."""

    name: str
    form: str = "npt"  # or "pt"
    method: str = "nnls"  # or "ls"

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """The runs for all targets that are in range; for the others none."""
        example = {part: target for target, found in in_range(parts, targets) for part in found}
        return requests_in_range(lambda part: [run.request for run in self.runs(example[part], part)], example)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> NptPredictorModel:
        return NptPredictorModel(self, {one.request: one for one in evidence})

    def runs(self, target: Target, part: Part) -> list[Run]:
        """What is measured for a part.

        Raises OutOfRange for a program without equations, and where smaller sizes or nodes are too few for them.
        """
        if part.one_pe:
            return one_pe(target, part.cluster, part.processes)
        return several_pes(target, part.cluster, part.processes, form=self.form)

    def fit_part(self, target: Target, part: Part, runs: Sequence[Run], evidence: Sequence[Evidence]) -> FittedPart:
        """The model of a part.  Raises OutOfRange where the times make none."""
        N, form = size_of(target.problem), "nt" if part.one_pe else self.form
        measurements = Measurements.of(
            Measurement(run.configuration, run.N, comparable_time_s(one, target))
            for run, one in zip(runs, evidence, strict=True)
        )
        try:
            models = fit_models(measurements, program_equations(target.problem), form=form, method=self.method)
        except UserError as err:
            raise OutOfRange(err.where, err.problem, "Use another predictor") from None

        curves = models.curves  # None: of one PE

        def time_s(ranks: int) -> float:
            if curves is None:
                return models.predict(Configuration(((1, part.processes),)), N)[0]
            return float(curves.times_s(N, np.array([ranks]))[0, 0])

        most_ranks = max(run.pes * run.processes for run in runs)
        return FittedPart(time_s, max(run.N for run in runs), most_ranks, tuple(evidence))


def _flags(target: Target, fitted: Mapping[str, FittedPart]) -> Iterator[str]:
    """Reasons to distrust a prediction, besides its value."""
    N, largest = size_of(target.problem), min(one.largest_N for one in fitted.values())
    yield f"N = {N} is {N / largest:.3g} times the largest measured one"
    beyond = {name: one for name, one in fitted.items() if target.nranks > one.most_ranks}
    if beyond:
        name, one = min(beyond.items(), key=lambda item: item[1].most_ranks)
        yield f"P = {target.nranks} is beyond what was measured, {one.most_ranks} on cluster {name}"
    hosts = [host for host, _ in groupby(target.placement)]
    clusters = [name for name, _ in groupby(hosts, key=lambda host: target.platform.cluster_of(host).name)]
    if len(set(hosts)) < len(hosts) or len(set(clusters)) < len(clusters):
        yield "the ranks are not in the order of clusters and nodes, which is what was measured"


NPT = NptPredictor("npt")
NPT_LS = NptPredictor("npt-ls", method="ls")
PT = NptPredictor("pt", form="pt")
