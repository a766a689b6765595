"""A program's graph with times on a platform: those of its elements, its processes and clusters, and its critical path.

T_exec of the Li paper (section 3.2) is the largest sum of the times t_i of a process's elements.  Here t_i contains the
waiting, so that the sum is the end of the process, and T_exec that of the program.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from apps.recording.events import Recording
from apps.spec.target import Target
from predictor.dpgraph.instructions import COMPUTE, SLEEP
from predictor.dpgraph.network import NetworkModel
from predictor.graph.dates import Dates, dates_of
from predictor.graph.graph import DPGraph, Element, Node, OwnedGraph, owned_graph


@dataclass(frozen=True)
class ElementTime:
    """The times of one process in an element, s."""

    begin_s: float
    end_s: float
    time_s: float  # t_i: all time in the element, also that of a wait for the end of a send further on
    late_s: float  # part of it before the other process of the message has begun its part
    slack_s: float  # how much later all of the element may happen without delaying the end of the program


@dataclass(frozen=True)
class ProcessTime:
    """The parts of a process's time up to T_exec, s."""

    rank: int
    compute_s: float
    late_s: float  # waits for another process
    message_s: float  # waits for a message in flight
    ended_s: float  # between its own end and that of the program

    @property
    def idle_s(self) -> float:
        """Time without computation."""
        return self.late_s + self.message_s + self.ended_s


@dataclass(frozen=True)
class ClusterTime:
    """The parts of the time of a cluster's processes, as shares of their number times T_exec."""

    cluster: str
    processes: int
    compute_share: float
    late_share: float
    message_share: float
    ended_share: float
    critical_share: float  # of the critical path's computation and waiting
    least_slack_s: float  # of its computations
    mean_slack_s: float  # of its computations, weighted by their times

    @property
    def idle_share(self) -> float:
        """Share of the time without computation."""
        return self.late_share + self.message_share + self.ended_share


@dataclass(frozen=True)
class PathPart:
    """The parts of the critical path that belong to elements of one kind and place."""

    what: str  # "segment", or the name of a message's operation
    place: str | None
    count: int
    time_s: float


@dataclass(frozen=True)
class TimedGraph:
    """A graph with the times of its elements."""

    graph: DPGraph
    placement: tuple[str, ...]  # host of each process
    clusters: tuple[str, ...]  # cluster of each process
    dates: Dates
    owner: np.ndarray  # as OwnedGraph.owner

    @property
    def time_s(self) -> float:
        """T_exec, s."""
        return self.dates.time_s

    @cached_property
    def elements(self) -> dict[tuple[int, int], ElementTime]:
        """The times of each element by node and process; a node without time is not there."""
        dates, elements_found = self.dates, {}
        rank_of = self._rank_of
        which = np.flatnonzero(self.owner >= 0)
        key = self.owner[which] * len(self.placement) + rank_of[which]
        order = np.argsort(key, kind="stable")
        which, key = which[order], key[order]
        begins = np.flatnonzero(np.diff(key, prepend=-1))
        if not len(begins):
            return {}
        takes_s = (dates.end_s - dates.begin_s)[which]
        time_s, late_s = (np.add.reduceat(row, begins) for row in (takes_s, dates.late_s[which]))
        end_s = np.maximum.reduceat(dates.end_s[which], begins)
        # An element begins with the first of its instructions that takes time, or else with its last one.
        begin_s = np.minimum.reduceat(np.where(takes_s > 0, dates.begin_s[which], np.inf), begins)
        slack_s = np.minimum.reduceat(dates.slack_s[which], begins)
        for at, element in enumerate(key[begins].tolist()):
            begun_s = min(float(begin_s[at]), float(end_s[at]))
            elements_found[divmod(element, len(self.placement))] = ElementTime(
                begun_s, float(end_s[at]), float(time_s[at]), float(late_s[at]), float(slack_s[at])
            )
        return elements_found

    @cached_property
    def processes(self) -> tuple[ProcessTime, ...]:
        """The parts of each process's time."""
        dates, ranks = self.dates, len(self.placement)
        computing = np.isin(dates.program.code, (COMPUTE, SLEEP))
        takes_s = dates.end_s - dates.begin_s

        def sums(which: np.ndarray, what_s: np.ndarray) -> list[float]:
            added: list[float] = np.bincount(self._rank_of[which], what_s[which], ranks).tolist()
            return added

        compute_s, wait_s, late_s = sums(computing, takes_s), sums(~computing, takes_s), sums(~computing, dates.late_s)
        return tuple(
            ProcessTime(
                rank, compute_s[rank], late_s[rank], wait_s[rank] - late_s[rank],
                max(0.0, self.time_s - compute_s[rank] - wait_s[rank]),
            )
            for rank in range(ranks)
        )  # fmt: skip

    @cached_property
    def critical_nodes(self) -> tuple[int, ...]:
        """The nodes of the critical path, in its order."""
        path: list[int] = []
        for step in self.dates.critical:
            ends = [] if step.post is None else [int(self.owner[step.post])]
            path += [node for node in (*ends, int(self.owner[step.instruction])) if node >= 0]
        return tuple(dict.fromkeys(path))

    def cluster_times(self) -> list[ClusterTime]:
        """Return the parts of each cluster's time, in the order of the processes."""
        dates, whole_s = self.dates, max(self.time_s, 1e-300)
        path_s: dict[str, float] = dict.fromkeys(self.clusters, 0.0)
        for step in dates.critical:
            path_s[self.clusters[self._rank_of[step.instruction]]] += step.end_s - step.begin_s
        cluster_times_found = []
        computing = np.isin(dates.program.code, (COMPUTE, SLEEP))
        for cluster in dict.fromkeys(self.clusters):
            ranks = [rank for rank, name in enumerate(self.clusters) if name == cluster]
            processes = [self.processes[rank] for rank in ranks]
            which = np.flatnonzero(computing & np.isin(self._rank_of, ranks))
            slack_s, weight_s = dates.slack_s[which], (dates.end_s - dates.begin_s)[which]
            each_s = len(ranks) * whole_s
            cluster_times_found.append(
                ClusterTime(
                    cluster, len(ranks),
                    compute_share=sum(process.compute_s for process in processes) / each_s,
                    late_share=sum(process.late_s for process in processes) / each_s,
                    message_share=sum(process.message_s for process in processes) / each_s,
                    ended_share=sum(process.ended_s for process in processes) / each_s,
                    critical_share=path_s[cluster] / whole_s,
                    least_slack_s=float(slack_s.min()) if len(which) else 0.0,
                    mean_slack_s=float(np.average(slack_s, weights=weight_s)) if weight_s.sum() > 0 else 0.0,
                )
            )  # fmt: skip
        return cluster_times_found

    def path_parts(self) -> list[PathPart]:
        """Return the critical path by kind and place of its elements, the longest part first."""
        time_s: defaultdict[tuple[str, str | None], float] = defaultdict(float)
        count: Counter[tuple[str, str | None]] = Counter()
        for step in self.dates.critical:
            node = int(self.owner[step.instruction])
            key = ("other", None) if node < 0 else (name_of(self.graph.nodes[node]), self.graph.nodes[node].place)
            time_s[key] += step.end_s - step.begin_s
            count[key] += 1
        return [PathPart(*key, count[key], one_s) for key, one_s in sorted(time_s.items(), key=lambda part: -part[1])]

    @cached_property
    def _rank_of(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.placement)), np.diff(self.dates.program.first))


def name_of(node: Node) -> str:
    """Return the name of an element: its operation, the kind of message, or segment."""
    if node.element is Element.SYNCHRONISATION and node.op is not None:
        return node.op.name.lower()
    if node.element in (Element.SEND, Element.RECEIVE) and node.mode:
        return f"{node.mode.name.lower()} {node.element.value}"
    return node.element.value


def timed_graph(
    recording: Recording,
    target: Target,
    network: NetworkModel,
    *,
    expand: bool = False,
    places: Sequence[str | None] = (),
) -> TimedGraph:
    """Return the graph of a recording with its times on a target.

    Args:
        recording: The recording, of as many ranks as the target has.
        target: The target; its problem is that of the recording.
        network: The network between the target's hosts.
        expand: As for ``predictor.graph.graph.graph_of``.
        places: As there.

    Raises:
        UserError: As ``graph_of`` and ``dates_of``.
    """
    return timed(owned_graph(recording, expand=expand, places=places), target, network)


def timed(owned: OwnedGraph, target: Target, network: NetworkModel) -> TimedGraph:
    """Return a graph with its times on a target.

    Raises:
        UserError: As ``dates_of``.
    """
    hosts = [target.platform.host(host) for host in target.placement]
    dates = dates_of(
        owned.program, network, target.placement, [1 / host.speed_flops for host in hosts],
        [host.cores for host in hosts],
    )  # fmt: skip
    clusters = tuple(target.platform.cluster_of(host).name for host in target.placement)
    return TimedGraph(owned.graph, target.placement, clusters, dates, owned.owner)
