"""The graph with the times of the Li paper, measured between the target's nodes.

T_exec (section 3.2) is the largest sum of a process's own times.  The time of a message is that of its process in
section 4.2: for the sender the line of the sender in the message's mode, for the receiver that of the receiver, both
with the network in them; so the predictors count too.  The longest chain of the graph has Figure 4's components: a copy
at the sender, the way through the network, and a copy at the receiver, so that processes wait; links are not shared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apps.probes.network.measure import NetworkPlan
from apps.probes.plan import Measurement
from apps.recording.events import Kind, Mode, Recording
from apps.spec.target import Target
from predictor.base import OutOfRange
from predictor.graph.graph import (
    CriticalPath,
    DPGraph,
    Element,
    Node,
    Relation,
    component_times,
    critical_path,
    graph_of,
    process_times_s,
)
from predictor.graph.li_predictor import MODES, Pair, message_plan, mode_lines, mode_plan, send_models
from predictor.graph.timed import PathPart, name_of
from predictor.sends.components import MessageComponents, execution_time_s, identify_components
from predictor.sends.send_model import SendModel, Side

_SIDES = {Element.SEND: Side.SENDER, Element.RECEIVE: Side.RECEIVER}


@dataclass(frozen=True)
class LiTimes:
    """A graph with the times of its elements, s."""

    target: Target
    graph: DPGraph  # with the messages of its collectives
    node_s: tuple[float, ...]  # t_i of each node
    process_s: tuple[float, ...]  # sum of each process's t_i
    path: CriticalPath
    own_s: tuple[float, ...]  # time of each node in the chain: computation, or the copy of a message
    message_s: Mapping[tuple[int, int], float]  # time in flight of each message, by its two nodes
    components: Mapping[str, MessageComponents]  # by path

    @property
    def t_exec_s(self) -> float:
        """Execution time of section 3.2, s. It is the largest sum over the processes, without waiting."""
        return execution_time_s([[time_s] for time_s in self.process_s])

    def path_parts(self) -> list[PathPart]:
        """Return the critical path by kind and place of its elements, the longest part first.

        A message in flight belongs to its receive.
        """
        time_s: defaultdict[tuple[str, str | None], float] = defaultdict(float)
        count: Counter[tuple[str, str | None]] = Counter()
        before = -1
        for at in self.path.nodes:
            spent_s = self.own_s[at] + self.message_s.get((before, at), 0.0)
            key = name_of(self.graph.nodes[at]), self.graph.nodes[at].place
            if spent_s > 0:
                time_s[key] += spent_s
                count[key] += 1
            before = at
        return [PathPart(*key, count[key], one_s) for key, one_s in sorted(time_s.items(), key=lambda part: -part[1])]


def plans(target: Target, recording: Recording | None = None) -> list[NetworkPlan]:
    """Return the messages to measure: in standard and buffered mode, and in the others that the recording uses.

    Args:
        target: The target.
        recording: The recording; None: it is not there yet.
    """
    used = [mode for mode in MODES if mode is Mode.BUFFERED or (recording is not None and _has(recording, mode))]
    return [plan for plan in (message_plan(target), mode_plan(target, used)) if plan is not None]


def li_times(
    target: Target,
    recording: Recording,
    places: tuple[str | None, ...],
    measure: Callable[[NetworkPlan], Measurement],
) -> LiTimes:
    """Return the graph of a recording with Figure 4's times on the target.

    Args:
        target: The target.
        recording: The recording.
        places: As for ``predictor.graph.graph.graph_of``.
        measure: Carries out a plan of messages.

    Raises:
        OutOfRange: Several processes share a node, which the paper excludes, or the program uses one-sided calls.
    """
    if target.nodes < target.nranks:
        where = f"--times li, {target.nranks} ranks on {target.nodes} nodes"
        raise OutOfRange(where, "the model assumes one process per node", "Use one rank per node")
    graph = graph_of(recording, expand=True, places=places)
    asked = plans(target, recording)
    models = dict[Pair, SendModel]()
    if asked:
        models = send_models(target, measure(asked[0]))
        for pair, lines in mode_lines(target, asked[1], measure(asked[1])).items():
            models[pair] = SendModel({**models[pair].lines, **lines})
    clusters = [target.platform.cluster_of(host).name for host in target.placement]
    s_per_flop = [1 / target.platform.host(host).speed_flops for host in target.placement]

    def pair_of(source: int, destination: int) -> Pair:
        return _measured_pair(models, clusters[source], clusters[destination])

    def line_s(node: Node) -> float:
        if node.element not in _SIDES or node.peer is None or node.mode is None:
            return node.flops * s_per_flop[node.ranks[0]]
        line = models[pair_of(node.ranks[0], node.peer)].line(node.mode, _SIDES[node.element])
        return max(0.0, line.time_s(node.size_bytes))  # lines of long messages may be below zero for short ones

    own_s, message_time_s = component_times(_components(models, pair_of), s_per_flop, graph.nodes)
    messages = [edge for edge in graph.edges if edge.relation is Relation.MESSAGE]
    return LiTimes(
        target=target,
        graph=graph,
        node_s=tuple(map(line_s, graph.nodes)),
        process_s=tuple(process_times_s(graph, line_s)),
        path=critical_path(graph, own_s, message_time_s),
        own_s=tuple(max(0.0, own_s(node)) for node in graph.nodes),  # components may be -1e-25 s
        message_s={(edge.source, edge.target): message_time_s(edge) for edge in messages},
        components={_path_name(pair): identify_components(model) for pair, model in models.items()},
    )


def _components(
    models: Mapping[Pair, SendModel], pair_of: Callable[[int, int], Pair]
) -> Callable[[int, int, Mode], MessageComponents]:
    """Return Figure 4's components of a message from a process to another one in a send mode."""
    known: dict[tuple[Pair, Mode], MessageComponents] = {}

    def components(source: int, destination: int, mode: Mode) -> MessageComponents:
        # A buffered message is a copy and then a standard one.
        mode = Mode.STANDARD if mode is Mode.BUFFERED else mode
        pair = pair_of(source, destination)
        if (pair, mode) not in known:
            known[pair, mode] = identify_components(models[pair], mode)
        return known[pair, mode]

    return components


def _has(recording: Recording, mode: Mode) -> bool:
    return any(((events["kind"] == Kind.SEND) & (events["mode"] == mode)).any() for events in recording.events)


def _measured_pair(models: Mapping[Pair, SendModel], a: str, b: str) -> Pair:
    return next((pair for pair in ((a, b), (b, a)) if pair in models), next(iter(models)))


def _path_name(pair: Pair) -> str:
    return f"within {pair[0]}" if pair[0] == pair[1] else f"between {pair[0]} and {pair[1]}"
