"""The parts of a system as a tree: what a page lists and a canvas draws, also while the file is not sound yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from platforms.files.toml_places import Path

TITLES = {
    "system": "System", "wan": "WAN", "lan": "LAN", "node": "Nodes", "unit": "Unit", "disk": "Disk", "link": "Link",
}  # fmt: skip
_MOST_PARTS = 4000


@dataclass(eq=False)
class Part:
    """A part of a system; two are the same only if they are one object."""

    kind: str  # a key of TITLES
    path: Path
    name: str
    values: Mapping[str, Any] = field(default_factory=dict)  # as the file has them; of a disk: none
    parts: list[Part] = field(default_factory=list)
    error: str = ""

    @property
    def id(self) -> str:
        """The path as one word, for pages."""
        return ".".join(map(str, self.path)) or "system"

    @property
    def title(self) -> str:
        """A short description."""
        values, number = self.values, self.values.get("count", 1)
        times = f" \N{MULTIPLICATION SIGN} {number:,}" if isinstance(number, int) and number != 1 else ""
        if self.kind in ("wan", "lan"):
            wire = values.get("network") or "own values"
            return f"{TITLES[self.kind]} {self.name}: {wire}"
        if self.kind == "node":
            return f"{self.name}{times}{f': {processor(values)}' if processor(values) else ''}"
        if self.kind == "unit":
            return f"{'GPU' if 'gpu' in values else 'CPU'} {processor(values)}{times}"
        if self.kind == "disk":
            return f"Disk {self.name}"
        if self.kind == "link":
            return f"Link {self.name}"
        return f"System {self.name}" if self.name else "System"

    @property
    def slots(self) -> str:
        """The labels that a unit takes, in words; empty for other parts, and for units that do not say."""
        given = self.values.get("slots")
        if not isinstance(given, Mapping):
            return ""
        words = [f"{'any label' if label == '*' else label}, up to {number}" for label, number in given.items()]
        return "; ".join(words) or "no processes"

    def all_parts(self) -> Iterator[Part]:
        """Yield this part and the parts in it, in order."""
        yield self
        for part in self.parts:
            yield from part.all_parts()


def processor(values: Mapping[str, Any]) -> str:
    """Return the processors that a node or a unit names, such as ``2 x xeon-e5-2670``; empty if it names none."""
    name = values.get("cpu") or values.get("gpu") or ""
    sockets = values.get("sockets", 1)
    return f"{sockets} x {name}" if name and isinstance(sockets, int) and sockets > 1 else str(name)


def tree_of(values: Mapping[str, Any]) -> Part:
    """Return the tree of a system's values; parts without a name get the ones that the reader gives them."""
    top = Part("system", (), str(values.get("name", "")), values)
    naming = _Naming()
    for key in ("wan", "lan"):
        if isinstance(values.get(key), Mapping):
            make = naming.wan if key == "wan" else naming.lan
            top.parts.append(make(values[key], (key,), key))
    return top


def part_at(tree: Part, path: Path) -> Part:
    """Return the innermost part around what has this path."""
    return max(
        (part for part in tree.all_parts() if path[: len(part.path)] == part.path), key=lambda part: len(part.path)
    )


def part_named(tree: Part, names: Sequence[str]) -> Part:
    """Return the part with these kinds and names, one pair after the other from the outside to the inside."""
    part = tree
    for kind, name in zip(names[::2], names[1::2], strict=True):
        part = next((inner for inner in part.all_parts() if (inner.kind, inner.name) == (kind, name)), part)
    return part


def mark_error(tree: Part, path: Path, text: str) -> Part:
    """Put an error at the innermost part around what has this path, and return the part."""
    part = part_at(tree, path)
    part.error = f"{part.error} {text}".strip()
    return part


class _Naming:
    """Numbers for parts without a name, in the order of ``platforms.system.description``."""

    def __init__(self) -> None:
        self._wans, self._lans, self._groups, self._parts = count(1), count(1), count(1), count()

    def wan(self, values: Mapping[str, Any], path: Path, usual: str | None = None) -> Part:
        made = Part("wan", path, "", values)
        for kind, make in (("wan", self.wan), ("lan", self.lan)):
            made.parts += [make(table, (*path, kind, number)) for number, table in self._tables(values, kind)]
        made.name = self._name(values, usual, "wan", self._wans)
        for number, link in self._tables(values, "links"):
            ends = link.get("between", link.get("to", "?"))
            name = " - ".join(map(str, ends)) if isinstance(ends, list) else f"{ends} - hub"
            made.parts.append(Part("link", (*path, "links", number), name, link))
        return made

    def lan(self, values: Mapping[str, Any], path: Path, usual: str | None = None) -> Part:
        made = Part("lan", path, self._name(values, usual, "lan", self._lans), values)
        made.parts = [self._node(node, (*path, "node", number)) for number, node in self._tables(values, "node")]
        return made

    def _node(self, values: Mapping[str, Any], path: Path) -> Part:
        made = Part("node", path, self._name(values, None, "c", self._groups), values)
        for number, unit in self._tables(values, "unit"):
            kind = "gpu" if "gpu" in unit else "cpu"
            made.parts.append(Part("unit", (*path, "unit", number), str(unit.get("name", kind)), unit))
        disks = values.get("disks", [])
        for number, disk in enumerate(disks if isinstance(disks, list) else ()):
            made.parts.append(Part("disk", (*path, "disks", number), str(disk)))
        return made

    def _tables(self, values: Mapping[str, Any], key: str) -> list[tuple[int, Mapping[str, Any]]]:
        given = values.get(key, [])
        tables = (
            [(n, table) for n, table in enumerate(given) if isinstance(table, Mapping)]
            if isinstance(given, list)
            else []
        )
        return [pair for pair in tables if next(self._parts) < _MOST_PARTS]

    @staticmethod
    def _name(values: Mapping[str, Any], usual: str | None, prefix: str, numbers: Iterator[int]) -> str:
        if "name" in values:
            return str(values["name"])
        return usual if usual is not None else f"{prefix}{next(numbers)}"
