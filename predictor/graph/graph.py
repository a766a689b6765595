"""The DP*Graph of a parallel program: sequential segments, messages and points of synchronisation, in their order.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments", sections 3.1 and 3.2.  The elements are derived from the text, because the paper's Figure 2 is a
picture: a process begins and ends (Figure 3), runs segments of sequential code, sends and receives messages in one of
four modes (4), and takes part in synchronisation (3.1).  The graph describes one recorded execution, so it has no
branches and no loops; predictor.graph.folded finds them again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np

from apps.recording.events import Kind, Mode, Op, Recording
from platforms.errors import UserError
from predictor.dpgraph.instructions import COMPUTE, MARK, PROBE, RECV, SEND, SLEEP, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.program import Program, Sections
from predictor.graph.section import timed_section
from predictor.sends import components as li

_POINT = 64  # a mark of this number plus an Op stands for a collective, or its beginning
_POINT_END = 128


class Element(StrEnum):
    """The kind of a node."""

    BEGIN = "begin"  # a process begins
    SEGMENT = "segment"  # sequential code between two communications
    SEND = "send"  # the process sends a message
    RECEIVE = "receive"  # the process waits for a message
    SYNCHRONISATION = "synchronisation"  # a collective operation: one node for all its processes
    END = "end"  # a process ends


class Relation(StrEnum):
    """The kind of an edge."""

    ORDER = "order"  # two elements that one process executes one after the other
    MESSAGE = "message"  # from the send of a message to its receive


@dataclass(frozen=True)
class Node:
    """An element of the graph."""

    element: Element
    ranks: tuple[int, ...]  # the process of the element; all members of a synchronisation
    flops: float = 0.0  # flops of a segment
    size_bytes: int = (
        0  # size of a message; largest size that a member of a synchronisation states (apps.recording.events.Op)
    )
    mode: Mode | None = None  # mode of the message sent or received
    peer: int | None = None  # the message's other process; the root of a synchronisation that has one
    op: Op | None = None  # the operation of a synchronisation
    place: str | None = None  # the place in the program from which it is called, where known


@dataclass(frozen=True)
class Edge:
    """A pair of nodes, given by their indices in the graph; ``source`` comes before ``target``."""

    source: int
    target: int
    relation: Relation
    rank: int | None = None  # the process that an order edge belongs to
    size_bytes: int = 0  # size of the message of a message edge


@dataclass(frozen=True)
class CriticalPath:
    """The chain of elements that takes longest."""

    nodes: tuple[int, ...]  # from a begin to an end
    time_s: float


NodeTime = Callable[[Node], float]  # seconds that each process of an element spends in it
MessageTime = Callable[[Edge], float]  # seconds that a message is in flight


@dataclass(frozen=True)
class DPGraph:
    """A program's graph.

    Raises:
        UserError: The edges do not form a program: an edge joins a missing node, a process has no chain of elements
            from its begin to its end, or elements wait for each other in a circle.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        for edge in self.edges:
            if not (0 <= edge.source < len(self.nodes) and 0 <= edge.target < len(self.nodes)):
                raise _broken(f"an edge joins {edge.source} and {edge.target}, of {len(self.nodes)} nodes")
        _ = self.processes, self.order

    @property
    def nranks(self) -> int:
        """Number of processes."""
        return len(self.processes)

    @cached_property
    def processes(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each process, from its begin to its end."""
        after = {(e.rank, e.source): e.target for e in self.edges if e.relation is Relation.ORDER}
        begins = {node.ranks: at for at, node in enumerate(self.nodes) if node.element is Element.BEGIN}
        ranks = []
        for rank in range(len(begins)):
            if (rank,) not in begins:
                raise _broken(f"{len(begins)} processes begin, but not process {rank}")
            row = [begins[rank,]]
            while (rank, row[-1]) in after:
                row.append(after.pop((rank, row[-1])))
            if self.nodes[row[-1]].element is not Element.END:
                raise _broken(f"process {rank} stops at its element {len(row)} and has no end")
            ranks.append(tuple(row))
        if after or sum(map(len, ranks)) != sum(len(node.ranks) for node in self.nodes):
            raise _broken("it has elements that no process reaches")
        return tuple(ranks)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All nodes, each after the nodes that it waits for."""
        # networkx.topological_sort takes ten to fifty times as long.  It also orders nodes with parallel edges
        # (synchronisations of the same processes) differently, which would change the choice between equally long
        # critical paths.
        waits = [0] * len(self.nodes)
        for edge in self.edges:
            waits[edge.target] += 1
        ready = [at for at, count in enumerate(waits) if count == 0]
        for at in ready:  # the loop appends to this list
            for edge in self.leaving[at]:
                waits[edge.target] -= 1
                if waits[edge.target] == 0:
                    ready.append(edge.target)
        if len(ready) < len(self.nodes):
            raise _broken(f"{len(self.nodes) - len(ready)} elements wait for each other in a circle")
        return tuple(ready)

    @cached_property
    def leaving(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges that leave each node."""
        rows: list[list[Edge]] = [[] for _ in self.nodes]
        for edge in self.edges:
            rows[edge.source].append(edge)
        return tuple(map(tuple, rows))

    def count(self, element: Element) -> int:
        """Return the number of nodes of this kind."""
        return sum(node.element is element for node in self.nodes)

    def first(self, elements: int) -> DPGraph:
        """Return the beginning of the graph: the first elements of each process between its begin and its end.

        A process is cut earlier where it comes to a receive or a synchronisation whose other part is missing.

        Args:
            elements: Number of elements to keep of each process, at most.
        """
        return self.beginning(elements)[0]

    def beginning(self, elements: int) -> tuple[DPGraph, tuple[int, ...]]:
        """Return the graph of ``first``, and the number that each of its nodes has in this graph.

        Args:
            elements: As for ``first``.
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
        """Return whether a node's other parts are present: the send of a receive, all members of a synchronisation.

        A send may stand alone.
        """
        node = self.nodes[at]
        if node.element is Element.SYNCHRONISATION:
            return all(at in present[rank] for rank in node.ranks)
        return all(source in everywhere for source in partners.get(at, ()))

    def _only(self, rows: list[list[int]]) -> tuple[DPGraph, tuple[int, ...]]:
        """Return the graph of these nodes, given by process, and their numbers in this graph."""
        place = {at: i for i, at in enumerate(dict.fromkeys(at for row in rows for at in row))}
        edges = [
            Edge(place[a], place[b], Relation.ORDER, rank) for rank, row in enumerate(rows) for a, b in pairwise(row)
        ]
        edges += [
            replace(e, source=place[e.source], target=place[e.target])
            for e in self.edges
            if e.relation is Relation.MESSAGE and e.source in place and e.target in place
        ]
        return DPGraph(tuple(self.nodes[at] for at in place), tuple(edges)), tuple(place)


def process_times_s(graph: DPGraph, node_time_s: NodeTime) -> list[float]:
    """Return the sum of the partial times t_i of each process (section 3.2), s.  No process waits."""
    times_s = [node_time_s(node) for node in graph.nodes]
    return [sum(times_s[at] for at in row) for row in graph.processes]


def execution_time_s(graph: DPGraph, node_time_s: NodeTime) -> float:
    """Return T_exec (section 3.2), the largest of the processes' sums, s."""
    return li.execution_time_s([[time_s] for time_s in process_times_s(graph, node_time_s)])


def critical_path(
    graph: DPGraph, node_time_s: NodeTime, message_time_s: MessageTime = lambda edge: 0.0
) -> CriticalPath:
    """Return the longest chain of elements, each of which needs the one before: with waiting, without contention.

    Its time is at least T_exec, because a process's own elements are a chain.
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


# The components of a message from a process to another one in a send mode.
Components = Callable[[int, int, Mode], li.MessageComponents]


def component_times(
    components: li.MessageComponents | Components, s_per_flop: Sequence[float], nodes: Sequence[Node] = ()
) -> tuple[NodeTime, MessageTime]:
    """Return Figure 4 as times of elements and of messages.

    A message of n bytes takes n c1 at the send, k_b n + k_l in flight and n c2 at the receive.  A synchronisation takes
    no time of its own: it only waits.

    Args:
        components: The components c1, k_b, c2 and k_l, of all messages or of each path and mode.
        s_per_flop: Seconds per flop of each process's node.
        nodes: The graph's nodes, for components of each path.
    """

    def of(source: int, destination: int, mode: Mode | None) -> li.MessageComponents:
        if isinstance(components, li.MessageComponents):
            return components
        return components(source, destination, Mode.STANDARD if mode is None else mode)

    def node_time_s(node: Node) -> float:
        rank, other = node.ranks[0], node.ranks[0] if node.peer is None else node.peer
        if node.element is Element.SEND:
            return of(rank, other, node.mode).copy_time_s(node.size_bytes)
        if node.element is Element.RECEIVE:
            return of(other, rank, node.mode).receive_time_s(node.size_bytes)
        return node.flops * s_per_flop[rank]

    def message_time_s(edge: Edge) -> float:
        if isinstance(components, li.MessageComponents):
            return components.transfer_time_s(edge.size_bytes)
        source, target = nodes[edge.source], nodes[edge.target]
        return of(source.ranks[0], target.ranks[0], source.mode).transfer_time_s(edge.size_bytes)

    return node_time_s, message_time_s


def graph_of(recording: Recording, *, expand: bool = False, places: Sequence[str | None] = ()) -> DPGraph:
    """Return the graph of the timed section of a recording, with the iterations that were recorded.

    Computations with no communication between them are one segment.  A receive stands where its process waits for the
    message.  A send stands where it begins: the sender's time belongs to it, so a wait for its end is no element.

    Args:
        recording: The recording.
        expand: False: a collective is one synchronisation node.  True: it is the messages that it consists of
            (apps.traffic.collectives).
        places: The place in the program of each of the recording's paths of calls (predictor.graph.places); empty:
            no element has one.

    Raises:
        UserError: A message crosses a border of the timed section, or the processes of a communicator call different
            collectives.
    """
    section = timed_section(recording)
    program = Sections(section if expand else _with_points(section)).program()
    return _Building(section, program, places).graph()


@dataclass(frozen=True)
class OwnedGraph:
    """A graph, the program of the same recording with all messages, and the element of each instruction."""

    graph: DPGraph
    program: Program
    owner: np.ndarray  # i8, by instruction: the node to which its time belongs; -1 for those that take none


def owned_graph(recording: Recording, *, expand: bool = False, places: Sequence[str | None] = ()) -> OwnedGraph:
    """Return the graph of ``graph_of`` and the program that it stands for.

    Args:
        recording: As for ``graph_of``.
        expand: As for ``graph_of``.
        places: As for ``graph_of``.

    Raises:
        UserError: As for ``graph_of``.
    """
    section = timed_section(recording)
    program = Sections(section if expand else _with_points(section, inside=True)).program()
    building = _Building(section, program, places)
    return OwnedGraph(building.graph(), program, building.owner)


def _with_points(recording: Recording, *, inside: bool = False) -> Recording:
    """Return the recording with marks in place of its collectives: a program keeps marks in order and unchanged.

    ``inside``: the collectives stay, each between a mark of its beginning and one of its end.
    """
    changed = []
    for events in recording.events:
        where = events["kind"] == Kind.COLLECTIVE
        copies = np.where(where, 3 if inside else 1, 1)
        begins = np.cumsum(copies)[where] - copies[where]
        events = np.repeat(events, copies)
        events["kind"][begins], events["op"][begins] = Kind.MARK, events["op"][begins] + _POINT
        if inside:
            events["kind"][begins + 2], events["op"][begins + 2] = Kind.MARK, _POINT_END
        changed.append(events)
    return replace(recording, events=tuple(changed))


class _Building:
    """Builder of a graph, process by process."""

    def __init__(self, recording: Recording, program: Program, places: Sequence[str | None]):
        self._recording, self._program, self._places = recording, program, places
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._ends: dict[tuple[Element, int], int] = {}  # node of each message's send and receive
        self._points: dict[tuple[int, int], int] = {}  # node of each communicator's n-th collective
        self._flops = 0.0  # flops of the segment that is not a node yet
        self._computed: list[int] = []  # its instructions
        self._asked: dict[int, list[int]] = {}  # by message: the probes and receives before the node of its receive
        self.owner = np.full(len(program.code), -1, np.int64)
        # The program has the messages of its collectives between marks.
        self._inside = bool(((program.code == MARK) & (program.argument == _POINT_END)).any())
        waited = set(program.argument[program.code == WAIT_RECEIVED].tolist())
        self._code, self._argument = program.code.tolist(), program.argument.tolist()
        for rank in range(program.nranks):
            self._begin(rank)
            inside = False  # a collective
            for at in range(program.first[rank], program.first[rank + 1]):
                if inside:
                    self.owner[at] = self._last
                    inside = not (self._code[at] == MARK and self._argument[at] == _POINT_END)
                else:
                    inside = self._take(at, waited)
            self._end()

    def _take(self, at: int, waited: Collection[int]) -> bool:
        """Add an instruction; return whether a collective begins whose messages the program has."""
        which, what = self._code[at], self._argument[at]
        if which in (COMPUTE, SLEEP):
            self._flops += float(self._program.value[at]) if which == COMPUTE else 0.0
            self._computed.append(at)
        elif which == SEND:
            self._message(at, Element.SEND, what)
        elif which == WAIT_RECEIVED or (which == RECV and what not in waited):
            self._message(at, Element.RECEIVE, what)
        elif which == WAIT_SENT:
            self.owner[at] = self._ends[Element.SEND, what]
        elif which in (RECV, PROBE):
            self._asked.setdefault(what, []).append(at)
        elif which == MARK and what >= _POINT:
            self._point(at)
            return self._inside
        return False

    def _place(self, at: int) -> str | None:
        site = 0 if self._program.site is None else int(self._program.site[at])
        return self._places[site - 1] if 0 < site <= len(self._places) else None

    def _begin(self, rank: int) -> None:
        """Begin the process of this rank."""
        events = self._recording.events[rank]
        self._rank, self._last = rank, -1
        self._calls: Iterator[np.void] = iter(events[events["kind"] == Kind.COLLECTIVE])
        self._called: dict[int, int] = {}  # number of collectives so far, by communicator
        self._add(Node(Element.BEGIN, (rank,)))

    def _message(self, at: int, element: Element, message: int) -> None:
        """Add the send or the receive of a message of the program."""
        known = self._ends.get((element, message))
        if known is not None:  # a second wait for a message that has come
            self.owner[at] = known
            return
        program = self._program
        ends = int(program.source[message]), int(program.destination[message])
        peer = ends[1] if element is Element.SEND else ends[0]
        size_bytes, mode = int(program.size_bytes[message]), Mode(program.mode[message])
        place = self._place(at)
        node = Node(element, (self._rank,), size_bytes=size_bytes, mode=mode, peer=peer, place=place)
        self._ends[element, message] = self.owner[at] = self._add(node)
        for asked in self._asked.pop(message, []) if element is Element.RECEIVE else []:
            self.owner[asked] = self._last

    def _point(self, at: int) -> None:
        """Add the next collective of the process as a synchronisation, or join the one that another member added."""
        call = next(self._calls)
        comm, op, size_bytes = int(call["comm"]), Op(call["op"]), int(call["size_bytes"])
        number = self._called.get(comm, 0)
        self._called[comm] = number + 1
        known = self._points.get((comm, number))
        if known is None:
            root = int(call["peer"])
            members, peer = self._recording.communicators[comm], root if root >= 0 else None
            self._points[comm, number] = self._add(
                Node(
                    Element.SYNCHRONISATION, members, size_bytes=size_bytes, op=op, peer=peer, place=self._place(at)
                )
            )  # fmt: skip
            return
        node = self._nodes[known]
        if node.op is not None and node.op is not op:
            problem = f"rank {self._rank} calls {op.name.lower()} where others call {node.op.name.lower()}"
            raise UserError("recording", problem, "Let all members of a communicator call the same collectives")
        self._nodes[known] = replace(node, size_bytes=max(node.size_bytes, size_bytes))
        self._finish_segment()
        self._follow(known)

    def _end(self) -> None:
        """End the process."""
        self._add(Node(Element.END, (self._rank,)))

    def graph(self) -> DPGraph:
        """Return the graph of all processes."""
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
        if self._computed:
            flops, self._flops = self._flops, 0.0
            node = Node(Element.SEGMENT, (self._rank,), flops=flops, place=self._place(self._computed[-1]))
            self.owner[self._computed] = self._append(node)
            self._computed = []


def _broken(problem: str) -> UserError:
    return UserError("DP*Graph", problem, "Make it from a recording, or correct the file")
