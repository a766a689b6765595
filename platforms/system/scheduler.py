"""Place the processes of each label in the slots of compute units.

Processes are never listed one by one: equal ones are one value, so that millions of processes cost no more than a few.
The members of a label are numbered from 0.  Ranks are numbered label by label: first the members of the first label,
then those of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, overload

from platforms.errors import Place, PlatformError, nearest
from platforms.model.placement import Placement
from platforms.system.model import System
from platforms.system.parts import ANY, UnitGroup

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Indices: TypeAlias = "npt.NDArray[np.int64]"
MOST_RANKS = 1_000_000  # in a list of the hosts of all ranks


@dataclass(frozen=True)
class Placed:
    """Processes of one label on consecutive units of a group, with the same number on each unit.

    Process k of unit first + u, for 0 <= k < per_unit and 0 <= u < units, is member
    index + u unit_step + k process_step.
    """

    label: str
    group: UnitGroup
    first: int  # number of the first unit
    units: int  # >= 1
    per_unit: int  # >= 1
    index: int  # number of the first member
    unit_step: int  # difference of member numbers between a unit and the next
    process_step: int  # difference of member numbers between a process of a unit and the next process of the same unit

    @property
    def processes(self) -> int:
        """Number of processes."""
        return self.units * self.per_unit

    @overload
    def unit_of(self, member: int) -> int: ...
    @overload
    def unit_of(self, member: Indices) -> Indices: ...
    def unit_of(self, member: int | Indices) -> int | Indices:
        """Return the number of the unit that a member runs on; an array of members gives an array.

        Only members for which ``has`` is true are allowed.
        """
        offset = member - self.index
        if self.unit_step >= self.process_step:
            return self.first + offset // self.unit_step
        return self.first + offset % self.process_step // self.unit_step

    @overload
    def has(self, member: int) -> bool: ...
    @overload
    def has(self, member: Indices) -> npt.NDArray[np.bool_]: ...
    def has(self, member: int | Indices) -> bool | npt.NDArray[np.bool_]:
        """Return whether a member is among these processes; an array of members gives an array."""
        offset = member - self.index
        if self.unit_step >= self.process_step:  # consecutive members fill a unit, then the next
            return (offset >= 0) & (offset < self.processes)
        within = (offset % self.process_step) < self.units * self.unit_step
        return (offset >= 0) & within & (offset // self.process_step < self.per_unit)


@dataclass(frozen=True)
class Load:
    """Consecutive units of a group with equal processes."""

    group: UnitGroup
    first: int
    units: int
    processes: tuple[tuple[str, int], ...]  # label and number of its processes on each unit, in the order of the labels

    @property
    def threads(self) -> int:
        """Number of processes on each unit."""
        return sum(number for _, number in self.processes)


@dataclass(frozen=True)
class Schedule:
    """The units on which all processes of an application run."""

    system: System
    counts: Mapping[str, int]
    policy: str
    placed: Mapping[str, tuple[Placed, ...]]  # by label, in the order of counts; each tuple covers all members

    def place(self, label: str, member: int) -> tuple[UnitGroup, int]:
        """Return the group and number of the unit that a member of a label runs on.

        Raises:
            PlatformError: There is no such label or member.
        """
        where = f"member {member} of label {label!r}"
        if label not in self.placed:
            raise PlatformError(where, "no such label", nearest(label, self.placed))
        for placement in self.placed[label]:
            if placement.has(member):
                return placement.group, placement.unit_of(member)
        raise PlatformError(where, "no such member", f"Give one from 0 to {self.counts[label] - 1}")

    def loads(self) -> tuple[Load, ...]:
        """Return the processes on all units of the system, group by group, including units without processes."""
        return tuple(load for group in self.system.groups for load in self._loads_of(group))

    def _loads_of(self, group: UnitGroup) -> list[Load]:
        here = [placement for several in self.placed.values() for placement in several if placement.group is group]
        ends = (
            {0, group.units}
            | {placement.first for placement in here}
            | {placement.first + placement.units for placement in here}
        )
        loads: list[Load] = []
        for first, end in pairwise(sorted(ends)):
            on_each: dict[str, int] = {}
            for placement in here:
                if placement.first <= first < placement.first + placement.units:
                    on_each[placement.label] = on_each.get(placement.label, 0) + placement.per_unit
            load = Load(group, first, end - first, tuple(on_each.items()))
            if loads and loads[-1].processes == load.processes:
                loads[-1] = replace(loads[-1], units=loads[-1].units + load.units)
            else:
                loads.append(load)
        return loads

    def placement(self) -> Placement:
        """Return the host of every rank.

        Raises:
            PlatformError: There are more than MOST_RANKS ranks, too many for a simulation.
        """
        ranks = sum(self.counts.values())
        if ranks > MOST_RANKS:
            problem = f"{ranks} processes are too many to simulate one by one"
            raise PlatformError(f"system {self.system.name!r}", problem, f"Give at most {MOST_RANKS}")
        hosts: list[str] = []
        for label, several in self.placed.items():
            of_label = [""] * self.counts[label]
            for placement_there in several:
                for unit in range(placement_there.units):
                    begin = placement_there.index + unit * placement_there.unit_step
                    end = begin + placement_there.per_unit * placement_there.process_step
                    name = placement_there.group.host(placement_there.first + unit)
                    of_label[begin : end : placement_there.process_step] = [name] * placement_there.per_unit
            hosts += of_label
        return tuple(hosts)


def schedule(system: System, counts: Mapping[str, int], policy: str = "fastest") -> Schedule:
    """Place processes in slots, label by label in the order of ``counts``.

    Units that are equal for the policy keep the order of the file.

    Args:
        system: The system whose units are used.
        counts: Number of processes of each label.
        policy: One of POLICIES.  "fastest" fills units with the fastest cores first; "cheapest" fills units with the
            lowest price per process of the label first; both fill a unit before the next one.  "round-robin" deals the
            processes to all units in turn.

    Raises:
        PlatformError: The policy is unknown, there are too few slots, or "cheapest" needs a price that is unknown.
    """
    if policy not in POLICIES:
        raise PlatformError(f"policy {policy!r}", "no such policy", f"Known: {', '.join(POLICIES)}")
    free = _Slots(system)
    placed = {}
    for label, count in counts.items():
        if count < 0:
            raise PlatformError(
                Place(f"label {label!r}", None, ("labels", label)), f"{count} processes", "Give 0 or more"
            )
        pieces = free.of(label)
        slots = sum(piece.units * piece.slots for piece in pieces)
        if count > slots:
            raise _too_few(system, label, count, slots)
        placed[label] = tuple(POLICIES[policy](label, count, pieces))
        free.take(placed[label])
    return Schedule(system, dict(counts), policy, placed)


@dataclass(frozen=True)
class _Piece:
    """Consecutive units of a group with the same number of free slots each."""

    group: UnitGroup
    first: int
    units: int
    slots: int  # >= 1


class _Slots:
    """The free slots.  A label takes its own slots first, then those of ANY, which all labels share."""

    def __init__(self, system: System):
        whole = ((group, 0, group.units, dict(group.unit.slots)) for group in system.groups)
        self._free = {id(group): [_Free(group, first, units, slots)] for group, first, units, slots in whole}

    def of(self, label: str) -> list[_Piece]:
        """Return the free slots for a label, in the order of the units."""
        pieces: list[_Piece] = []
        for space in (space for several in self._free.values() for space in several):
            slots = _slots(space.slots, label)
            last = pieces[-1] if pieces else None
            if last and last.group is space.group and last.slots == slots and last.first + last.units == space.first:
                pieces[-1] = replace(last, units=last.units + space.units)
            elif slots:
                pieces.append(_Piece(space.group, space.first, space.units, slots))
        return pieces

    def take(self, placed: Sequence[Placed]) -> None:
        """Remove the slots that these processes occupy."""
        for placement in placed:
            self._free[id(placement.group)] = [
                part for free in self._free[id(placement.group)] for part in _less(free, placement)
            ]


@dataclass(frozen=True)
class _Free:
    """Consecutive units of a group with the same free slots."""

    group: UnitGroup
    first: int
    units: int
    slots: Mapping[str, int]  # by label


def _slots(slots: Mapping[str, int], label: str) -> int:
    """Return how many of these slots a label may use: its own and those for any label."""
    reserved = 0 if label == ANY else slots.get(label, 0)
    return reserved + slots.get(ANY, 0)


def _less(free: _Free, taken: Placed) -> Iterator[_Free]:
    """Yield what is left of free slots after some are taken, in up to three parts."""
    begin, end = max(free.first, taken.first), min(free.first + free.units, taken.first + taken.units)
    if begin >= end:
        yield free
        return
    if free.first < begin:
        yield replace(free, units=begin - free.first)
    reserved = 0 if taken.label == ANY else min(free.slots.get(taken.label, 0), taken.per_unit)
    left = dict(free.slots)
    if reserved:
        left[taken.label] -= reserved
    if taken.per_unit > reserved:
        left[ANY] -= taken.per_unit - reserved
    yield replace(free, first=begin, units=end - begin, slots=left)
    if end < free.first + free.units:
        yield replace(free, first=end, units=free.first + free.units - end)


def _fill(label: str, count: int, pieces: Sequence[_Piece]) -> Iterator[Placed]:
    """Fill one unit after the other."""
    index = 0
    for piece in pieces:
        full, rest = divmod(min(count - index, piece.units * piece.slots), piece.slots)
        if full:
            yield Placed(label, piece.group, piece.first, full, piece.slots, index, piece.slots, 1)
        if rest:
            yield Placed(label, piece.group, piece.first + full, 1, rest, index + full * piece.slots, rest, 1)
        index += full * piece.slots + rest


def _fastest(label: str, count: int, pieces: Sequence[_Piece]) -> Iterator[Placed]:
    return _fill(label, count, sorted(pieces, key=lambda piece: -piece.group.unit.speed_flops))


def _cheapest(label: str, count: int, pieces: Sequence[_Piece]) -> Iterator[Placed]:
    def price_usd(piece: _Piece) -> float:
        unit = piece.group.unit
        if unit.price_usd is None:
            where = f"unit {piece.group.name}"
            raise PlatformError(where, "its price is not known", "Give it one in a hardware file, or another policy")
        return unit.price_usd / _slots(dict(unit.slots), label)

    return _fill(label, count, sorted(pieces, key=price_usd))


def _round_robin(label: str, count: int, pieces: Sequence[_Piece]) -> Iterator[Placed]:
    """Give one process to each unit with a free slot in each round; rounds over the same units are one value."""
    index, done = 0, 0
    for level in sorted({piece.slots for piece in pieces}):
        open_pieces = [piece for piece in pieces if piece.slots >= level]
        units = sum(piece.units for piece in open_pieces)
        rounds = min(level - done, (count - index) // units)
        if rounds:
            offset = index
            for piece in open_pieces:
                step = 1 if units > 1 else rounds  # a single unit is filled
                yield Placed(label, piece.group, piece.first, piece.units, rounds, offset, step, units)
                offset += piece.units
            index += rounds * units
        if done + rounds < level:  # the last round, in which not all units get a process
            for piece in open_pieces:
                taken = min(piece.units, count - index)
                if taken:
                    yield Placed(label, piece.group, piece.first, taken, 1, index, 1, 1)
                index += taken
            return
        done = level


POLICIES: dict[str, Callable[[str, int, Sequence[_Piece]], Iterator[Placed]]] = {
    "fastest": _fastest,
    "round-robin": _round_robin,
    "cheapest": _cheapest,
}


def _too_few(system: System, label: str, count: int, slots: int) -> PlatformError:
    where = f"system {system.name!r}, label {label!r}"
    labels = dict.fromkeys(label for group in system.groups for label, _ in group.unit.slots)
    if not labels:
        return PlatformError(where, "no unit has slots for any label", "Give units slots, such as { slave = 4 }")
    if label not in labels and ANY not in labels:
        return PlatformError(where, "no unit has slots for it", nearest(label, labels))
    problem = f"{count} processes, but {slots} free slots"
    return PlatformError(where, problem, "Give more nodes or slots, or fewer processes")
