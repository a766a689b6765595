"""The recording that a program is expected to have on any number of ranks, by its structure."""

from __future__ import annotations

import math
import resource
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from apps.recording.events import EVENT, Kind, Recording
from predictor.learned.axes import assumption
from predictor.learned.errors import CannotContinue, TooMany
from predictor.learned.grids import coordinates
from predictor.learned.learn import by_member
from predictor.learned.matching import AS_SENT, check_matched, hashes, take_sizes_as_sent
from predictor.learned.models import Notes, NumberModel, evaluate, parts_of_fit
from predictor.learned.nest import Node
from predictor.learned.rows import Rows
from predictor.learned.structure import ANY_KIND, FIRST_SYMBOL, NOTHING, AllOpen, Leaf, Structure

Members: TypeAlias = tuple[tuple[int, ...], ...]  # of each communicator

_OPENS = (Kind.SEND, Kind.RECV)
_EVENT_BYTES = 320  # of memory for each event until the program is evaluated (docs/results/growth.md)
_SAMPLE = 8  # ranks, from the middle, whose events show how many all ranks have
_MESSAGES_PER_S = 4e6  # that an evaluation takes (docs/results/growth.md)
_CHECKED = 1 / 16  # part of the free memory from which on it is checked whether all events will fit
_NOT_KNOWN = -(1 << 30)  # number of open operations of a kind


def generate(structure: Structure, nranks: int, *, notes: Notes | None = None) -> Recording:
    """Return the recording on ``nranks`` ranks.

    Args:
        structure: The structure of the program.
        nranks: Number of ranks.
        notes: Collects what makes it doubtful, and chooses among formulas that differ.

    Raises:
        CannotContinue: What would be needed was never seen, a number would not be whole, or sends and receives, which
            are derived apart, do not match.
    """
    communicators = structure.communicators.at(nranks)
    made = generate_part(structure, nranks, range(nranks), communicators, Notes() if notes is None else notes)
    events = tuple(made.events[begin:end] for begin, end in pairwise(made.bounds.tolist()))
    paths = tuple(symbol.path[::-1] for symbol in structure.symbols)
    return Recording(events, made.counts, communicators[0], paths=paths)


def check_room(part: Part, nranks: int, *, event_bytes: float, rank_bytes: float = 0.0) -> None:
    """Check, by the events of some ranks, that those of all fit into the memory that is free.

    Args:
        part: The events of some ranks.
        nranks: Number of all ranks.
        event_bytes: Memory that each event takes until the program is evaluated.
        rank_bytes: Memory that each rank takes besides.

    Raises:
        TooMany: They do not fit.
    """
    times = nranks / (len(part.bounds) - 1)
    events, messages = (times * count for count in (len(part.events), _sends(part.events)))
    needed, free = nranks * rank_bytes + events * event_bytes, free_bytes()
    if needed > free:
        raise TooMany(
            f"its {events:.2g} events there would take {needed / 1e9:.3g} GB of memory, and {free / 1e9:.3g} GB are "
            f"free; each evaluation of its {messages:.2g} messages would take {messages / _MESSAGES_PER_S:.2g} s"
        )


def _sends(events: np.ndarray) -> int:
    """Return the number of messages that ranks send, two for each collective."""
    kind = events["kind"]
    return int((kind == Kind.SEND).sum() + 2 * (kind == Kind.COLLECTIVE).sum())


class Part(NamedTuple):
    """The events of some ranks one after the other: those of the i-th from ``bounds[i]`` to ``bounds[i + 1]``."""

    events: np.ndarray
    bounds: np.ndarray
    counts: tuple[np.ndarray, ...]  # as in Recording, by rank


def generate_part(
    structure: Structure, nranks: int, ranks: range, communicators: tuple[Members, np.ndarray], notes: Notes
) -> Part:
    """Return the events of some of the ranks.

    Args:
        structure: The structure of the program.
        nranks: Number of all ranks.
        ranks: Those that are asked for.  Only of all of them is it checked that sends and receives match.
        communicators: Those on all ranks, as ``Communicators.at`` gives them.
        notes: As for ``generate``; so are the errors.
    """
    walk = _Walk(structure, nranks, ranks, *communicators, notes)
    walk.notes.assumed |= assumption(structure, nranks)
    none = np.empty((len(ranks), 0), np.int64)
    walk.visit(structure.root, _Where(np.array(ranks), none, none, none))
    return walk.assembled()


@dataclass(frozen=True)
class _Where:
    """The ranks that execute a body together, and the loops around it."""

    ranks: np.ndarray
    index: np.ndarray  # ranks x loops
    turns: np.ndarray
    turn: np.ndarray

    def deeper(self, keep: np.ndarray, index: int, turns: np.ndarray, turn: np.ndarray) -> _Where:
        """Return the ranks of a mask in a turn of one more loop; ``turns`` and ``turn`` are of the kept ranks."""
        added = (np.full(len(turns), index), turns, turn)
        columns = (self.index, self.turns, self.turn)
        return _Where(
            self.ranks[keep], *(np.column_stack([row[keep], more]) for row, more in zip(columns, added, strict=True))
        )


@dataclass
class _Walk:
    """Ranks walk through the nest together; every visit of a leaf makes one chunk of events."""

    structure: Structure
    nranks: int
    ranks: range  # those that walk
    members: Members
    comms: np.ndarray  # the communicator of each number and rank
    notes: Notes
    chunks: deque[tuple[np.ndarray, np.ndarray]] = field(default_factory=deque)  # ranks and their events
    vectors: dict[int, tuple[np.ndarray, list[np.ndarray]]] = field(default_factory=dict)  # by chunk: ranks, counts
    events: int = 0
    checked: bool = False  # whether all events fit into memory
    most_bytes: float = field(default_factory=lambda: free_bytes())

    def __post_init__(self) -> None:
        self.last = np.full(self.nranks, NOTHING)  # by rank: the symbol of its last event
        self.opened = np.zeros((3, self.nranks), np.int64)  # by ANY_KIND, Kind.SEND and Kind.RECV: open operations

    def rows(self, where: _Where) -> Rows:
        """Return the place of these ranks as rows."""
        ranks = where.ranks
        return Rows(np.full(len(ranks), self.nranks), ranks, where.index, where.turns, where.turn)

    def visit(self, node: Node, where: _Where) -> None:
        """Execute a body once."""
        rows = self.rows(where)
        for child in node.children:
            if child.leaf:
                self._emit(child, rows)
            elif child in self.structure.lists:
                self._visit_neighbours(child, where)
            else:
                self._visit_turns(child, where, rows)

    def _visit_turns(self, loop: Node, where: _Where, rows: Rows) -> None:
        model = self.structure.loops[loop]
        if isinstance(model, AllOpen):
            turns = self.opened[model.kind, where.ranks].copy()
            if (turns < 0).any():
                raise CannotContinue("how many operations are open is not known there", self._name(loop.first))
        else:
            turns = self._number(model, rows, loop.first, "the number of turns of the loop that it begins")
        for turn in range(int(turns.max(initial=0))):
            keep = turns > turn
            if turn and keep.all():
                keep = slice(None)
            left = turns[keep]
            self.visit(loop, where.deeper(keep, turn, left, np.full(len(left), turn)))

    def _visit_neighbours(self, loop: Node, where: _Where) -> None:
        steps = self.structure.lists[loop]
        sides = np.array(self.structure.space.sides(self.nranks))[:, None]
        c = coordinates(self.structure.space.sides(self.nranks), where.ranks)
        there = np.array([((c + np.array(s)[:, None] >= 0) & (c + np.array(s)[:, None] < sides)).all(0) for s in steps])
        for at in range(len(steps)):
            keep = there[at]
            if keep.any():
                turns, turn = there.sum(axis=0)[keep], there[:at].sum(axis=0)[keep]
                self.visit(loop, where.deeper(keep, at, turns, turn))

    def _name(self, leaf: Node) -> str:
        assert leaf.symbol is not None
        return str(self.structure.symbols[leaf.symbol])

    def _number(self, model: NumberModel, rows: Rows, leaf: Node, what: str) -> np.ndarray:
        """Return the values of a number that has to be whole and not negative."""
        self.notes.call = self._name(leaf)
        values = evaluate(model, self.structure.space, rows, self.notes)
        near: np.ndarray = np.rint(values)
        if not np.isfinite(values).all():
            raise CannotContinue(f"{what} was never seen there", self._name(leaf))
        if not parts_of_fit(model) and bool((np.abs(values - near) > 1e-6 * np.maximum(1, np.abs(near))).any()):
            raise CannotContinue(f"{what} would not be a whole number", self._name(leaf))
        if (near < 0).any():
            raise CannotContinue(f"{what} would be negative", self._name(leaf))
        return near.astype(np.int64)

    def _emit(self, leaf: Node, rows: Rows) -> None:
        learned = self.structure.leaves[leaf]
        self.notes.call = self._name(leaf)
        present = evaluate(learned.presence, self.structure.space, rows, self.notes)
        if not np.isin(present, (0, 1)).all():
            raise CannotContinue("whether the call is made was never seen there", self._name(leaf))
        if not present.all():
            if not present.any():
                return
            rows = rows.take(present == 1)
        self._compute(leaf, learned, rows)
        assert leaf.symbol is not None
        symbol = self.structure.symbols[leaf.symbol]
        part = _blank(len(rows), symbol.kind)
        part["op"], part["mode"], part["site"] = symbol.op, symbol.mode, leaf.symbol + 1
        if learned.partner is not None:
            self._talk(leaf, learned, rows, part)
        elif learned.waited is not None:
            self.notes.call = self._name(leaf)
            part["request"] = evaluate(learned.waited, self.structure.space, rows, self.notes)
            part["op"] = learned.waits_among
            self._completed(learned.waits_for, rows.rank)
        elif symbol.kind == Kind.POLL:
            self._look(leaf, learned, rows, part)
        elif learned.size is not None:
            part["amount"] = evaluate(learned.size, self.structure.space, rows, self.notes)
        self.last[rows.rank] = leaf.symbol
        self._add(rows.rank, part)

    def _look(self, leaf: Node, learned: Leaf, rows: Rows, part: np.ndarray) -> None:
        assert learned.tag is not None
        self.notes.call = self._name(leaf)
        self.notes.assume("that its polls for messages find nothing, as no recorded poll does")
        part["tag"] = evaluate(learned.tag, self.structure.space, rows, self.notes)
        part["size_bytes"] = self.opened[ANY_KIND, rows.rank]
        # Which operations are open is known when all events are.
        unknown = [np.full(length, -1) for length in part["size_bytes"].tolist()]
        self.vectors[len(self.chunks)] = rows.rank, unknown

    def _completed(self, kind: int, ranks: np.ndarray) -> None:
        self.opened[ANY_KIND, ranks] -= 1
        if kind != ANY_KIND:
            self.opened[kind, ranks] -= 1
        else:  # of either kind: how many of each are left is not known until none is
            left = np.where(self.opened[ANY_KIND, ranks] > 0, _NOT_KNOWN, 0)
            self.opened[1:, ranks] = left

    def _compute(self, leaf: Node, learned: Leaf, rows: Rows) -> None:
        self.notes.call = f"computation before {self._name(leaf)}"
        flops = self._flops(learned, rows)
        if not np.isfinite(flops).all() or (flops < 0).any():
            raise CannotContinue("the computation before it was never seen there", self._name(leaf))
        if flops.any():
            which = flops > 0
            part = _blank(int(which.sum()), Kind.COMPUTE)
            part["amount"] = flops[which]
            self._add(rows.rank[which], part)

    def _flops(self, learned: Leaf, rows: Rows) -> np.ndarray:
        space = self.structure.space
        before = self.last[rows.rank]
        if space.levels and not np.isin(before, list(learned.seen_after)).all():
            self.notes.assume("that it is the same after a call that is not before it in any recording")
        if not learned.flops_after:
            return evaluate(learned.flops, space, rows, self.notes)
        flops = np.full(len(rows), np.nan)
        for symbol, model in learned.flops_after.items():
            which = before == symbol
            if which.any():
                flops[which] = evaluate(model, space, rows.take(which), self.notes)
        return flops

    def _talk(self, leaf: Node, learned: Leaf, rows: Rows, part: np.ndarray) -> None:
        assert learned.partner is not None and learned.size is not None
        assert learned.tag is not None and learned.comm is not None
        self.notes.call = self._name(leaf)
        try:
            partner = learned.partner.ranks(self.structure.space, rows, self.notes)
        except CannotContinue as err:
            raise CannotContinue(err.reason, self._name(leaf)) from None
        if (partner >= self.nranks).any() or (partner < -1).any():
            raise CannotContinue("a partner would not exist there", self._name(leaf))
        part["peer"] = partner
        part["size_bytes"] = self._number(learned.size, rows, leaf, "its size")
        if parts_of_fit(learned.size) and part["kind"][0] == Kind.RECV:
            part["size_bytes"] = AS_SENT
        self.notes.call = self._name(leaf)
        self._doubt_sizes(learned, part["size_bytes"])
        part["tag"] = evaluate(learned.tag, self.structure.space, rows, self.notes)
        number = self._number(learned.comm, rows, leaf, "its communicator")
        part["comm"] = self.comms[number, rows.rank]
        if part["kind"][0] != Kind.COLLECTIVE:
            self.opened[ANY_KIND, rows.rank] += 1
            self.opened[part["kind"][0], rows.rank] += 1
        elif learned.counted is not None:
            has = evaluate(learned.counted, self.structure.space, rows, self.notes) == 1
            part["request"] = np.where(has, 0, -1)
            self._vectors(leaf, learned, rows.take(has), part["comm"][has])
        if learned.spread_out:
            members = np.array([len(members) for members in self.members])[part["comm"]]
            short = part["size_bytes"] < learned.unit * members
            if (short & (part["size_bytes"] < learned.spread_out)).any():
                self.notes.assume("that its blocks may have fewer entries than it has members, as no recorded one has")

    def _doubt_sizes(self, learned: Leaf, sizes: np.ndarray) -> None:
        """Note sizes that are unlike all recorded ones, as those of shares that are no longer even."""
        if parts_of_fit(learned.size):
            return
        if (sizes % learned.unit).any():
            self.notes.assume(f"that its sizes need not be multiples of {learned.unit} bytes, as all recorded ones are")
        if learned.filled and not sizes.all():
            self.notes.assume("that it may be empty, as no recorded one is")

    def _vectors(self, leaf: Node, learned: Leaf, rows: Rows, comm: np.ndarray) -> None:
        assert learned.counts is not None
        sizes = np.array([len(members) for members in self.members])
        lengths = np.full(len(rows), 2) if learned.vector == "split" else sizes[comm]
        long = by_member(rows, lengths)
        values = evaluate(learned.counts, self.structure.space, long, self.notes)
        if not np.isfinite(values).all():
            raise CannotContinue("the counts of its members were never seen there", self._name(leaf))
        cuts = np.cumsum(lengths)[:-1]
        self.vectors[len(self.chunks)] = rows.rank, np.split(np.rint(values).astype(np.int64), cuts)

    def _add(self, ranks: np.ndarray, part: np.ndarray) -> None:
        self.events += len(part)
        if len(self.ranks) > _SAMPLE and self.events * _EVENT_BYTES > _CHECKED * self.most_bytes:
            if not self.checked:
                self._check_room()
            self.checked = True
        if self.events * _EVENT_BYTES > self.most_bytes:
            most_gb = self.most_bytes / 1e9
            raise CannotContinue(f"its more than {self.events:.1e} events there would not fit into {most_gb:.1f} GB")
        self.chunks.append((ranks, part))

    def _check_room(self) -> None:
        first = self.ranks.start + (len(self.ranks) - _SAMPLE) // 2
        some = range(first, first + _SAMPLE)
        sample = generate_part(self.structure, self.nranks, some, (self.members, self.comms), Notes())
        check_room(sample, len(self.ranks), event_bytes=_EVENT_BYTES)

    def assembled(self) -> Part:
        """Return the events and the counts of every rank that walks."""
        length, base = np.zeros(len(self.ranks), np.int64), self.ranks.start
        for ranks, _ in self.chunks:  # a rank is at most once in a chunk
            length[ranks - base] += 1
        bounds = np.concatenate([[0], np.cumsum(length)])
        events, place = np.empty(bounds[-1], EVENT), bounds[:-1].copy()
        while self.chunks:
            ranks, part = self.chunks.popleft()
            events[place[ranks - base]] = part
            place[ranks - base] += 1
        if len(self.ranks) == self.nranks:
            rank = np.repeat(np.arange(self.nranks), length)
            take_sizes_as_sent(events, rank)
            check_matched(events, rank)
        looked_at = _number_operations(events, bounds, base)
        counts: list[list[np.ndarray]] = [[] for _ in self.ranks]
        for ranks, values in self.vectors.values():
            for one_rank, row in zip(ranks.tolist(), values, strict=True):
                counts[one_rank - base].append(row)
        for at in (at for at, rows in enumerate(counts) if rows):
            part = events[bounds[at] : bounds[at + 1]]
            looks = part["kind"] == Kind.POLL
            where = looks | ((part["kind"] == Kind.COLLECTIVE) & (part["request"] >= 0))
            for look, numbers in zip(np.flatnonzero(looks[where]).tolist(), looked_at[at], strict=True):
                counts[at][look] = numbers
            part["request"][where] = np.cumsum([0, *map(len, counts[at][:-1])])
        none = np.zeros(0, np.int64)
        return Part(events, bounds, tuple(np.concatenate(rows) if rows else none for rows in counts))


def _number_operations(events: np.ndarray, bounds: np.ndarray, base: int) -> list[list[np.ndarray]]:
    """Write the numbers of the operations of ranks; return for each rank the operations that its looks are at.

    Ranks that begin and wait for operations in the same order get the same numbers.
    """
    waits = events["kind"] == Kind.WAIT
    among = np.where(waits, events["op"], np.where(events["site"] > 0, events["site"] - 1 + FIRST_SYMBOL, ANY_KIND))
    events["op"][waits] = 0
    length = np.diff(bounds)
    within = np.arange(len(events)) - np.repeat(bounds[:-1], length)
    mixed = np.cumsum(hashes((within, events["kind"], events["request"], among)))
    sums = np.concatenate([np.zeros(1, np.uint64), mixed])[bounds]  # they may overflow
    _, group = np.unique(hashes((sums[1:] - sums[:-1], length)), return_inverse=True)
    order = np.argsort(group, kind="stable")
    looked_at: list[list[np.ndarray]] = [[] for _ in length]
    for alike in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        part = slice(bounds[alike[0]], bounds[alike[0] + 1])
        columns = (events["kind"][part].tolist(), events["request"][part].tolist(), among[part].tolist())
        numbers, looks = _operations(*columns, base + int(alike[0]))
        events["request"][bounds[alike][:, None] + np.arange(len(numbers))] = numbers
        for at in alike.tolist() if looks else ():
            looked_at[at] = looks
    return looked_at


def free_bytes() -> float:
    """Return the memory that is free, within the limit of the process; infinite where the system does not say."""
    free = math.inf
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), free)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return free if limit == resource.RLIM_INFINITY else min(free, limit)


def _blank(length: int, kind: int) -> np.ndarray:
    part = np.zeros(length, EVENT)
    part["kind"] = kind
    for name in ("comm", "peer", "tag", "request"):
        part[name] = -1
    return part


def _operations(
    kinds: Sequence[int], waited: Sequence[int], labels: Sequence[int], rank: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the numbers of a rank's operations, and those that each of its looks is at.

    ``waited`` has, for a WAIT, its place among the open ones that its label names: all, those of a kind, or those that
    began with a symbol.
    """
    numbers = list(waited)
    still: list[int] = []
    names: list[tuple[int, int, int]] = []  # by operation: its labels
    looked_at: list[np.ndarray] = []
    for at, (kind, label) in enumerate(zip(kinds, labels, strict=True)):
        if kind in _OPENS:
            numbers[at] = len(names)
            still.append(len(names))
            names.append((ANY_KIND, kind, label))
        elif kind == Kind.WAIT:
            alike = still if label == ANY_KIND else [number for number in still if label in names[number]]
            if not -len(alike) <= numbers[at] < len(alike):
                raise CannotContinue("more operations would be waited for than were begun", f"rank {rank}")
            numbers[at] = alike[numbers[at]]
            still.remove(numbers[at])
        elif kind == Kind.POLL:
            looked_at.append(np.array(still, np.int64))
    return np.array(numbers, np.int64), looked_at
