"""The graph of a program on a platform: its times, its critical path, and what would make it faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apps.options.settings import check_timed
from apps.probes.network.measure import NetworkPlan
from apps.probes.plan import Measurement
from apps.programs.problem import Problem
from apps.recording.events import Recording
from apps.runs.plan import Plan
from apps.runs.runner import Runner
from apps.spec.engine_options import parse_options
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.platform import Route
from platforms.options import placement_from_request, platform_from_request
from platforms.read.routes import routes_between
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.known import declared_cautions
from predictor.dpgraph.measured import measured_network
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.predictors import GraphModel, iterations_to_record
from predictor.dpgraph.program import LEAST_FOR_LOOP, Sections
from predictor.dpgraph.unexplained import unexplained_anywhere
from predictor.graph.faster import DeclaredNetwork, MeasuredNetwork, Network
from predictor.graph.graph import DPGraph, owned_graph
from predictor.graph.li_times import LiTimes, li_times, plans
from predictor.graph.places import places_of
from predictor.graph.request import GraphRequest
from predictor.graph.timed import TimedGraph, timed
from predictor.network.survey import next_plan
from predictor.network.unmeasured import unmeasured

if TYPE_CHECKING:
    from predictor.graph.balance import Balance
    from predictor.graph.what_if import Answers

MEASURED = "measured"  # of --times
_FURTHER = "the measured messages decide whether more are sent"


@dataclass(frozen=True)
class Analysis:
    """A program's graph on a platform."""

    target: Target
    timed: TimedGraph
    network: Network
    places: tuple[str | None, ...]  # of the recording's paths of calls
    iterations: int  # in the graph
    whole_s: float | None  # time of all iterations; None: too few were recorded
    answers: Answers | None
    balance: Balance | None
    cautions: tuple[str, ...]

    @property
    def what(self) -> str:
        """The kind of its times: communication times where no process computes."""
        computes = any(process.compute_s > 0 for process in self.timed.processes)
        return "time" if computes else "communication time"

    @property
    def graph(self) -> DPGraph:
        """The graph."""
        return self.timed.graph

    @property
    def critical_nodes(self) -> tuple[int, ...]:
        """The nodes of the critical path."""
        return self.timed.critical_nodes

    def element_times_s(self) -> dict[tuple[int, int], float]:
        """Return t_i of each element, s, by node and process."""
        return {at: element.time_s for at, element in self.timed.elements.items()}

    def node_times(self) -> dict[int, dict[str, float | bool]]:
        """Return the times of each node, as ``predictor.graph.graphml.write_graphml`` takes them."""
        times: dict[int, dict[str, float | bool]] = {}
        critical = set(self.critical_nodes)
        for (node, _), element in self.timed.elements.items():
            known = times.get(node, {})
            times[node] = {
                "begin_s": min(element.begin_s, known.get("begin_s", element.begin_s)),
                "end_s": max(element.end_s, known.get("end_s", element.end_s)),
                "time_s": max(element.time_s, known.get("time_s", element.time_s)),
                "late_s": max(element.late_s, known.get("late_s", element.late_s)),
                "slack_s": min(element.slack_s, known.get("slack_s", element.slack_s)),
                "critical": node in critical,
            }
        return times


@dataclass(frozen=True)
class PaperTimes:
    """A program's graph with the times of the Li paper."""

    times: LiTimes
    cautions: tuple[str, ...]

    @property
    def target(self) -> Target:
        """The target."""
        return self.times.target

    @property
    def graph(self) -> DPGraph:
        """The graph."""
        return self.times.graph

    @property
    def critical_nodes(self) -> tuple[int, ...]:
        """The nodes of the longest chain."""
        return self.times.path.nodes

    def element_times_s(self) -> dict[tuple[int, int], float]:
        """Return t_i of each element, s, by node and process."""
        nodes = self.graph.nodes
        return {(at, rank): time_s for at, time_s in enumerate(self.times.node_s) for rank in nodes[at].ranks}

    def node_times(self) -> dict[int, dict[str, float | bool]]:
        """Return the time of each node, as ``predictor.graph.graphml.write_graphml`` takes it."""
        critical = set(self.critical_nodes)
        return {at: {"time_s": time_s, "critical": at in critical} for at, time_s in enumerate(self.times.node_s)}


def target_from_request(request: GraphRequest, problem: Problem, nranks: int | None) -> Target:
    """Return the target that the options of platform and placement describe.

    Raises:
        UserError: The options contradict each other, or do not fit the platform.
    """
    platform = platform_from_request(request)
    placement = placement_from_request(request, platform, nranks)
    if nranks is None and request.hostfile is None and not problem.allows(len(placement)):
        fitting = next((number for number in range(len(placement), 0, -1) if problem.allows(number)), None)
        placement = placement if fitting is None else placement_from_request(request, platform, fitting)
    return Target(problem, platform, placement)


def settings_of(request: GraphRequest) -> Settings:
    """Return the settings of the recording: its share of the hosts' speed, and SimGrid's options.

    Raises:
        UserError: The computation of a kernel is to be timed, or SimGrid's options are no such options.
    """
    check_timed(request)
    return Settings(
        compute=request.compute,
        efficiency=request.efficiency,
        options=parse_options(request.cfg),
        host_speed_flops=None if request.host_speed is None else request.host_speed * 1e9,
    )


def iterations_of(request: GraphRequest, target: Target) -> int:
    """Return the number of iterations to record.

    Raises:
        UserError: The target has fewer.
    """
    if request.iterations is None:
        return iterations_to_record(target)
    full = target.iterations
    if not 1 <= request.iterations <= full:
        where, what = (
            f"--iterations {request.iterations}",
            f"not between 1 and the {full} iterations of {target.problem}",
        )
        raise UserError(where, what, "Give a number in that range")
    return int(request.iterations)


def plan_on_platform(request: GraphRequest, target: Target) -> Plan:
    """Return what would be recorded and measured for the times that the options choose."""
    recording = settings_of(request).spec(target), iterations_of(request, target)
    if request.times == "li":
        return Plan(recordings=(recording,), experiments=tuple(plans(target)))
    if request.times == MEASURED:
        first = next_plan(target.platform, target.placement)
        return Plan(recordings=(recording,), experiments=() if first is None else (first,), remark=_FURTHER)
    return Plan(recordings=(recording,))


def recorded(request: GraphRequest, target: Target, runner: Runner) -> Recording:
    """Return the recording of a target's program."""
    return runner.recording(settings_of(request).spec(target), iterations_of(request, target))


def iterations_in(recording: Recording) -> int:
    """Return the number of iterations that were recorded; 0: they are not marked."""
    return Sections(recording).iterations


def paper_times(request: GraphRequest, target: Target, recording: Recording, runner: Runner) -> PaperTimes:
    """Return the graph of a recording with the Li paper's times on the target.

    Raises:
        OutOfRange: As ``predictor.graph.li_times.li_times``.
        UserError: As ``graph_of``.
    """
    places = places_of(target.problem, recording.paths)

    def measured(plan: NetworkPlan) -> Measurement:
        return runner.measure(replace(plan, options=settings_of(request).options))

    return PaperTimes(li_times(target, recording, places, measured), _said_of(recording, places))


def analysis(request: GraphRequest, target: Target, recording: Recording, runner: Runner) -> Analysis:
    """Return the graph of a recording with its times on the target, by the network that the options choose.

    Raises:
        OutOfRange: The platform has links or options that the fluid model does not represent, or measured times of
            messages do not lie on lines.
        UserError: The program cannot end.
    """
    network: Network
    if request.times == MEASURED:
        network = _measured(target, lambda plan: runner.measure(replace(plan, options=settings_of(request).options)))
        sharing = unexplained_anywhere(network.model)
        said = (*network.model.cautions, *sharing, *_unmeasured(target, recording, network.model))
    else:
        network, said = declared_network(target, recording, dict(settings_of(request).options))
    expand = request.collectives == "messages"
    return analysed(
        target, recording, network, expand=expand, factor=request.what_if, balanced=request.balance, cautions=said
    )


def declared_network(
    target: Target, recording: Recording, options: Mapping[str, str]
) -> tuple[DeclaredNetwork, tuple[str, ...]]:
    """Return the network that a target's platform declares, with these SimGrid options too, and cautions about it."""
    both = {**dict(target.platform.options), **options}
    return DeclaredNetwork(tuple(_routes(target, Sections(recording))), both), tuple(declared_cautions(both))


def analysed(
    target: Target,
    recording: Recording,
    network: Network,
    *,
    expand: bool = False,
    factor: float | None = None,
    balanced: bool = False,
    cautions: tuple[str, ...] = (),
) -> Analysis:
    """Return the graph of a recording with its times on the target.

    Args:
        target: The target.
        recording: The recording, of as many ranks as the target has.
        network: The network between the target's hosts.
        expand: The graph shows the messages of collectives.
        factor: Evaluate each part as this many times as fast; None: do not.
        balanced: Answer what other divisions of the work among the processes would save.
        cautions: Those about the network.

    Raises:
        OutOfRange: The platform has links or options that the fluid model does not represent.
        UserError: The program cannot end.
    """
    places = places_of(target.problem, recording.paths)
    owned = owned_graph(recording, expand=expand, places=places)
    sections = Sections(recording)
    timed_graph = timed(owned, target, network.model)
    hosts = [target.platform.host(host) for host in target.placement]
    whole_s = None
    if sections.iterations in (0, target.iterations) or sections.iterations >= LEAST_FOR_LOOP:
        whole_s = estimate(
            sections, target.iterations, network.model, target.placement, [1 / host.speed_flops for host in hosts],
            [host.cores for host in hosts],
        ).time_s  # fmt: skip
    answers, divisions = None, None
    if factor is not None or balanced:
        # Imported here for a quick start: they are needed only by these options.
        from predictor.graph.balance import balance
        from predictor.graph.what_if import Setting, what_if

        whole = sections if whole_s is not None and sections.iterations != target.iterations else None
        setting = Setting(owned.program, target, network, places, whole)
        answers = None if factor is None else what_if(setting, factor)
        divisions = balance(setting, timed_graph) if balanced else None
    return Analysis(
        target,
        timed_graph,
        network,
        places,
        sections.iterations,
        whole_s,
        answers,
        divisions,
        (*_said_of(recording, places), *cautions),
    )


def analysis_of_model(model: GraphModel, target: Target) -> Analysis:
    """Return the graph behind a graph predictor's time, with its times on the target.

    Raises:
        OutOfRange: As the model's ``predict``.
        UserError: The program cannot end.
    """
    recording, network = model.programs[target.problem, target.nranks].recording, model.network(target)
    if model.measures(target):
        return analysed(target, recording, MeasuredNetwork(network, cluster_names(target)))
    options = model.surroundings[target.platform.content_hash].options or {}
    return analysed(target, recording, DeclaredNetwork(tuple(_routes(target, Sections(recording))), options))


def cluster_names(target: Target) -> dict[str, str]:
    """Return the cluster of each host of a target."""
    return {host: target.platform.cluster_of(host).name for host in target.placement}


def _measured(target: Target, measure: Callable[[NetworkPlan], Measurement]) -> MeasuredNetwork:
    """Return the network that messages between the target's nodes show."""
    results: tuple[Measurement, ...] = ()
    while (plan := next_plan(target.platform, target.placement, results)) is not None:
        results += (measure(plan),)
    hosts = sorted(set(target.placement))
    return MeasuredNetwork(measured_network(target.platform, hosts, results), cluster_names(target))


def _unmeasured(target: Target, recording: Recording, network: NetworkModel) -> tuple[str, ...]:
    return unmeasured(target.platform, target.placement, Sections(recording).partners, network.measured_as)


def _routes(target: Target, sections: Sections) -> list[Route]:
    return routes_between(target.platform, sorted(sections.host_pairs(target.placement)))


def _said_of(recording: Recording, places: tuple[str | None, ...]) -> tuple[str, ...]:
    if recording.paths and any(place is not None for place in places):
        return ()
    return ("the places of calls in the program are not known: a trace or a program in Python does not have them",)
