"""Arrange the parts of a platform and their joints on a plane, with a box around each zone.  Lengths are in inches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from platforms.picture.layout import Points, place
from platforms.picture.link_graph import LinkGraph

_PADDING = 0.16
_HEAD = 0.24  # space for a zone's name above the contents of its box


@dataclass(frozen=True)
class ZoneBox:
    """The rectangle of a zone, given by its lower left and upper right corners."""

    name: str
    depth: int  # number of boxes that contain it
    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True)
class Arrangement:
    """The places of all vertices and zones."""

    centres: dict[int, tuple[float, float]]  # of the vertices of the graph
    boxes: tuple[ZoneBox, ...]  # outer boxes first


@dataclass
class _Zone:
    name: str
    zones: list[_Zone] = field(default_factory=list)
    vertices: list[int] = field(default_factory=list)  # directly in this zone

    def everything(self) -> set[int]:
        """Return all vertices in this zone and the zones below it."""
        return set(self.vertices).union(*(zone.everything() for zone in self.zones))


@dataclass(frozen=True)
class _Laid:
    """A zone's contents, arranged around the origin."""

    size: tuple[float, float]
    centres: dict[int, Points]
    boxes: list[ZoneBox]


def arrange(
    graph: LinkGraph,
    zones: Sequence[tuple[str, ...]],
    sizes: Mapping[int, tuple[float, float]],
    least_width: Mapping[str, float],
) -> Arrangement:
    """Arrange the vertices of a graph.

    No box is drawn around the root, nor around a zone with a single part or zone.  A joint is placed in the innermost
    zone that contains more than half of its neighbours.

    Args:
        graph: The parts of the platform and the links between them.
        zones: The names of the zones that contain each part, from the root down.
        sizes: Width and height of each vertex.
        least_width: Smallest width of each zone's box, for its name.
    """
    root = _tree(zones)
    _house_joints(root, graph)
    joined = [(span.first, span.second) for span in graph.spans]
    laid = _lay(root, sizes, joined, least_width, -1)
    return Arrangement({v: (float(at[0]), float(at[1])) for v, at in laid.centres.items()}, tuple(laid.boxes))


def _tree(zones: Sequence[tuple[str, ...]]) -> _Zone:
    root = _Zone("")
    known: dict[tuple[str, ...], _Zone] = {(): root}
    for part, path in enumerate(zones):
        for depth in range(1, len(path) + 1):
            if path[:depth] not in known:
                known[path[:depth]] = zone = _Zone(path[depth - 1])
                known[path[: depth - 1]].zones.append(zone)
        known[path].vertices.append(part)
    return _pruned(root, at_root=True)


def _pruned(zone: _Zone, *, at_root: bool) -> _Zone:
    """Return the zone without inner zones that contain only one part or zone."""
    zone.zones = [_pruned(child, at_root=False) for child in zone.zones]
    for child in list(zone.zones):
        if not child.zones and len(child.vertices) == 1:
            zone.vertices += child.vertices
            zone.zones.remove(child)
    zone.vertices.sort()
    if len(zone.zones) == 1 and not zone.vertices:
        child = zone.zones[0]
        return _Zone("", child.zones, child.vertices) if at_root else child
    return zone


def _house_joints(root: _Zone, graph: LinkGraph) -> None:
    neighbours = graph.neighbours()
    joints = [vertex for vertex in graph.vertices if vertex >= graph.parts]
    root.vertices += joints
    for _ in range(4):  # repeated, because neighbours of a joint may be joints too
        for joint in joints:
            home = _home(root, neighbours[joint])
            current = _holder(root, joint)
            if home is not current:
                current.vertices.remove(joint)
                home.vertices.append(joint)


def _home(zone: _Zone, neighbours: list[int]) -> _Zone:
    for child in zone.zones:
        inside = child.everything()
        if 2 * sum(vertex in inside for vertex in neighbours) > len(neighbours):
            return _home(child, neighbours)
    return zone


def _holder(zone: _Zone, vertex: int) -> _Zone:
    if vertex in zone.vertices:
        return zone
    return next(holder for child in zone.zones if (holder := _holder_or_none(child, vertex)) is not None)


def _holder_or_none(zone: _Zone, vertex: int) -> _Zone | None:
    return _holder(zone, vertex) if vertex in zone.everything() else None


def _lay(
    zone: _Zone,
    sizes: Mapping[int, tuple[float, float]],
    joined: Sequence[tuple[int, int]],
    least_width: Mapping[str, float],
    depth: int,
) -> _Laid:
    inner = [_lay(child, sizes, joined, least_width, depth + 1) for child in zone.zones]
    item_of = {vertex: i for i, vertex in enumerate(zone.vertices)}
    for i, laid in enumerate(inner, len(zone.vertices)):
        item_of.update((vertex, i) for vertex in laid.centres)
    extents = [sizes[vertex] for vertex in zone.vertices] + [laid.size for laid in inner]
    here = [(item_of[a], item_of[b]) for a, b in joined if a in item_of and b in item_of]
    at = place(extents, [pair for pair in here if pair[0] != pair[1]])
    half = np.asarray(extents, dtype=float).reshape(-1, 2) / 2
    low, high = (at - half).min(axis=0), (at + half).max(axis=0)
    at = at - (low + high) / 2
    width, height = high - low
    inner = _turned_to_neighbours(inner, at[len(zone.vertices) :], dict(zip(zone.vertices, at, strict=False)), joined)
    centres = {vertex: at[i] for i, vertex in enumerate(zone.vertices)}
    boxes = []
    for laid, centre in zip(inner, at[len(zone.vertices) :], strict=True):
        centres.update((vertex, place_ + centre) for vertex, place_ in laid.centres.items())
        boxes += [_moved(box, centre) for box in laid.boxes]
    if depth < 0:
        return _Laid((width, height), centres, boxes)
    width = max(width, least_width.get(zone.name, 0.0)) + 2 * _PADDING
    height += 2 * _PADDING + _HEAD
    centres = {vertex: at - (0, _HEAD / 2) for vertex, at in centres.items()}
    boxes = [_moved(box, (0, -_HEAD / 2)) for box in boxes]
    zone_box = ZoneBox(zone.name, depth, -width / 2, -height / 2, width / 2, height / 2)
    return _Laid((width, height), centres, [zone_box, *boxes])


def _turned_to_neighbours(
    inner: Sequence[_Laid], at: Points, fixed: Mapping[int, Points], joined: Sequence[tuple[int, int]]
) -> list[_Laid]:
    """Mirror the contents of each zone so that the lines out of it are short; ``at`` are the centres of the zones."""
    inner = list(inner)
    for _ in range(2):
        for i, laid in enumerate(inner):
            there = dict(fixed)
            for other, centre in zip(inner, at, strict=True):
                if other is not laid:
                    there.update((vertex, place_ + centre) for vertex, place_ in other.centres.items())
            ways = [
                (a, b) if a in laid.centres else (b, a) for a, b in joined if (a in laid.centres) != (b in laid.centres)
            ]
            ways = [(a, b) for a, b in ways if b in there]

            inner[i] = min(_mirrored(laid), key=partial(_length, ways=ways, there=there, centre=at[i]))
    return inner


def _length(laid: _Laid, *, ways: Sequence[tuple[int, int]], there: Mapping[int, Points], centre: Points) -> float:
    """Return the total length of the lines from the contents around ``centre`` to vertices elsewhere."""
    return sum(float(np.linalg.norm(laid.centres[a] + centre - there[b])) for a, b in ways)


def _mirrored(laid: _Laid) -> list[_Laid]:
    """Return the contents and their mirror images, the original first.

    They are not turned upside down if they contain boxes, whose names are at the top.
    """
    inside = laid.boxes[1:]
    shown = []
    for x, y in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        if y < 0 and inside:
            continue
        level = -_HEAD / 2  # height of the middle of the contents
        centres = {v: np.array([x * at[0], y * (at[1] - level) + level]) for v, at in laid.centres.items()}
        boxes = [
            box if x > 0 else ZoneBox(box.name, box.depth, -box.right, box.bottom, -box.left, box.top)
            for box in laid.boxes
        ]
        shown.append(_Laid(laid.size, centres, boxes))
    return shown


def _moved(box: ZoneBox, by: Sequence[float]) -> ZoneBox:
    x, y = float(by[0]), float(by[1])
    return ZoneBox(box.name, box.depth, box.left + x, box.bottom + y, box.right + x, box.top + y)
