"""Selection of the parts of a large system that a page shows: the others are folded into their level or a range."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from validation.workbench.editing.parts import Part

MOST_UNFOLDED = 60  # groups of nodes of a system that is shown whole, and parts of a level that has no ranges
RANGE = 50  # parts of a level that are shown or folded together


@dataclass(frozen=True)
class Folds:
    """The levels that the user folded and unfolded, by ids, and the part that is chosen."""

    chosen: str = ""
    unfolded: Collection[str] = ()
    folded: Collection[str] = ()


@dataclass
class Shown:
    """A part as it is shown, or a range of parts that are folded."""

    part: Part  # of a range: its first one
    inner: list[Shown] = field(default_factory=list)
    is_folded: bool = False  # a level without what is in it
    range_parts: list[Part] = field(default_factory=list)  # of a range: its parts

    @property
    def parts(self) -> list[Part]:
        """The parts that it stands for."""
        return self.range_parts or [self.part]

    @property
    def groups(self) -> list[Part]:
        """The groups of nodes in it."""
        return [inner for part in self.parts for inner in part.all_parts() if inner.kind == "node"]

    @property
    def summary(self) -> str:
        """The number of groups and nodes that are folded, in words."""
        groups = self.groups
        nodes = sum(count for part in groups if isinstance(count := part.values.get("count", 1), int))
        many = f"{len(groups):,} {'group' if len(groups) == 1 else 'groups'}, {nodes:,} nodes"
        if self.range_parts:
            return f"{self.part.name} to {self.range_parts[-1].name}: {many}"
        return many

    @property
    def error(self) -> str:
        """The first error of what it stands for."""
        inside = self.is_folded or bool(self.range_parts)
        all_parts = (inner for part in self.parts for inner in (part.all_parts() if inside else (part,)))
        return next((part.error for part in all_parts if part.error), "")

    def all_shown(self) -> Iterator[Shown]:
        """Yield this one and what is shown in it."""
        yield self
        for inner in self.inner:
            yield from inner.all_shown()


def shown(tree: Part, folds: Folds) -> Shown:
    """Return what is shown of a system.

    A system with more than MOST_UNFOLDED groups has its LANs folded, but for the one that is chosen or has the chosen
    part; a level with more parts than that shows the range that has the chosen part, else the first one.
    """
    small = sum(part.kind == "node" for part in tree.all_parts()) <= MOST_UNFOLDED
    return _shown(tree, folds, small)


def _shown(part: Part, folds: Folds, small: bool) -> Shown:
    if part.kind == "lan" or (part.kind == "wan" and part.id in folds.folded):
        here = part.id == folds.chosen
        inside = folds.chosen.startswith(f"{part.id}.")
        is_open = inside or part.id in folds.unfolded or (part.id not in folds.folded and (small or here))
        if not is_open:
            return Shown(part, is_folded=True)
    if len(part.parts) <= MOST_UNFOLDED:
        return Shown(part, [_shown(inner, folds, small) for inner in part.parts])
    ranges = [part.parts[first : first + RANGE] for first in range(0, len(part.parts), RANGE)]
    with_chosen = [_has(parts, folds.chosen) for parts in ranges]
    unfolded = with_chosen.index(True) if any(with_chosen) else 0
    made = Shown(part)
    for number, parts in enumerate(ranges):
        if number == unfolded:
            made.inner += [_shown(inner, folds, small) for inner in parts]
        else:
            made.inner.append(Shown(parts[0], range_parts=parts))
    return made


def _has(parts: list[Part], chosen: str) -> bool:
    return any(chosen == part.id or chosen.startswith(f"{part.id}.") for part in parts)
