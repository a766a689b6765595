"""The predictor ``contention`` for programs that are recorded: the graph of a recording takes the place of a structure.

Its operations are those of the recording, scaled to the platform's speeds.  Each measured run gives the factor by which
all computations of the graph must be stretched to take the measured time on the platform's network; a target's are
stretched as in the runs with as many busy cores per node (predictor/contention/core_times.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from apps.programs.problem import Problem
from apps.recording.events import Elapse
from apps.spec.target import Target
from platforms.read.routes import routes_between
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.contention.core_times import CoreTimes, Observed
from predictor.contention.predictor import NAME, core_time, prediction, ranks_beside, relative_times
from predictor.contention.structure import stretched
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.known import known_network
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.predictors import iterations_to_record
from predictor.dpgraph.program import Sections


@dataclass(frozen=True)
class RecordedModel:
    """The factors of the measured runs, and the recordings by problem and number of ranks."""

    times: CoreTimes
    graphs: Mapping[tuple[Problem, int], Sections]
    evidence: tuple[str, ...]
    cost: Cost

    def predict(self, target: Target) -> Prediction:
        """Return the time of the graph, whose computations are stretched as in the measured runs.

        Raises:
            OutOfRange: The measured runs do not give the factor.
        """
        core, relative = core_time(self.times, target, max(ranks_beside(target))), relative_times(self.times, target)
        graph = self.graphs[target.problem, target.nranks]
        made = prediction(
            core, lambda factors: graph_times_s(graph, target, factors, relative), busiest_s(graph, target)
        )
        return replace(made, evidence=self.evidence, cost=self.cost)


@dataclass(frozen=True)
class RecordedContention(AsksOnce):
    """The predictor, which asks for the measured runs that are not to be predicted, and for recordings."""

    runs: tuple[Target, ...]
    name: str = field(default=NAME)

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for the measured runs, and for a recording of each problem on each number of ranks."""
        runs = [run for run in self.runs if run not in targets]
        recorded = {(target.problem, target.nranks): target for target in (*targets, *runs)}
        return [
            *(EvidenceRequest("run", run) for run in runs),
            *(EvidenceRequest("recording", of, iterations=iterations_to_record(of)) for of in recorded.values()),
        ]

    def fit(self, evidence: Sequence[Evidence]) -> RecordedModel:
        """Return the model: the factor of each measured run, by bisection on its graph."""
        graphs = {
            (item.request.target.problem, item.request.target.nranks): Sections(item.recording)
            for item in evidence
            if item.request.kind == "recording"
        }
        observed = []
        for item in evidence:
            if item.request.kind == "run":
                run = item.request.target
                factor, fits = _factor(graphs[run.problem, run.nranks], run, item.record.time_s)
                observed.append(Observed(run.problem.name, run.problem.preset, max(ranks_beside(run)), factor, fits))
        cost = sum((item.cost for item in evidence), Cost())
        return RecordedModel(CoreTimes(tuple(observed)), graphs, tuple(item.id for item in evidence), cost)


def graph_times_s(
    graph: Sections, target: Target, factors: Sequence[float], relative: Sequence[float] | None = None
) -> list[float]:
    """Return the time of a graph on the target, s, with all computations stretched by each of these factors.

    Those of each rank are stretched by ``relative`` besides.
    """
    network, cores = _network(graph, target), [target.platform.host(host).cores for host in target.placement]
    s_per_flop = np.array([1 / target.platform.host(host).speed_flops for host in target.placement])
    s_per_flop *= 1.0 if relative is None else np.array(relative)
    return [
        estimate(graph, target.iterations, network, target.placement, factor * s_per_flop, cores).time_s
        for factor in factors
    ]


def busiest_s(graph: Sections, target: Target) -> float:
    """Return the time of the rank that computes longest, s, at the platform's speeds."""
    speeds = np.array([target.platform.host(host).speed_flops for host in target.placement])
    each_s = graph.flops(target.iterations) / speeds + graph.elapsed_s(target.iterations, Elapse.ON_CORE)
    return float(each_s.max())


def _factor(graph: Sections, run: Target, time_s: float) -> tuple[float, bool]:
    alone_s = busiest_s(graph, run)
    if not alone_s > 0:
        problem = "it computes nothing in its recording, so its speed cannot be derived from a measured time"
        raise OutOfRange(f"{NAME}, {run}", problem, "Give --compute measured")
    return stretched(lambda factors: graph_times_s(graph, run, factors), time_s / alone_s, time_s)


@lru_cache(maxsize=64)
def _network(graph: Sections, target: Target) -> NetworkModel:
    routes = routes_between(target.platform, sorted(graph.host_pairs(target.placement)))
    return known_network(routes, dict(target.platform.options))
