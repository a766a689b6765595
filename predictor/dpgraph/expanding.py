"""Recordings with every collective replaced by its messages, for all ranks at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from apps.recording.events import EVENT, Kind, Mode, Op, Recording, Reduction
from apps.traffic.collectives import Call, steps
from predictor.dpgraph.members import Members, is_covered, of_members

# The tag of a collective's messages is this minus the Op; no tag of a program is negative.
_COLLECTIVE_TAG = -1000
_WITH_COUNTS = (Op.SCATTERV, Op.ALLTOALLV, Op.REDUCE_SCATTER)  # operations whose sent sizes are in `counts`
_MODES = 256


class Flat(NamedTuple):
    """The concatenated events of all ranks; those of rank r are ``first[r]`` to ``first[r + 1]``."""

    events: np.ndarray  # dtype EVENT
    first: np.ndarray  # i8, ranks + 1

    @property
    def rank(self) -> np.ndarray:
        """The rank of each event."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def ranks(self) -> list[np.ndarray]:
        """Return the events of each rank."""
        return np.split(self.events, self.first[1:-1])

    def only(self, which: np.ndarray) -> Flat:
        """Return the events selected by a mask."""
        before = np.concatenate([[0], np.cumsum(which)])
        return Flat(self.events[which], before[self.first])


def flat(ranks: Sequence[np.ndarray]) -> Flat:
    """Return the concatenated events of all ranks."""
    first = np.concatenate([[0], np.cumsum([len(events) for events in ranks])])
    bare = f"V{EVENT.itemsize}"  # NumPy compares the fields of many structured arrays one by one
    return Flat(np.concatenate([events.view(bare) for events in ranks]).view(EVENT), first)


def ranges(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the concatenated ranges from each begin up to its end.

    >>> ranges(np.array([3, 8]), np.array([5, 11])).tolist()
    [3, 4, 8, 9, 10]
    """
    length = end - begin
    before = np.cumsum(length) - length
    numbers: np.ndarray = np.arange(int(length.sum())) + np.repeat(begin - before, length)
    return numbers


def expanded(recording: Recording, given: Flat | None = None) -> Flat:
    """Return the events of all ranks, or ``given`` ones, with every collective replaced by its messages."""
    given = flat(recording.events) if given is None else given
    at = np.flatnonzero(given.events["kind"] == Kind.COLLECTIVE)
    if not len(at):
        return given
    calls = _Calls(recording, given, at)
    inner, begin, length, operations = calls.messages()
    lengths = np.ones(len(given.events), np.int64)
    lengths[at] = length
    place = np.concatenate([[0], np.cumsum(lengths)])
    made = np.zeros(place[-1], EVENT)
    others = np.ones(len(given.events), bool)
    others[at] = False
    made[place[:-1][others]] = given.events[others]
    rows, which = inner[ranges(begin, begin + length)], np.repeat(np.arange(len(at)), length)
    posted = np.cumsum(operations) - operations  # in earlier collectives, which are numbered downwards from -1
    before = posted - posted[np.searchsorted(at, given.first[calls.rank])]
    part = np.zeros(len(rows), EVENT)
    part["kind"], part["mode"] = rows[:, 0], Mode.STANDARD
    part["comm"], part["site"] = calls.events["comm"][which], calls.events["site"][which]
    waits = rows[:, 0] == Kind.WAIT
    partner = np.where(waits, 0, rows[:, 1])
    part["peer"] = np.where(waits, -1, calls.member(which, partner))
    part["tag"] = _COLLECTIVE_TAG - calls.events["op"][which].astype(np.int64)
    part["request"] = -(before[which] + rows[:, 2])
    part["size_bytes"] = rows[:, 3]
    made[ranges(place[at], place[at] + length)] = part
    return Flat(made, place[given.first])


class _Calls:
    """The collectives of all ranks, in order; communicators as a table of members."""

    def __init__(self, recording: Recording, given: Flat, at: np.ndarray):
        self._recording, self._at = recording, at
        self.events, self.rank = given.events[at], np.searchsorted(given.first, at, side="right") - 1
        self._within = at - given.first[self.rank]  # index of the event within its rank
        sizes = np.array([len(members) for members in recording.communicators])
        self._comm = self.events["comm"].astype(np.int64)
        self._begin = np.cumsum(sizes) - sizes
        self._members = np.concatenate([np.asarray(members, np.int64) for members in recording.communicators])
        self._size = sizes[self._comm]
        nranks = len(given.first) - 1
        keys = np.repeat(np.arange(len(sizes)), sizes) * nranks + self._members
        order = np.argsort(keys, kind="stable")
        place_of = order - self._begin[np.repeat(np.arange(len(sizes)), sizes)[order]]

        def place(ranks: np.ndarray) -> np.ndarray:
            found = np.minimum(np.searchsorted(keys, self._comm * nranks + ranks, sorter=order), len(keys) - 1)
            known = keys[order[found]] == self._comm * nranks + ranks
            places: np.ndarray = np.where(known & (ranks >= 0), place_of[found], -1)
            return places

        self._place, self._root = place(self.rank), place(self.events["peer"].astype(np.int64))

    def member(self, call: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the ranks at the given places of the calls' communicators."""
        ranks: np.ndarray = self._members[self._begin[self._comm[call]] + place]
        return ranks

    def messages(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the events inside collectives, and for each call its first row and its numbers of rows and operations.

        A row has the kind, the place of the partner, the number of the operation from 1, and the bytes.
        """
        op, mode = (self.events[name].astype(np.int64) for name in ("op", "mode"))
        together = np.isin(op * _MODES + mode, [o * _MODES + m for o, m in _pairs(op, mode) if is_covered(o, m)])
        alone = np.isin(op, (*_WITH_COUNTS, Op.SPLIT))  # these depend on counts
        number = np.where(alone, np.arange(len(op)), -1)
        place = np.where(together, -1, self._place)
        columns = [op, place, self._root, self._size, self.events["size_bytes"], mode, number]
        _, first, kind = np.unique(_numbered(columns), return_index=True, return_inverse=True)
        splits = _splits(self._recording) if (op == Op.SPLIT).any() else {}
        members = [self._members_of(int(at)) if together[at] else _alone(self._call(int(at), splits)) for at in first]
        widths = np.array([len(member.first) for member in members])
        rows = np.array([len(member.rows) for member in members])
        offsets = np.concatenate([member.first for member in members]) + np.repeat(np.cumsum(rows) - rows, widths)
        which = (np.cumsum(widths) - widths)[kind] + np.where(together, self._place, 0)
        begin, length = offsets[which], offsets[which + 1] - offsets[which]
        return np.concatenate([member.rows for member in members]), begin, length, length // 2  # begun and waited for

    def _members_of(self, number: int) -> Members:
        event = self.events[number]
        size_bytes = int(event["size_bytes"])
        return of_members(int(event["op"]), int(self._size[number]), int(self._root[number]), size_bytes)

    def _call(self, number: int, splits: dict[tuple[int, int], list[int]]) -> Call:
        event, rank = self.events[number], int(self.rank[number])
        counts: Sequence[int] = splits.get((rank, int(self._within[number])), ())
        if event["op"] in _WITH_COUNTS:
            counts = self._recording.counts[rank][event["request"] : event["request"] + self._size[number]].tolist()
        return Call(
            op=Op(event["op"]),
            rank=int(self._place[number]),
            ranks=int(self._size[number]),
            root=int(self._root[number]),
            size_bytes=int(event["size_bytes"]),
            counts=counts,
            reduction=Reduction(event["mode"]),
        )


def _numbered(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return a number for each row of columns, equal for equal rows."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, index = np.unique(column, return_inverse=True)
        _, number = np.unique(number * len(values) + index, return_inverse=True)
    return number


def _alone(call: Call) -> Members:
    rows: list[tuple[int, int, int, int]] = []
    number = 0
    for step in steps(call):
        begun = number
        for is_send, partner, size_bytes in step.operations:
            number += 1
            rows.append((Kind.SEND if is_send else Kind.RECV, partner, number, size_bytes))
        rows += [(Kind.WAIT, -1, request, 0) for request in range(begun + 1, number + 1)]
    return Members(np.array(rows, np.int64).reshape(-1, 4), np.array([0, len(rows)]))


def _pairs(op: np.ndarray, mode: np.ndarray) -> list[tuple[int, int]]:
    """Return the different operations with their modes."""
    return [divmod(code, _MODES) for code in np.unique(op * _MODES + mode).tolist()]


def _splits(recording: Recording) -> dict[tuple[int, int], list[int]]:
    """Return the colors and keys of all members, concatenated, for each split, by rank and event index.

    The n-th split of a communicator on one rank matches the n-th on the others.
    """
    calls: dict[tuple[int, int], list[tuple[int, int]]] = {}  # by communicator and turn: rank and index of the event
    for rank, events in enumerate(recording.events):
        turns: Counter[int] = Counter()
        for at in np.flatnonzero((events["kind"] == Kind.COLLECTIVE) & (events["op"] == Op.SPLIT)).tolist():
            comm = int(events["comm"][at])
            calls.setdefault((comm, turns[comm]), []).append((rank, at))
            turns[comm] += 1
    given: dict[tuple[int, int], list[int]] = {}
    for (comm, _), members in calls.items():
        place = {member: at for at, member in enumerate(recording.communicators[comm])}
        together = [-1, 0] * len(place)
        for rank, at in members:
            first = int(recording.events[rank]["request"][at])
            together[2 * place[rank] : 2 * place[rank] + 2] = recording.counts[rank][first : first + 2].tolist()
        given.update(dict.fromkeys(members, together))
    return given
