"""Infer from routes which links lie between which parts of a platform, as a graph for a picture.

SimGrid's routes are lists of links and do not say where two links meet.  The meeting points are inferred: consecutive
links of a route touch, and the two ends of a link are distinguished by its known neighbours, from the shortest routes
to the longest.  A link that routes enter and leave in more ways than two ends allow is a bus, a vertex of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from platforms.model.platform import Link, Route


@dataclass(frozen=True)
class Span:
    """Links in series between two vertices; no links if the route between two parts has none of its own."""

    first: int
    second: int
    links: tuple[Link, ...]
    parallel: int = 1  # number of parallel series of links; ``links`` are those of the widest
    latency_s: float = 0.0  # one way, s: of the links, or of the route if it has no links

    @property
    def bandwidth_Bps(self) -> float:
        """Bandwidth of the narrowest link, byte/s; infinite without links."""
        return min((link.bandwidth_Bps for link in self.links), default=float("inf"))


@dataclass(frozen=True)
class LinkGraph:
    """A graph of links; vertices 0 to parts - 1 are the platform's parts, the others are joints of links or buses."""

    parts: int
    spans: tuple[Span, ...]
    buses: dict[int, tuple[Link, ...]]  # the links that are vertices
    vertices: tuple[int, ...]  # all vertices in order; the numbers after the parts may have gaps

    def neighbours(self) -> dict[int, list[int]]:
        """Return the neighbours of each vertex, one entry per span."""
        joined: dict[int, list[int]] = {vertex: [] for vertex in self.vertices}
        for span in self.spans:
            joined[span.first].append(span.second)
            joined[span.second].append(span.first)
        return joined


def link_graph(part_of: Mapping[str, int], routes: Sequence[Route]) -> LinkGraph:
    """Return the graph of the links between parts; ``part_of`` is the number of each host's part, from 0.

    Links that are used only by routes within one part are left out.  Both directions of a duplex link (SimGrid's names
    end in _UP and _DOWN) are one link.
    """
    inside = _inside(part_of, routes)
    across = [route for route in routes if part_of[route.source] != part_of[route.destination]]
    across.sort(key=lambda route: (len(route.links), part_of[route.source], part_of[route.destination]))
    builder = _Builder(max(part_of.values(), default=-1) + 1, inside)
    for route in across:
        builder.add(part_of[route.source], part_of[route.destination], route)
    return builder.graph()


def cable(link: Link) -> str:
    """Return the name of a link without its direction."""
    return link.name.removesuffix("_UP").removesuffix("_DOWN")


def _inside(part_of: Mapping[str, int], routes: Sequence[Route]) -> dict[str, int]:
    """Return the part of each link that is used by routes within exactly one part."""
    parts = defaultdict(set)
    for route in routes:
        if part_of[route.source] == part_of[route.destination]:
            for link in route.links:
                parts[cable(link)].add(part_of[route.source])
    return {name: next(iter(zones)) for name, zones in parts.items() if len(zones) == 1}


class _Builder:
    def __init__(self, parts: int, inside: Mapping[str, int]):
        self.parts, self.inside = parts, inside
        self.parent = list(range(parts))  # union-find forest of vertices that have turned out to be the same
        self.ends: dict[str, tuple[int, int]] = {}
        self.links: dict[str, Link] = {}
        self.is_bus: set[str] = set()
        self.touching: dict[tuple[int, int], float] = {}  # adjacent vertices without a link between them -> latency, s

    def add(self, source: int, destination: int, route: Route) -> None:
        """Add a route between two parts."""
        crossed = [link for link in route.links if self.inside.get(cable(link)) not in (source, destination)]
        if not crossed:
            if not route.links or not self._joined(source, destination):
                self._touch(source, destination, route.latency_s if not route.links else 0.0)
            return
        here = source
        for i, link in enumerate(crossed):
            last = i == len(crossed) - 1
            owner = self.inside.get(cable(link))
            if owner is not None:  # the route leads through another part
                here = self._meet(here, owner)
                continue
            here = self._cross(here, link, destination if last else None, None if last else crossed[i + 1])
        self._meet(here, destination)

    def _find(self, vertex: int) -> int:
        while self.parent[vertex] != vertex:
            self.parent[vertex] = vertex = self.parent[self.parent[vertex]]
        return vertex

    def _new(self) -> int:
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def _joined(self, first: int, second: int) -> bool:
        pairs = ({self._find(a), self._find(b)} for a, b in (*self.ends.values(), *self.touching))
        return any(pair == {first, second} for pair in pairs)

    def _touch(self, first: int, second: int, latency_s: float = 0.0) -> None:
        if first != second:
            self.touching.setdefault((min(first, second), max(first, second)), latency_s)

    def _meet(self, first: int, second: int) -> int:
        """Merge two vertices, or make them touch; return the vertex where a route that reached the first continues."""
        first, second = self._find(first), self._find(second)
        if first == second:
            return first
        buses = {self._find(self.ends[name][0]) for name in self.is_bus}
        fixed = [v for v in (first, second) if v < self.parts or v in buses]
        if len(fixed) == 2:
            self._touch(first, second)
            return second
        if any(v < self.parts for v in fixed):  # a part is a box: links end at it, but do not merge with it
            self._touch(first, second)
            return second
        keep, gone = (first, second) if first in fixed else (second, first)
        self.parent[gone] = keep
        return keep

    def _cross(self, here: int, link: Link, goal: int | None, following: Link | None) -> int:
        """Return the vertex that a route reaches by crossing a link from ``here``; ``goal`` is where it has to end."""
        name = cable(link)
        self.links.setdefault(name, link)
        here = self._find(here)
        if name not in self.ends:
            self.ends[name] = (here, self._new() if goal is None or goal == here else goal)
            return self.ends[name][1]
        first, second = (self._find(end) for end in self.ends[name])
        wanted = {goal} if goal is not None else self._known_ends(following)
        if here in (first, second):
            there = second if here == first else first
            if goal is not None and there != goal and there < self.parts:
                return self._as_bus(name)
            return there
        if name in self.is_bus:
            return self._meet(here, first)
        entry, there = (first, second) if second in wanted or first not in wanted else (second, first)
        if here < self.parts and entry < self.parts:
            bus = self._as_bus(name)
            self._touch(here, bus)
            return bus
        if goal is not None and there != goal and there < self.parts:
            bus = self._as_bus(name)
            return self._meet(here, bus)
        self._meet(here, entry)
        return self._find(there)

    def _known_ends(self, link: Link | None) -> set[int]:
        if link is None:
            return set()
        owner = self.inside.get(cable(link))
        if owner is not None:
            return {owner}
        return {self._find(end) for end in self.ends.get(cable(link), ())}

    def _as_bus(self, name: str) -> int:
        """Make the link a vertex that touches its two ends."""
        bus = self._new()
        for end in self.ends[name]:
            self._touch(self._find(end), bus)
        self.ends[name] = (bus, bus)
        self.is_bus.add(name)
        return bus

    def graph(self) -> LinkGraph:
        """Return the simplified graph of all routes added so far."""
        spans = [
            Span(self._find(a), self._find(b), (self.links[name],), latency_s=self.links[name].latency_s)
            for name, (a, b) in self.ends.items()
        ]
        buses: dict[int, tuple[Link, ...]] = defaultdict(tuple)
        for span in spans:
            if span.first == span.second and span.first >= self.parts:
                buses[span.first] += span.links
        touching = {tuple(sorted(map(self._find, pair))): latency_s for pair, latency_s in self.touching.items()}
        spans = [span for span in spans if span.first != span.second]
        spans += [Span(a, b, (), latency_s=latency_s) for (a, b), latency_s in touching.items() if a != b]
        spans = _in_series(_at_parts(spans, self.parts, buses), self.parts, buses)
        used = {vertex for span in spans for vertex in (span.first, span.second)}
        vertices = tuple(sorted(used | set(range(self.parts))))
        return LinkGraph(self.parts, tuple(spans), {v: links for v, links in buses.items() if v in used}, vertices)


def _at_parts(spans: list[Span], parts: int, buses: Collection[int]) -> list[Span]:
    """Merge each joint that touches only one part with that part."""
    touching = defaultdict(set)
    for span in spans:
        if not span.links and span.latency_s == 0:
            for here, there in ((span.first, span.second), (span.second, span.first)):
                if here >= parts and here not in buses:
                    touching[here].add(there)
    same = {here: next(iter(others)) for here, others in touching.items() if len(others) == 1}
    same = {here: there for here, there in same.items() if there < parts or there not in same}
    moved = [
        Span(same.get(s.first, s.first), same.get(s.second, s.second), s.links, s.parallel, s.latency_s) for s in spans
    ]
    return _parallel([span for span in moved if span.first != span.second])


def _in_series(spans: list[Span], parts: int, buses: Collection[int]) -> list[Span]:
    """Remove joints of only two spans by merging the spans, and joints of one span, which are dead ends."""
    while True:
        at = defaultdict(list)
        for span in spans:
            at[span.first].append(span)
            at[span.second].append(span)
        free = [v for v in sorted(at) if v >= parts and v not in buses and len(at[v]) <= 2]
        if not free:
            return spans
        here = free[0]
        spans = [span for span in spans if span not in at[here]]
        if len(at[here]) == 2:
            first, other = at[here]
            a, b = (s.second if s.first == here else s.first for s in (first, other))
            if a != b:
                parallel = min(first.parallel, other.parallel)
                spans.append(Span(a, b, first.links + other.links, parallel, first.latency_s + other.latency_s))
        spans = _parallel(spans)


def _parallel(spans: Sequence[Span]) -> list[Span]:
    """Merge spans between the same vertices into one with the links of the widest span of the least latency."""
    rows = defaultdict(list)
    for span in spans:
        rows[min(span.first, span.second), max(span.first, span.second)].append(span)
    merged = []
    for (first, second), same in rows.items():
        linked = [span for span in same if span.links] or same[:1]
        best = max(linked, key=lambda span: (span.bandwidth_Bps, -span.latency_s))
        count = sum(span.parallel for span in linked)
        merged.append(Span(first, second, best.links, count, best.latency_s))
    return merged
