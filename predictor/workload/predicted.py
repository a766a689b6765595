"""The predicted times of the jobs of a workload: their graphs, evaluated together on a known or measured network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from apps.spec.target import Target
from apps.together.run import Ran
from platforms.model.platform import Route
from platforms.read.routes import routes_between
from predictor.answers.answers import fit
from predictor.base import Cost, EvidenceRequest, Gatherer, OutOfRange, Predictor
from predictor.dpgraph.predictors import GraphModel
from predictor.workload.schedule import Placed, Workload, fixed_dates

if TYPE_CHECKING:
    from predictor.dpgraph.network import NetworkModel


class Predicted:
    """Evaluates attempts of a workload's jobs together; the model is fitted once for all schedules.

    Raises:
        OutOfRange: The predictor has no graphs.
    """

    def __init__(self, workload: Workload, predictor: Predictor, broker: Gatherer):
        self.workload = workload
        self.cost = Cost()
        if not workload.programs:
            return
        hosts = [host for cluster in workload.clusters for host in cluster]
        targets = []
        for job in workload.programs:
            targets.append(job.target(workload.platform, hosts[: job.nodes]))
        job = workload.programs[0]
        for at in range(0, len(hosts), job.nodes):  # the network is needed between all hosts
            window = [*hosts[at:], *hosts][: job.nodes]
            targets.append(job.target(workload.platform, window))
        model, evidence = fit(predictor, list(dict.fromkeys(targets)), broker)
        if not isinstance(model, GraphModel):
            problem = "it has no graphs, which several jobs on shared links need"
            raise OutOfRange(f"predictor {predictor.name}", problem, "Use dpgraph or dpgraph:known")
        self.model = model
        self.cost = sum((one.cost for one in evidence), Cost())
        self._measured: NetworkModel | None = None
        self._ring_s: Sequence[Sequence[float]] = ()  # times of the messages between clusters; (): not measured
        clusters = workload.clusters
        # Imported here because it is slow to import.
        from predictor.workload.backbone import LEAST_CLUSTERS, ring_plan

        if model.measures(targets[0]) and len(clusters) >= LEAST_CLUSTERS:
            plan = ring_plan(workload.platform, clusters)
            ring = broker.gather([EvidenceRequest("exchange", targets[0], plan=plan)])[0]
            self._ring_s = ring.measurement.times_s
            self.cost += ring.cost

    def ran(self, placed: Sequence[Placed], *, events: bool = True) -> dict[str, Ran]:
        """Return the dates of all attempts that are not stopped, by name."""
        # Imported here because it is slow to import.
        from predictor.dpgraph.program import LEAST_FOR_LOOP
        from predictor.workload.joined import Part, together

        jobs = self.workload.by_name()
        parts, pairs, target = [], set(), None
        for one in placed:
            job = jobs[one.job]
            if job.problem is None:
                continue
            target = job.target(self.workload.platform, one.hosts)
            sections = self.model.sections(target)
            pairs.update(sections.host_pairs(target.placement))
            iterations = target.iterations if sections.iterations else 0
            if one.stop_s is not None:
                iterations = self._iterations_until(one, iterations)
                if iterations < LEAST_FOR_LOOP:
                    continue
            parts.append(Part(one.name, sections, iterations, target.placement, one.start_s))
        ran = fixed_dates(self.workload, placed)
        if target is not None and parts:
            routes = list(routes_between(self.workload.platform, sorted(pairs)))
            network = self._network(target, routes)
            by_pair: Mapping[tuple[str, str], Route] = {(route.source, route.destination): route for route in routes}
            changes = self.workload.events if events else ()
            ran |= together(parts, network, self.workload.platform, events=changes, routes=by_pair)
        stopped = {one.name for one in placed if one.stop_s is not None}
        return {name: dates for name, dates in ran.items() if name not in stopped}

    def _network(self, target: Target, routes: list[Route]) -> NetworkModel:
        network = self.model.network(target, routes=lambda _: routes)
        if not self._ring_s:
            return network
        # Imported here because it is slow to import.
        from predictor.workload.backbone import with_backbone

        if self._measured is None:
            self._measured = with_backbone(network, self.workload.clusters, self._ring_s)
        return self._measured

    def _iterations_until(self, one: Placed, iterations: int) -> int:
        """Return how many iterations a killed attempt has made, by its time on the quiet platform."""
        assert one.stop_s is not None
        return int(min(1.0, (one.stop_s - one.start_s) / self.alone(one).time_s) * iterations)

    def ends_s(self, placed: Sequence[Placed]) -> dict[str, float]:
        """Return the ends of attempts, for the schedule."""
        return {name: ran.end_s for name, ran in self.ran(placed).items()}

    def alone(self, one: Placed) -> Ran:
        """Return the dates of an attempt that has the quiet platform to itself from date 0 on."""
        return self.ran([replace(one, start_s=0.0, stop_s=None)], events=False)[one.name]
