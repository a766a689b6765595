"""Positions of the parts of a system on a canvas, and the lines between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from validation.workbench.editing.folding import Folds, Shown, shown
from validation.workbench.editing.parts import TITLES, Part, processor

_WIDE, _HIGH = 190.0, 84.0  # of the place of a switch
_LINE, _LETTERS = 17.0, 22  # height of a line of a label, and letters in it
_GAP, _SPACE = 60.0, 26.0  # between groups, and between the parts of a node
_ROW = 100.0  # between rows of levels, with the labels above them
_PER_ROW = 4  # groups of nodes
_LEAST_ROW = 1500.0  # width of a row of levels, unless there are many
_TITLE_LETTERS = 19  # of the title of a box, which leaves room for the link at its right
_ASIDE = 40.0  # from the middle of a LAN's switch to where the link from above arrives
Positions = Mapping[str, tuple[float, float]]
Element = dict[str, Any]


@dataclass(frozen=True)
class Notes:
    """Facts about the units on a canvas besides the file: by the names of their groups."""

    placed: Mapping[str, str] = field(default_factory=dict)  # what is placed there, in words
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by what colours can show
    nodes: Mapping[str, int] = field(default_factory=dict)  # number of nodes


@dataclass
class _Drawing:
    """Elements that are collected; boxes have no positions of their own."""

    saved: Positions
    notes: Notes
    elements: list[Element] = field(default_factory=list)

    def box(self, part: Part, label: str, above: str | None) -> str:
        """Add the box of a part with others in it, and return its id."""
        self._add(part.id, label, above, part=part, classes=f"{part.kind} box", wrong=bool(part.error))
        return part.id

    def leaf(
        self, part: Part, name: str, label: str, at: tuple[float, float], *, kind: str, above: str | None,
        ending: str = "", wrong: str = "", figures: Mapping[str, float] | None = None,
    ) -> str:  # fmt: skip
        """Add a symbol, and return its id, which is that of the part with an ending.

        Args:
            part: The part.
            name: The name of its position.
            label: Its label.
            at: Its position, unless the user has moved it.
            kind: Its classes.
            above: The id of the box that it is in.
            ending: The ending of its id, if the part has a box too.
            wrong: Its error, if that is not the one of the part.
            figures: What colours can show.
        """
        self._add(part.id + ending, label, above, part=part, classes=kind, key=name, wrong=bool(wrong or part.error))
        element = self.elements[-1]
        element["position"] = {"x": at[0], "y": at[1]}
        element["data"] |= {"high": _height(label), **({"figures": dict(figures)} if figures else {})}
        return part.id + ending

    def line(self, first: str, second: str, label: str = "", part: Part | None = None, kind: str = "") -> None:
        """Add a line between two symbols; ``part`` is the one that it stands for, if there is one."""
        data = {"id": f"{first}>{second}" if part is None else part.id, "source": first, "target": second,
                "label": label, "part": "" if part is None else part.id}  # fmt: skip
        classes = f"link {kind}" if part is None else f"link own {kind}{' wrong' if part.error else ''}"
        self.elements.append({"group": "edges", "data": data, "classes": classes})

    def shift(self, begun: int, end: int, x: float, y: float) -> None:
        """Move the symbols from one element to before another one."""
        for element in self.elements[begun:end]:
            if "position" in element:
                element["position"]["x"] += x
                element["position"]["y"] += y

    def finished(self) -> list[Element]:
        """Return the elements, those that the user has moved where they were moved to."""
        for element in self.elements:
            if "position" in element and element["data"]["key"] in self.saved:
                element["position"] = dict(zip("xy", self.saved[element["data"]["key"]], strict=True))
        return self.elements

    def _add(self, name: str, label: str, above: str | None, *, part: Part, classes: str, key: str = "",
             wrong: bool = False) -> None:  # fmt: skip
        data = {"id": name, "label": label, "part": part.id, "key": key}
        if above is not None:
            data["parent"] = above
        self.elements.append({"group": "nodes", "data": data, "classes": f"{classes}{' wrong' if wrong else ''}"})


def elements_of(tree: Part | Shown, saved: Positions, *, notes: Notes | None = None) -> list[Element]:
    """Return the elements of a canvas, as Cytoscape.js takes them.

    Args:
        tree: The parts, or what is shown of them.
        saved: Positions that the user gave to symbols, by their names.
        notes: What is known of the units besides the file.
    """
    top = tree if isinstance(tree, Shown) else shown(tree, Folds())
    drawing = _Drawing(saved, notes or Notes())
    for level in top.inner:
        _level(drawing, level, None, "")
    return drawing.finished()


def _level(d: _Drawing, level: Shown, above: str | None, name: str) -> tuple[str, float, float]:
    """Draw a LAN, a WAN, or what is folded, with its upper left symbol at 0, 0; return its hub, width and height."""
    name = f"{name}{level.part.name}"
    if level.is_folded or level.range_parts:
        return _folded(d, level, above, name)
    wire = _short(str(level.part.values.get("network") or "own values"))
    box = d.box(level.part, f"{_short(f'{TITLES[level.part.kind]} {level.part.name}')}\n{wire}", above)
    return (_lan if level.part.kind == "lan" else _wan)(d, level, box, name)


def _folded(d: _Drawing, level: Shown, above: str | None, name: str) -> tuple[str, float, float]:
    title = "" if level.range_parts else f"{_short(f'{TITLES[level.part.kind]} {level.part.name}')}\n"
    label = f"{title}{level.summary}"
    ending, kind = (":range", "folded range") if level.range_parts else ("", f"folded {level.part.kind}")
    symbol = d.leaf(level.part, f"{name}/folded", label, (0.0, _height(label) / 2), kind=kind, above=above,
                    ending=ending, wrong=level.error, figures=_mean_figures(d, level.groups))  # fmt: skip
    return symbol, _WIDE, _height(label)


def _wan(d: _Drawing, level: Shown, box: str, name: str) -> tuple[str, float, float]:
    part = level.part
    levels = [inner for inner in level.inner if inner.part.kind != "link"]
    mesh = part.values.get("shape") == "mesh"
    begun = len(d.elements)
    drawn_levels = []
    for inner in levels:
        first = len(d.elements)
        drawn_levels.append((first, *_level(d, inner, box, f"{name}/")))
    wide, high = _in_rows(d, drawn_levels)
    hubs = {inner.part.name: hub for inner, (_, hub, _, _) in zip(levels, drawn_levels, strict=True)}
    kind = "pair" if mesh else "star"
    middle = d.leaf(part, name, "mesh: each pair" if mesh else "hub", (wide / 2 - _WIDE / 2, 0.0), kind="hub",
                    above=box, ending=":net")  # fmt: skip
    d.elements.insert(begun, d.elements.pop())
    _wan_lines(d, part, hubs, middle, kind)
    return middle, wide, high + _HIGH + _ROW


def _in_rows(d: _Drawing, levels: Sequence[tuple[int, str, float, float]]) -> tuple[float, float]:
    """Put levels that were drawn at 0, 0 into rows below the hub; return the width and the height of all rows."""
    if not levels:
        return _WIDE, 0.0
    area = sum((wide + _GAP) * (high + _ROW) for _, _, wide, high in levels)
    most = max(_LEAST_ROW, 1.6 * area**0.5)
    ends = [first for first, *_ in levels[1:]] + [len(d.elements)]
    x, y, widest, row_high = 0.0, _HIGH + _ROW, _WIDE, 0.0
    for (first, _, wide, high), end in zip(levels, ends, strict=True):
        if x and x + wide > most:
            x, y, row_high = 0.0, y + row_high + _ROW, 0.0
        d.shift(first, end, x, y)
        x, row_high = x + wide + _GAP, max(row_high, high)
        widest = max(widest, x - _GAP)
    return widest, y + row_high - _HIGH - _ROW


def _wan_lines(d: _Drawing, part: Part, hubs: Mapping[str, str], middle: str, kind: str) -> None:
    """Draw the links of a WAN: those with values of their own, then the others."""
    drawn: set[frozenset[str]] = set()
    for link in (inner for inner in part.parts if inner.kind == "link"):
        ends = link.values.get("between", [link.values.get("to"), ""])
        names = [str(end) for end in ends[:2]] if isinstance(ends, list) else []
        if len(names) != 2 or not all(end == "" or end in hubs for end in names):
            continue
        drawn.add(frozenset(names))
        here, there = (hubs[end] if end else middle for end in names)
        first, second = (there, here) if names[1] == "" else (here, there)
        d.line(first, second, str(link.values.get("network", "own values")), link, kind)
    names = list(hubs)
    for number, name in enumerate(names):
        for other in names[number + 1 :] if kind == "pair" else [""]:
            if frozenset((name, other)) not in drawn:
                d.line(middle if other == "" else hubs[other], hubs[name], kind=kind)


def _lan(d: _Drawing, level: Shown, box: str, name: str) -> tuple[str, float, float]:
    columns = max(1, min(_PER_ROW, len(level.inner)))
    if len(level.inner) > 3 * _PER_ROW:
        columns = max(columns, round((1.5 * len(level.inner)) ** 0.5))
    wide = columns * (_WIDE + _GAP) - _GAP
    # At the right of its row: the title of the box is at the left, and the link from above arrives at the right.
    switch = d.leaf(level.part, name, "switch", (wide - _WIDE + _ASIDE / 2, 0.0), kind="switch", above=box,
                    ending=":net")  # fmt: skip
    top, high = _HIGH + _GAP / 2, 0.0
    for number, group in enumerate(level.inner):
        column = number % columns
        if number and column == 0:
            top, high = top + high + _GAP, 0.0
        begun = len(d.elements)
        if group.range_parts:
            symbol, _, group_high = _folded(d, group, box, f"{name}/{group.part.name}")
            d.line(switch, symbol, kind="lane")
        else:
            group_high = _node(d, group.part, box, f"{name}/{group.part.name}", switch)
        d.shift(begun, len(d.elements), column * (_WIDE + _GAP), top)
        high = max(high, group_high)
    return switch, wide, top + high


def _node(d: _Drawing, part: Part, above: str, name: str, switch: str) -> float:
    """Draw a group of nodes and its link to the switch, and return its height."""
    y = 0.0
    number = part.values.get("count", 1)
    times = f" \N{MULTIPLICATION SIGN} {number:,}" if isinstance(number, int) and number != 1 else ""
    box = d.box(part, f"{_short(part.name, _TITLE_LETTERS - len(times))}{times}", above)
    units = [unit for unit in part.parts if unit.kind == "unit"]
    first = before = ""
    for device in units or [part]:
        label, figures = _unit_label(d, part, device), _figures(d, part, device)
        unit = d.leaf(device, f"{name}/{device.name}", label, (0.0, y + _height(label) / 2), above=box,
                      kind="gpu" if "gpu" in device.values else "cpu", ending="" if units else ":unit",
                      figures=figures)  # fmt: skip
        if first:
            bus = str(device.values.get("bus", part.values.get("bus", "")))
            near = before == first
            d.line(first, unit, bus if near else "", kind="bus" if near else "bus far")
        first, before = first or unit, unit
        y += _height(label) + _SPACE
    for inner in part.parts:
        if inner.kind == "disk":
            place = (0.0, y + _height(inner.name) / 2)
            disk = d.leaf(inner, f"{name}/disk {inner.name}", inner.name, place, kind="disk", above=box)
            d.line(first, disk, kind="bus" if before == first else "bus far")
            before = disk
            y += _height(inner.name) + _SPACE
    d.line(switch, first, kind="lane")
    return y


def _height(label: str) -> float:
    """Return the height of a symbol with a label."""
    lines = sum(-(-len(line) // _LETTERS) for line in label.split("\n"))
    return max(2, lines) * _LINE + 16


def _short(text: str, most: int = _TITLE_LETTERS) -> str:
    return text if len(text) <= most else f"{text[: max(most - 1, 3)]}\N{HORIZONTAL ELLIPSIS}"


def _unit_label(d: _Drawing, node: Part, unit: Part) -> str:
    number = unit.values.get("count", 1) if unit is not node else 1
    times = f" \N{MULTIPLICATION SIGN} {number}" if isinstance(number, int) and number != 1 else ""
    placed = d.notes.placed.get(group_name(node, unit), "")
    lines = [f"{processor(unit.values) or 'no processor'}{times}", unit.slots, placed]
    return "\n".join(line for line in lines if line)


def group_name(node: Part, unit: Part) -> str:
    """Return the name of a group of units, as a system calls it."""
    return node.name if unit is node else f"{node.name}.{unit.name}"


def _figures(d: _Drawing, node: Part, unit: Part) -> Mapping[str, float]:
    return d.notes.figures.get(group_name(node, unit), {})


def _mean_figures(d: _Drawing, groups: Iterable[Part]) -> dict[str, float]:
    """Return the means over the units of groups of nodes."""
    sums: dict[str, float] = {}
    weights: dict[str, int] = {}
    for node in groups:
        for unit in [inner for inner in node.parts if inner.kind == "unit"] or [node]:
            many = d.notes.nodes.get(group_name(node, unit), 1)
            for key, value in _figures(d, node, unit).items():
                sums[key] = sums.get(key, 0.0) + many * value
                weights[key] = weights.get(key, 0) + many
    return {key: total / weights[key] for key, total in sums.items()}
