"""Changes of a system of levels: the operations that the canvas and the list of parts offer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from platforms.errors import UserError
from platforms.files.toml_places import Path
from validation.workbench.editing.parts import Part, tree_of
from validation.workbench.editing.toml_edit import TomlEdit, is_within

NEW = """\
[lan]
network = "gigabit-ethernet"

[[lan.node]]
name = "node"
count = 1
cpu = "xeon-e5-2670"
"""
# Parts that can be added, and the kinds of parts that can have them.
ADDED = {
    "lan": ("wan", "lan"), "wan": ("wan",), "link": ("wan",), "node": ("lan",), "cpu": ("node",), "gpu": ("node",),
    "disk": ("node",),
}  # fmt: skip
ADDED_TITLES = {
    "lan": "LAN", "wan": "WAN within", "link": "Link of its own", "node": "Nodes", "cpu": "CPU", "gpu": "GPU",
    "disk": "Disk",
}  # fmt: skip
_MOVES = {"node": ("lan",), "lan": ("wan",), "wan": ("wan",)}  # kind -> kinds that it can be moved into
_UNIT_KEYS = ("cpu", "gpu", "sockets", "slots", "power", "thread_slowdown", "operation_ns")
_LIST = {"link": "links", "cpu": "unit", "gpu": "unit"}  # key of the list, where it is not the kind


class SystemEdit:
    """A system file that is being changed."""

    def __init__(self, text: str):
        """Begin with a text that is sound TOML."""
        self._edit = TomlEdit(text)
        self.tree = tree_of(self._edit.values)

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the file as they are now."""
        return self._edit.values

    def result(self) -> str:
        """Return the changed text."""
        return self._edit.result()

    def part(self, name: str) -> Part:
        """Return the part of an id.

        Raises:
            UserError: There is no such part.
        """
        for candidate in self.tree.all_parts():
            if candidate.id == name:
                return candidate
        raise UserError(f"part {name!r}", "the system has no such part", "Choose one from the list")

    def set_value(self, part: Part, key: str, value: object) -> Path:
        """Give a key of a part a value, ``table.key`` in a table of the part; None removes it.  Return its path."""
        if part.kind == "disk":
            self._set_disks(part, part.path[-1], value)
            return part.path if value is not None else part.path[:-2]
        outer, _, inner = key.partition(".")
        if inner:
            given = part.values.get(outer)
            if isinstance(given, list):  # the ends of a link
                ends = [value if number == int(inner) else end for number, end in enumerate(given)]
                self._edit.set_key(part.path, outer, ["" if end is None else end for end in ends])
                return part.path
            table = {**given, inner: value} if isinstance(given, Mapping) else {inner: value}
            table = {name: entry for name, entry in table.items() if entry is not None}
            self._edit.set_key(part.path, outer, table or None)
        else:
            self._edit.set_key(part.path, outer, value)
        if outer == "name" and isinstance(value, str) and part.kind in ("lan", "wan"):
            self._rename_in_links(part, value)
        return part.path

    def set_values(self, parts: Sequence[Part], key: str, value: object) -> None:
        """Give a key of several parts a value; None removes it."""
        if "." in key or any(part.kind == "disk" for part in parts) or key == "name":
            for part in parts:
                self.set_value(part, key, value)
            return
        self._edit.set_keys([(part.path, key, value) for part in parts])

    def add(self, part: Part, kind: str) -> Path:
        """Add a new part of a kind to a part, and return its path.

        Raises:
            UserError: Such a part cannot have one.
        """
        if part.kind not in ADDED.get(kind, ()):
            raise UserError(f"{part.title}", f"it cannot have a {kind}", "Choose another part first")
        if kind == "lan" and part.kind == "lan":
            return self._add_beside(part)
        if kind == "disk":
            given = part.values.get("disks", [])
            disks = [*(given if isinstance(given, list) else ()), "ssd-sata"]
            self._edit.set_key(part.path, "disks", disks)
            return (*part.path, "disks", len(disks) - 1)
        if kind in ("cpu", "gpu"):
            self._to_units(part)
            if "bus" not in self._edit.table(part.path):
                self._edit.set_key(part.path, "bus", "pcie3-x16")
        if kind == "lan":
            return self._add_lan(part.path)
        made = self._edit.add_table(part.path, _LIST.get(kind, kind), self._new(part, kind))
        if kind == "wan":
            self._add_lan(made)
            self._add_lan(made)
        return made

    def place_for(self, part: Part, kind: str) -> Part:
        """Return the part that gets a new part of a kind, if somebody adds it while this part is chosen.

        It is this part or the nearest one around it that can have such a part, else the first one within it.

        Raises:
            UserError: There is none.
        """
        around = [other for other in self.tree.all_parts() if is_within(part.path, other.path)]
        for other in [*reversed(around), *part.all_parts()]:
            if other.kind in ADDED.get(kind, ()):
                return other
        problem = f"nothing here can have a {ADDED_TITLES.get(kind, kind)}"
        raise UserError(part.title, problem, "Choose another part first")

    def remove(self, parts: Sequence[Part]) -> Path:
        """Remove parts, and return the path of the part that the first one was in."""
        for part in parts:
            if part.kind != "disk" and (not part.path or isinstance(part.path[-1], str)):
                raise UserError(part.title, "a system needs its top level", "Remove parts of it")
        parts = [part for part in parts if not any(_is_inside(part, other) for other in parts)]
        for disk in reversed([part for part in parts if part.kind == "disk"]):
            self._set_disks(disk, disk.path[-1], None)
        self._edit.remove_tables([part.path for part in parts if part.kind != "disk"])
        return parts[0].path[:-2]

    def copy(self, parts: Sequence[Part]) -> list[Path]:
        """Add a copy of each part beside it, with a name of its own, and return their paths."""
        made: list[Path] = []
        for part in sorted(parts, key=lambda part: _order(part.path), reverse=True):  # those before it stay in place
            path = self._copy(part)
            made = [path, *(_after_insertion(other, path) for other in made)]
        return made

    def _copy(self, part: Part) -> Path:
        if part.kind == "disk":
            raise UserError(part.title, "a node has a disk of a name once", "Add another disk")
        if not part.path or isinstance(part.path[-1], str):
            raise UserError(part.title, "a system has one top level", "Copy a part of it")
        made = self._edit.copy_table(part.path)
        if part.kind != "link":
            now = list(tree_of(self._edit.values).all_parts())
            taken = {other.name for other in now}
            names = []
            for inner in now:
                if inner.path == made or (is_within(inner.path, made) and inner.kind in ("node", "lan", "wan")):
                    name = _free(taken, part.name if inner.path == made else inner.name)
                    taken.add(name)
                    names.append((inner.path, "name", name))
            self._edit.set_keys(names)
        return made

    def shift(self, part: Part, *, up: bool) -> Path:
        """Exchange a part with the one before or after it, and return its new path; at the end nothing happens."""
        number = part.path[-1] if part.path else None
        if not isinstance(number, int) or part.kind == "disk":
            return part.path
        siblings = self._edit.table(part.path[:-2])[str(part.path[-2])]
        there = number + (-1 if up else 1)
        if not 0 <= there < len(siblings):
            return part.path
        self._edit.swap_with_next((*part.path[:-1], min(number, there)))
        return (*part.path[:-1], there)

    def connect(self, parts: Sequence[Part], target: Part) -> Path:
        """Connect parts with another one, and return the path of what was changed last.

        Nodes move into a LAN, and a LAN or a WAN into a WAN.  Two levels of the same WAN get a link with values of its
        own; if the WAN is a star, the link from the first one to the hub.
        """
        path: Path = ()
        there = target.path
        for part in sorted(parts, key=lambda part: _order(part.path), reverse=True):
            if target not in targets_of(self.tree, part):
                raise UserError(part.title, f"it cannot be connected with {target.title}", "Choose another part")
            above = _wan_of(self.tree, part)
            if above is not None and target in above.parts:
                path = self._edit.add_table(above.path, "links", self._link(above, part.name, target.name))
                continue
            if isinstance(part.path[-1], str):
                raise UserError(part.title, "it is the top level", "Connect another part")
            path = self._edit.move_table(part.path, there, part.kind)
            there = path[:-2]
        return path

    def _link(self, above: Part, first: str, second: str) -> dict[str, Any]:
        ends: dict[str, Any] = {"between": [first, second]} if above.values.get("shape") == "mesh" else {"to": first}
        return {**ends, "network": above.values.get("network", "wan-metro")}

    def _add_lan(self, above: Path) -> Path:
        """Add a LAN with a node to a WAN."""
        made = self._edit.add_table(above, "lan", self._new(self.tree, "lan"))
        self._edit.add_table(made, "node", self._new(self.tree, "node"))
        return made

    def _new(self, part: Part, kind: str) -> dict[str, Any]:
        """Return the values of a new part."""
        if kind == "node":
            return {"name": self._free_name("node"), "count": 1, "cpu": "xeon-e5-2670"}
        if kind == "lan":
            return {"name": self._free_name("lan1"), "network": "gigabit-ethernet"}
        if kind == "wan":
            return {"name": self._free_name("wan1"), "network": "wan-metro"}
        if kind == "link":
            levels = [level.name for level in part.parts if level.kind != "link"] + ["", ""]
            return self._link(part, levels[0], levels[1])
        now = tree_of(self._edit.values)
        units = [unit.values for unit in now.all_parts() if unit.kind == "unit" and unit.path[:-2] == part.path]
        taken = {str(unit.get("name", "gpu" if "gpu" in unit else "cpu")) for unit in units}
        name = {"name": _free(taken, kind)} if kind in taken else {}
        return {**name, **({"cpu": "xeon-e5-2670"} if kind == "cpu" else {"gpu": "tesla-k40"})}

    def _add_beside(self, part: Part) -> Path:
        """Add a LAN beside a LAN; a system of a single LAN becomes a WAN of two."""
        if part.path == ("lan",):
            self._edit.wrap_table("lan", "wan", {"network": "wan-metro"})
            if "name" not in part.values:
                self._edit.set_key(("wan", "lan", 0), "name", "lan1")
            return self._add_lan(("wan",))
        return self._add_lan(part.path[:-2])

    def _to_units(self, part: Part) -> None:
        """Write the single unit of a node as its first [[unit]]."""
        if "unit" in part.values:
            return
        values = {key: part.values[key] for key in _UNIT_KEYS if key in part.values}
        for key in values:
            self._edit.set_key(part.path, key, None)
        made = self._edit.add_table(part.path, "unit", {})
        for key, value in values.items():
            self._edit.set_key(made, key, value)

    def _set_disks(self, part: Part, number: object, value: object) -> None:
        node = part.path[:-2]
        disks = list(self._edit.table(node)["disks"])
        assert isinstance(number, int)
        disks[number : number + 1] = [] if value is None else [value]
        self._edit.set_key(node, "disks", disks or None)

    def _rename_in_links(self, part: Part, name: str) -> None:
        above = _wan_of(self.tree, part)
        for link in above.parts if above is not None else ():
            if link.kind != "link":
                continue
            if link.values.get("to") == part.name:
                self._edit.set_key(link.path, "to", name)
            ends = link.values.get("between")
            if isinstance(ends, list) and part.name in ends:
                self._edit.set_key(link.path, "between", [name if end == part.name else end for end in ends])

    def _free_name(self, name: str) -> str:
        return _free({part.name for part in tree_of(self._edit.values).all_parts()}, name)


def targets_of(tree: Part, part: Part) -> list[Part]:
    """Return the parts with which a part can be connected: what it can be moved into, and ends of new links."""
    kinds, above = _MOVES.get(part.kind, ()), _wan_of(tree, part)
    reachable = [
        other for other in tree.all_parts()
        if other.kind in kinds and not is_within(other.path, part.path) and other.path != part.path[:-2]
    ]  # fmt: skip
    beside = above.parts if above is not None else ()
    return reachable + [other for other in beside if other.kind != "link" and other is not part]


def _wan_of(tree: Part, part: Part) -> Part | None:
    """Return the WAN that a level is in."""
    if part.kind not in ("lan", "wan"):
        return None
    return next((wan for wan in tree.all_parts() if wan.kind == "wan" and part in wan.parts), None)


def _is_inside(part: Part, other: Part) -> bool:
    return part is not other and is_within(part.path, other.path)


def _order(path: Path) -> tuple[tuple[int, str], ...]:
    """Return what sorts paths as their tables are numbered."""
    return tuple((step, "") if isinstance(step, int) else (-1, step) for step in path)


def _after_insertion(path: Path, inserted: Path) -> Path:
    """Return what a path becomes when an element of a list is inserted."""
    size = len(inserted)
    same_list, new = path[: size - 1] == inserted[:-1] and len(path) >= size, inserted[-1]
    here = path[size - 1] if same_list else None
    if isinstance(here, int) and isinstance(new, int) and here >= new:
        return (*path[: size - 1], here + 1, *path[size:])
    return path


def _free(taken: set[str], name: str) -> str:
    """Return a name that is not taken: the name itself, or with a number after it."""
    stem = re.sub(r"\d+$", "", name) or name
    return next(
        candidate for candidate in (name, *(f"{stem}{k}" for k in range(2, len(taken) + 3))) if candidate not in taken
    )
