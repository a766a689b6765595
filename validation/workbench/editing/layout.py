"""Positions of the parts of a system on a canvas, and the lines between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from validation.workbench.editing.parts import Part, processor

_WIDE, _HIGH = 190.0, 84.0  # of the place of a switch
_LINE, _LETTERS = 17.0, 22  # height of a line of a label, and letters in it
_GAP, _SPACE = 60.0, 26.0  # between groups, and between the parts of a node
_PER_ROW = 4  # groups of nodes
Positions = Mapping[str, tuple[float, float]]


@dataclass
class _Drawing:
    """Elements that are collected; boxes have no positions of their own."""

    saved: Positions
    placed: Mapping[str, str]
    selected: str
    elements: list[dict[str, Any]] = field(default_factory=list)

    def box(self, part: Part, label: str, above: str | None) -> str:
        """Add the box of a part with others in it, and return its id."""
        self._add(part, part.id, label, above, kind=part.kind, box=True)
        return part.id

    def leaf(
        self, part: Part, name: str, label: str, at: tuple[float, float], *, kind: str, above: str, ending: str = ""
    ) -> str:  # fmt: skip
        """Add a symbol, and return its id, which is that of the part with an ending.

        Args:
            part: The part.
            name: The name of its position.
            label: Its label.
            at: Its position, unless the user has moved it.
            kind: Its class.
            above: The id of the box that it is in.
            ending: The ending of its id, if the part has a box too.
        """
        x, y = self.saved.get(name, at)
        self._add(part, part.id + ending, label, above, kind=kind, key=name)
        self.elements[-1]["position"] = {"x": x, "y": y}
        self.elements[-1]["data"]["high"] = _height(label)
        return part.id + ending

    def line(self, first: str, second: str, label: str = "", part: Part | None = None, kind: str = "") -> None:
        """Add a line between two symbols; ``part`` is the one that it stands for, if there is one."""
        data = {"id": f"{first}>{second}" if part is None else part.id, "source": first, "target": second,
                "label": label, "part": "" if part is None else part.id}  # fmt: skip
        classes = f"link {kind}" if part is None else f"link own {kind}{' wrong' if part.error else ''}"
        self.elements.append({"group": "edges", "data": data, "classes": classes, "selected": self._chosen(part)})

    def _add(self, part: Part, name: str, label: str, above: str | None, *, kind: str, key: str = "",
             box: bool = False) -> None:  # fmt: skip
        data = {"id": name, "label": label, "part": part.id, "key": key}
        if above is not None:
            data["parent"] = above
        classes = f"{kind}{' box' if box else ''}{' wrong' if part.error else ''}"
        self.elements.append({"group": "nodes", "data": data, "classes": classes,
                              "selected": name == part.id and self._chosen(part)})  # fmt: skip

    def _chosen(self, part: Part | None) -> bool:
        return part is not None and part.id == self.selected


def elements_of(
    tree: Part, saved: Positions, *, placed: Mapping[str, str] | None = None, selected: str = ""
) -> list[dict[str, Any]]:
    """Return the elements of a canvas, as Cytoscape.js takes them.

    Args:
        tree: The parts.
        saved: Positions that the user gave to symbols, by their names.
        placed: What is placed on each group of units, in words, by the names of the groups.
        selected: The id of the part that is chosen.
    """
    drawing = _Drawing(saved, placed or {}, selected)
    for level in tree.parts:
        _level(drawing, level, None, 0.0, 0.0, "")
    return drawing.elements


def _level(d: _Drawing, part: Part, above: str | None, x: float, y: float, name: str) -> tuple[str, float, float]:
    """Draw a LAN or a WAN; return the id of its switch or hub, its width and its height."""
    name = f"{name}{part.name}"
    draw = _lan if part.kind == "lan" else _wan
    return draw(d, part, d.box(part, part.title, above), (x, y), name)


def _wan(d: _Drawing, part: Part, box: str, at: tuple[float, float], name: str) -> tuple[str, float, float]:
    x, y = at
    levels = [level for level in part.parts if level.kind != "link"]
    begun = len(d.elements)
    hubs, wide, high = {}, 0.0, 0.0
    for level in levels:
        hub, width, height = _level(d, level, box, x + wide, y + _HIGH + _GAP, f"{name}/")
        hubs[level.name] = hub
        wide, high = wide + width + _GAP, max(high, height)
    wide = max(wide - _GAP, _WIDE)
    mesh = part.values.get("shape") == "mesh"
    kind = "pair" if mesh else ""
    middle = d.leaf(part, name, "mesh: each pair" if mesh else "hub", (x + wide / 2 - _WIDE / 2, y), kind="hub",
                    above=box, ending=":net")  # fmt: skip
    d.elements.insert(begun, d.elements.pop())
    links = [link for link in part.parts if link.kind == "link"]
    drawn: set[frozenset[str]] = set()
    for link in links:
        ends = link.values.get("between", [link.values.get("to"), ""])
        names = [str(end) for end in ends[:2]] if isinstance(ends, list) else []
        symbols = [hubs.get(end, middle if end == "" else None) for end in names]
        if len(symbols) == 2 and symbols[0] is not None and symbols[1] is not None:
            drawn.add(frozenset(names))
            d.line(symbols[0], symbols[1], str(link.values.get("network", "own values")), link, kind)
    for number, level in enumerate(levels):
        others = [other.name for other in levels[number + 1 :]] if mesh else [""]
        for other in others:
            if frozenset((level.name, other)) not in drawn:
                d.line(hubs[level.name], middle if other == "" else hubs[other], kind=kind)
    return middle, wide, high + _HIGH + _GAP


def _lan(d: _Drawing, part: Part, box: str, at: tuple[float, float], name: str) -> tuple[str, float, float]:
    x, y = at
    columns = max(1, min(_PER_ROW, len(part.parts)))
    wide = columns * (_WIDE + _GAP) - _GAP
    switch = d.leaf(part, name, "switch", (x + wide / 2 - _WIDE / 2, y), kind="switch", above=box, ending=":net")
    top, high = y + _HIGH + _GAP / 2, 0.0
    for number, node in enumerate(part.parts):
        column = number % columns
        if number and column == 0:
            top, high = top + high + _GAP, 0.0
        high = max(high, _node(d, node, box, (x + column * (_WIDE + _GAP), top), (f"{name}/{node.name}", switch)))
    return switch, wide, top + high - y


def _node(d: _Drawing, part: Part, above: str, at: tuple[float, float], ends: tuple[str, str]) -> float:
    """Draw a group of nodes and its link to the switch, and return its height."""
    x, y = at
    name, switch = ends
    number = part.values.get("count", 1)
    times = f" \N{MULTIPLICATION SIGN} {number:,}" if isinstance(number, int) and number != 1 else ""
    box = d.box(part, f"{part.name}{times}", above)
    units = [unit for unit in part.parts if unit.kind == "unit"]
    first = ""
    for device in units or [part]:
        label = _unit_label(d, part, device)
        unit = d.leaf(device, f"{name}/{device.name}", label, (x, y + _height(label) / 2), above=box,
                      kind="gpu" if "gpu" in device.values else "cpu", ending="" if units else ":unit")  # fmt: skip
        if first:
            d.line(first, unit, str(device.values.get("bus", part.values.get("bus", ""))))
        first = first or unit
        y += _height(label) + _SPACE
    for inner in part.parts:
        if inner.kind == "disk":
            place = (x, y + _height(inner.name) / 2)
            d.line(first, d.leaf(inner, f"{name}/disk {inner.name}", inner.name, place, kind="disk", above=box))
            y += _height(inner.name) + _SPACE
    d.line(switch, first)
    return y - at[1]


def _height(label: str) -> float:
    """Return the height of a symbol with a label."""
    lines = sum(-(-len(line) // _LETTERS) for line in label.split("\n"))
    return max(2, lines) * _LINE + 16


def _unit_label(d: _Drawing, node: Part, unit: Part) -> str:
    name = node.name if unit is node else f"{node.name}.{unit.name}"
    number = unit.values.get("count", 1) if unit is not node else 1
    times = f" \N{MULTIPLICATION SIGN} {number}" if isinstance(number, int) and number != 1 else ""
    lines = [f"{processor(unit.values) or 'no processor'}{times}", unit.slots, d.placed.get(name, "")]
    return "\n".join(line for line in lines if line)
