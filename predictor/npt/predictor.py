"""P-T and NP-T models as predictors: the time at a larger size, from runs of smaller sizes on each cluster alone.

Each cluster that the target uses is measured with the target's M_i ranks per node on several numbers of nodes, and
T = max_i T_i(N, P)|M_i (Ichikawa, Takahashi, Kawai, section 4).  Where all ranks are on one node, P = M_i, an N-T model
of that node is used instead.

N-T models as a predictor: the time at a larger size, from runs of smaller sizes on the target's own hosts.

Ichikawa, Takahashi and Kawai measured their N-T models on every configuration (sections 4.1 and 5.1); here only the
target's is measured.  The model does not depend on P, so any placement is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from apps.programs.problem import Problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import configured
from platforms.model.platform import Platform
from predictor.allocation.configuration import Configuration
from predictor.allocation.search import time_flags
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import in_range, requests_in_range
from predictor.npt.fit import Fit, fit
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.smaller import Sized, comparable_time_s, program_equations, size_of, smaller
from predictor.npt.terms import Term, columns, size_part

# Limit of the numbers of PEs that are measured on a cluster, spread from 2 to all of its nodes.  NP-T equations have up
# to three functions of P, and every run is charged for.
MOST_NUMBERS_OF_PES = 6


@dataclass(frozen=True)
class HomogeneousRun:
    """A run on a single cluster."""

    N: int
    pes: int
    processes: int
    request: EvidenceRequest

    @property
    def configuration(self) -> Configuration:
        """The configuration, of this cluster only."""
        return Configuration(((self.pes, self.processes),))


def shares(target: Target) -> dict[int, tuple[int, int]]:
    """Return P_i and M_i of each cluster that the target uses, by the cluster's number from 0.

    Raises:
        OutOfRange: The nodes of a cluster have different numbers of ranks, which no configuration describes.
    """
    ranks: dict[str, int] = {}
    for host in target.placement:
        ranks[host] = ranks.get(host, 0) + 1
    by_cluster = {}
    for i, cluster in enumerate(target.platform.clusters):
        counts = [ranks[host.name] for host in cluster.hosts if host.name in ranks]
        if len(set(counts)) > 1:
            raise OutOfRange(
                str(target),
                f"{min(counts)} ranks on some nodes of {cluster.name} and {max(counts)} on others, which is no "
                "configuration (P_1, M_1, P_2, M_2, ...)",
                "Give all nodes of a cluster equally many ranks, or use another predictor",
            )
        if counts:
            by_cluster[i] = len(counts), counts[0]
    return by_cluster


def one_pe(target: Target, cluster: int, processes: int) -> list[HomogeneousRun]:
    """Return runs for an N-T model, with all ranks on one node of the cluster.

    Raises:
        OutOfRange: The program has too few smaller sizes for its equation.
    """
    where, form = _where(target, cluster, processes), program_equations(target.problem).nt
    runs = _runs(target, cluster, processes, [1])
    _check_sizes(target, where, runs)
    _check(columns(form, _N(runs), np.ones(len(runs))), form, where)
    return runs


def several_pes(target: Target, cluster: int, processes: int, *, form: str) -> list[HomogeneousRun]:
    """Return runs for a "npt" or "npt:pt..." model, on two and more nodes of a cluster with M_i ranks on each.

    Raises:
        OutOfRange: The cluster has too few nodes, or the program too few smaller sizes, for its equation.
    """
    where, equations = _where(target, cluster, processes), program_equations(target.problem)
    most = len(target.platform.clusters[cluster].hosts)
    if most < 2:
        raise OutOfRange(where, "one node, and so nothing to measure P > M_i on", "Use another predictor")
    # A P-T model needs an N-T model for every P.
    least_sizes = len(equations.nt) if form.startswith("npt:pt") else 1
    sized = smaller(target.problem)
    possible = [pes for pes in range(2, most + 1) if sum(size.fits(pes * processes) for size in sized) >= least_sizes]
    runs = _runs(target, cluster, processes, spread(possible))
    _check_sizes(target, where, runs)
    N, P = _N(runs), np.array([run.pes * run.processes for run in runs])
    if form.startswith("npt:pt"):
        for ranks in np.unique(P):
            _check(columns(equations.nt, N[ranks == P], np.ones(np.count_nonzero(ranks == P))), equations.nt, where)
        _check(columns(equations.pt, N, P, N), equations.pt, where)  # the reference time grows with N
    else:
        _check(columns(equations.npt, N, P), equations.npt, where)
    return runs


def spread(values: Sequence[int], most: int = MOST_NUMBERS_OF_PES) -> list[int]:
    """Return at most ``most`` of the values, with the first and the last, and closer together at the beginning."""
    if len(values) <= most:
        return list(values)
    places = np.unique(np.round(np.geomspace(1, len(values), most)).astype(int)) - 1
    # Rounding merges the first places; the places that this frees go to the next values from the front.
    free = [place for place in range(len(values)) if place not in places]
    return [values[place] for place in sorted([*places, *free[: most - len(places)]])]


def _runs(target: Target, cluster: int, processes: int, pes: Sequence[int]) -> list[HomogeneousRun]:
    return [
        HomogeneousRun(
            size.N, number, processes, EvidenceRequest("run", _on(size, target.platform, cluster, number, processes))
        )
        for size in smaller(target.problem)
        for number in pes
        if size.fits(number * processes)
    ]


def _N(runs: Sequence[HomogeneousRun]) -> np.ndarray:
    return np.array([run.N for run in runs], float)


def _check_sizes(target: Target, where: str, runs: Sequence[HomogeneousRun]) -> None:
    if not runs:
        sizes = ", ".join(str(size.N) for size in smaller(target.problem)) or "none"
        problem = f"too few sizes below N = {size_of(target.problem)} to measure: {sizes}"
        raise OutOfRange(where, problem, "Predict a larger problem, or use another predictor")


def _check(design: np.ndarray, form: tuple[Term, ...], where: str) -> None:
    """Raise OutOfRange where measurements cannot separate the terms, which depends on N and P only."""
    try:
        fit(design, np.ones(len(design)), [term.name for term in form], where=where)
    except UserError as err:
        remedy = "That takes more smaller sizes, or more nodes in the cluster: use another predictor"
        raise OutOfRange(err.where, err.problem, remedy) from None


def _on(size: Sized, platform: Platform, cluster: int, pes: int, processes: int) -> Target:
    configuration = [(pes, processes) if i == cluster else (0, 0) for i in range(len(platform.clusters))]
    return Target(size.problem, platform, configured(platform, configuration))


def _where(target: Target, cluster: int, processes: int) -> str:
    name = target.platform.clusters[cluster].name
    ranks = "a rank" if processes == 1 else f"{processes} ranks"
    return f"{target.problem} on {target.platform.name}, models of cluster {name} with {ranks} on a node"


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
class NptPredictor(AsksOnce):
    """P-T or NP-T models as a predictor."""

    name: str
    form: str = "npt"  # or "npt:pt", "npt:pt-printed"
    method: str = "nnls"  # or "ls"

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range."""
        example = {part: target for target, target_parts in in_range(parts, targets) for part in target_parts}
        return requests_in_range(lambda part: [run.request for run in self.runs(example[part], part)], example)

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
class NtPredictor(AsksOnce):
    """N-T models as a predictor."""

    name: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range."""
        return requests_in_range(lambda target: [_request(target, size) for size in _sized(target)], targets)

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
