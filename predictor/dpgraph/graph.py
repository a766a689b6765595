"""The DP*Graph of a parallel program: sequential segments, messages and points of synchronisation, in their order.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments", sections 3.1 and 3.2.  The elements are derived from the text, because its Figure 2 is a picture:
a process begins and ends (Figure 3), runs segments of sequential code, sends and receives messages in one of four modes
(4), and takes part in synchronisation (3.1).  The graph is that of an execution, as recorded: no branches, no loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np

from apps.recording import Kind, Mark, Mode, Op, Recording
from platforms.errors import UserError
from predictor.dpgraph import li
from predictor.dpgraph.instructions import COMPUTE, MARK, RECV, SEND, WAIT_RECEIVED
from predictor.dpgraph.program import Program, Sections

_POINT = 64  # marks from here on stand for collectives: this and the Op


class Element(StrEnum):
    """What a node is."""

    BEGIN = "begin"  # of a process
    SEGMENT = "segment"  # sequential code between two communications
    SEND = "send"  # the process sends a message
    RECEIVE = "receive"  # the process has a message to wait for
    SYNCHRONISATION = "synchronisation"  # a collective operation: one node for all its processes
    END = "end"  # of a process


class Relation(StrEnum):
    """What an edge is."""

    ORDER = "order"  # of one process's program
    MESSAGE = "message"  # from its send to its receive


@dataclass(frozen=True)
class Node:
    """An element of the graph."""

    element: Element
    ranks: tuple[int, ...]  # the process that it belongs to; all members, of a synchronisation
    flops: float = 0.0  # of a segment
    size_bytes: int = 0  # of a message; of a synchronisation, the most that a member states (apps.recording.Op)
    mode: Mode | None = None  # of the message sent or received
    peer: int | None = None  # the message's other process; the root of a synchronisation that has one
    op: Op | None = None  # of a synchronisation


@dataclass(frozen=True)
class Edge:
    """``source`` comes before ``target``; both are places in the graph's nodes."""

    source: int
    target: int
    relation: Relation
    rank: int | None = None  # of an order: whose
    size_bytes: int = 0  # of a message


@dataclass(frozen=True)
class CriticalPath:
    """The chain of elements that takes longest."""

    nodes: tuple[int, ...]  # from a begin to an end
    time_s: float


NodeTime = Callable[[Node], float]  # s that each process of an element spends there
MessageTime = Callable[[Edge], float]  # s on the way


@dataclass(frozen=True)
class DPGraph:
    """A program's graph.  Raises UserError for edges that make no program: loose, without an order, or in a circle."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        for edge in self.edges:
            if not (0 <= edge.source < len(self.nodes) and 0 <= edge.target < len(self.nodes)):
                raise _broken(f"an edge joins {edge.source} and {edge.target}, of {len(self.nodes)} nodes")
        _ = self.processes, self.order

    @property
    def nranks(self) -> int:
        return len(self.processes)

    @cached_property
    def processes(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each process, from its begin to its end."""
        after = {(e.rank, e.source): e.target for e in self.edges if e.relation is Relation.ORDER}
        begins = {node.ranks: at for at, node in enumerate(self.nodes) if node.element is Element.BEGIN}
        found = []
        for rank in range(len(begins)):
            if (rank,) not in begins:
                raise _broken(f"{len(begins)} processes begin, but not process {rank}")
            row = [begins[rank,]]
            while (rank, row[-1]) in after:
                row.append(after.pop((rank, row[-1])))
            if self.nodes[row[-1]].element is not Element.END:
                raise _broken(f"process {rank} stops at its element {len(row)} and has no end")
            found.append(tuple(row))
        if after or sum(map(len, found)) != sum(len(node.ranks) for node in self.nodes):
            raise _broken("it has elements that no process comes to")
        return tuple(found)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All nodes, each after those that it waits for."""
        waits = [0] * len(self.nodes)
        for edge in self.edges:
            waits[edge.target] += 1
        ready = [at for at, count in enumerate(waits) if count == 0]
        for at in ready:  # grows
            for edge in self.leaving[at]:
                waits[edge.target] -= 1
                if waits[edge.target] == 0:
                    ready.append(edge.target)
        if len(ready) < len(self.nodes):
            raise _broken(f"{len(self.nodes) - len(ready)} elements wait for each other in a circle")
        return tuple(ready)

    @cached_property
    def leaving(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges from each node."""
        rows: list[list[Edge]] = [[] for _ in self.nodes]
        for edge in self.edges:
            rows[edge.source].append(edge)
        return tuple(map(tuple, rows))

    def count(self, element: Element) -> int:
        return sum(node.element is element for node in self.nodes)

    def first(self, elements: int) -> DPGraph:
        """The beginning: so many elements of each process between its begin and its end.

        Without the messages and synchronisations, and what follows them, whose other part then is missing.
        """
        kept = [list(row[1:-1][:elements]) for row in self.processes]
        partners: dict[int, list[int]] = {}
        for edge in self.edges:
            if edge.relation is Relation.MESSAGE:
                partners.setdefault(edge.target, []).append(edge.source)
        while True:
            present = [set(row) for row in kept]
            everywhere = set().union(*present)
            ends = [
                next((i for i, at in enumerate(row) if not self._whole(at, present, everywhere, partners)), len(row))
                for row in kept
            ]
            if all(end == len(row) for end, row in zip(ends, kept, strict=True)):
                return self._only([[p[0], *row, p[-1]] for p, row in zip(self.processes, kept, strict=True)])
            kept = [row[:end] for end, row in zip(ends, kept, strict=True)]

    def _whole(self, at: int, present: list[set[int]], everywhere: set[int], partners: dict[int, list[int]]) -> bool:
        """A receive needs its send; a synchronisation all its processes.  A send may stand alone."""
        node = self.nodes[at]
        if node.element is Element.SYNCHRONISATION:
            return all(at in present[rank] for rank in node.ranks)
        return all(source in everywhere for source in partners.get(at, ()))

    def _only(self, rows: list[list[int]]) -> DPGraph:
        place = {at: i for i, at in enumerate(dict.fromkeys(at for row in rows for at in row))}
        edges = [
            Edge(place[a], place[b], Relation.ORDER, rank) for rank, row in enumerate(rows) for a, b in pairwise(row)
        ]
        edges += [
            replace(e, source=place[e.source], target=place[e.target])
            for e in self.edges
            if e.relation is Relation.MESSAGE and e.source in place and e.target in place
        ]
        return DPGraph(tuple(self.nodes[at] for at in place), tuple(edges))


def process_times_s(graph: DPGraph, node_time_s: NodeTime) -> list[float]:
    """Section 3.2: the sum of the partial times t_i of each process, s.  Nobody waits."""
    times_s = [node_time_s(node) for node in graph.nodes]
    return [sum(times_s[at] for at in row) for row in graph.processes]


def execution_time_s(graph: DPGraph, node_time_s: NodeTime) -> float:
    """Section 3.2: T_exec, the largest of the processes' sums, s."""
    return li.execution_time_s([[time_s] for time_s in process_times_s(graph, node_time_s)])


def critical_path(
    graph: DPGraph, node_time_s: NodeTime, message_time_s: MessageTime = lambda edge: 0.0
) -> CriticalPath:
    """The longest chain of elements, each of which needs the one before: with waiting, without contention.

    At least T_exec: a process's own elements are a chain.
    """
    times_s = [node_time_s(node) for node in graph.nodes]
    begun_s, before = [0.0] * len(graph.nodes), [-1] * len(graph.nodes)
    for at in graph.order:
        for edge in graph.leaving[at]:
            on_the_way_s = message_time_s(edge) if edge.relation is Relation.MESSAGE else 0.0
            since_s = begun_s[at] + times_s[at] + on_the_way_s
            if before[edge.target] < 0 or since_s > begun_s[edge.target]:
                begun_s[edge.target], before[edge.target] = since_s, at
    last = max((row[-1] for row in graph.processes), key=lambda at: begun_s[at] + times_s[at])
    path = [last]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    return CriticalPath(tuple(reversed(path)), begun_s[last] + times_s[last])


def component_times(components: li.MessageComponents, s_per_flop: Sequence[float]) -> tuple[NodeTime, MessageTime]:
    """Figure 4 as times of elements and of messages: n c1 at the send, k_b n + k_l on the way, n c2 at the receive.

    ``s_per_flop``: of each process's node.  Synchronisation takes no time of its own: it only waits.
    """

    def node_time_s(node: Node) -> float:
        if node.element is Element.SEND:
            return components.copy_time_s(node.size_bytes)
        if node.element is Element.RECEIVE:
            return components.receive_time_s(node.size_bytes)
        return node.flops * s_per_flop[node.ranks[0]]

    return node_time_s, lambda edge: components.transfer_time_s(edge.size_bytes)


def timed_section(recording: Recording) -> Recording:
    """What each rank does between the marks of the start and the stop of the timed section, where it has them."""
    cut = []
    for events in recording.events:
        marks = events["kind"] == Kind.MARK
        starts, stops = (np.flatnonzero(marks & (events["op"] == mark)) for mark in (Mark.START, Mark.STOP))
        cut.append(events[starts[0] + 1 if len(starts) else 0 : stops[0] if len(stops) else len(events)])
    return replace(recording, events=tuple(cut))


def graph_of(recording: Recording, *, expand: bool = False) -> DPGraph:
    """The graph of the timed section of a recording, as recorded.

    A collective is one node of synchronisation, or with ``expand`` the messages that it is made of
    (predictor.dpgraph.collectives).  Computations with no communication between them are one segment.  A receive
    stands where its process waits for the message.  A send stands where it begins: its sender's time belongs to it, so
    that waiting for it to end is no element.

    Raises UserError for messages that cross the borders of the timed section, and for collectives whose processes call
    different ones.
    """
    section = timed_section(recording)
    program = Sections(section if expand else _with_points(section)).program()
    waited = set(program.argument[program.code == WAIT_RECEIVED].tolist())
    building = _Building(section)
    code, argument, value = program.code.tolist(), program.argument.tolist(), program.value.tolist()
    for rank in range(program.nranks):
        building.begin(rank)
        for at in range(program.first[rank], program.first[rank + 1]):
            which, what = code[at], argument[at]
            if which == COMPUTE:
                building.compute(value[at])
            elif which == SEND:
                building.message(Element.SEND, program, what)
            elif which == WAIT_RECEIVED or (which == RECV and what not in waited):
                building.message(Element.RECEIVE, program, what)
            elif which == MARK and what >= _POINT:
                building.point()
        building.end()
    return building.graph()


def _with_points(recording: Recording) -> Recording:
    """A recording whose collectives are marks: a program keeps these in their order, and does not look into them."""
    changed = []
    for events in recording.events:
        events, where = events.copy(), events["kind"] == Kind.COLLECTIVE
        events["op"][where] += _POINT
        events["kind"][where] = Kind.MARK
        changed.append(events)
    return replace(recording, events=tuple(changed))


class _Building:
    """A graph in the making, process by process."""

    def __init__(self, recording: Recording):
        self._recording = recording
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._ends: dict[tuple[Element, int], int] = {}  # node of each message's send and receive
        self._points: dict[tuple[int, int], int] = {}  # node of each communicator's n-th collective
        self._flops = 0.0  # of the segment that is not yet a node

    def begin(self, rank: int) -> None:
        events = self._recording.events[rank]
        self._rank, self._last = rank, -1
        self._calls: Iterator[np.void] = iter(events[events["kind"] == Kind.COLLECTIVE])
        self._called: dict[int, int] = {}  # collectives so far, by communicator
        self._add(Node(Element.BEGIN, (rank,)))

    def compute(self, flops: float) -> None:
        self._flops += flops

    def message(self, element: Element, program: Program, message: int) -> None:
        if (element, message) in self._ends:  # a second wait for what has come
            return
        ends = int(program.source[message]), int(program.destination[message])
        peer = ends[1] if element is Element.SEND else ends[0]
        size_bytes, mode = int(program.size_bytes[message]), Mode(program.mode[message])
        node = Node(element, (self._rank,), size_bytes=size_bytes, mode=mode, peer=peer)
        self._ends[element, message] = self._add(node)

    def point(self) -> None:
        call = next(self._calls)
        comm, op, size_bytes = int(call["comm"]), Op(call["op"]), int(call["size_bytes"])
        number = self._called.get(comm, 0)
        self._called[comm] = number + 1
        at = self._points.get((comm, number))
        if at is None:
            root = int(call["peer"])
            members = self._recording.communicators[comm]
            self._points[comm, number] = self._add(
                Node(Element.SYNCHRONISATION, members, size_bytes=size_bytes, op=op, peer=root if root >= 0 else None)
            )
            return
        node = self._nodes[at]
        if node.op is not None and node.op is not op:
            problem = f"rank {self._rank} calls {op.name.lower()} where others call {node.op.name.lower()}"
            raise UserError("recording", problem, "Let all members of a communicator call the same collectives")
        self._nodes[at] = replace(node, size_bytes=max(node.size_bytes, size_bytes))
        self._finish_segment()
        self._follow(at)

    def end(self) -> None:
        self._add(Node(Element.END, (self._rank,)))

    def graph(self) -> DPGraph:
        for (element, message), at in self._ends.items():
            target = self._ends.get((Element.RECEIVE, message))
            if element is Element.SEND and target is not None:
                self._edges.append(Edge(at, target, Relation.MESSAGE, size_bytes=self._nodes[at].size_bytes))
        return DPGraph(tuple(self._nodes), tuple(self._edges))

    def _add(self, node: Node) -> int:
        self._finish_segment()
        return self._append(node)

    def _append(self, node: Node) -> int:
        self._nodes.append(node)
        self._follow(len(self._nodes) - 1)
        return self._last

    def _follow(self, at: int) -> None:
        if self._last >= 0:
            self._edges.append(Edge(self._last, at, Relation.ORDER, self._rank))
        self._last = at

    def _finish_segment(self) -> None:
        if self._flops:
            flops, self._flops = self._flops, 0.0
            self._append(Node(Element.SEGMENT, (self._rank,), flops=flops))


def _broken(problem: str) -> UserError:
    return UserError("DP*Graph", problem, "Make it from a recording, or mend the file")
