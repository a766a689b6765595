"""Detect iterations by repetition in a recording, for programs that do not mark them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import EVENT, Kind, Mark, Recording

LEAST_REPEATS = 3
LEAST_SHARE = 0.5  # share of a rank's calls in the timed section that must repeat
FLOPS_TOLERANCE = 0.01  # relative difference of the flops between two calls, from one iteration to the next
_ELAPSED_FLOPS = 1e9  # per second spent at the same speed on every host, for comparisons with flops
_SYMBOLS_TRIED, _LAGS_TRIED = 12, 48
# What distinguishes calls, beside their counts and ages: fields of EVENT, and the words of 8 bytes that hold them.
_FIELDS = ("kind", "mode", "op", "comm", "peer", "tag", "size_bytes")
_WORDS = (0, 1, 3)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of a hash


@dataclass(frozen=True)
class Iterations:
    """The iterations of a recording: iteration j of rank r is ``events[r][starts[r][j]:starts[r][j + 1]]``."""

    count: int
    starts: tuple[npt.NDArray[np.int64], ...]  # by rank, count + 1 indices into its events


@dataclass(frozen=True)
class _Repeat:
    """A repetition: calls ``first`` to ``first + length - 1`` of a rank repeat every ``lag`` calls."""

    first: int
    length: int
    lag: int
    computes_last: bool = False  # its computation before its first call belongs to the previous iteration

    @property
    def count(self) -> int:
        return self.length // self.lag


def find_iterations(
    recording: Recording, *, flops_tolerance: float = FLOPS_TOLERANCE, least: int = LEAST_REPEATS
) -> Iterations | None:
    """Return the largest number of iterations that all ranks share in the timed section, or None if there are none.

    An iteration is a sequence that repeats at least ``least`` times in a row: the same calls with the same partners,
    tags, sizes and communicators, and between them the same flops within ``flops_tolerance`` (ignored for measured
    computation).  The calls before and after the repetition, at most half of all calls, belong to no iteration.  An
    iteration that consists of k equal parts on all ranks is found as k iterations.
    """
    ranks = [_Calls(recording, rank, flops_tolerance) for rank in range(recording.nranks)]
    repeats: list[_Repeat] = []
    for rank in ranks:
        repeat = rank.repeat(least)
        if repeat is None:
            return None
        repeats.append(repeat)
    # If the iteration of a rank consists of equal parts, the rank repeats several times as often as the others.
    fewest = min(repeat.count for repeat in repeats)
    whole = [replace(repeat, lag=repeat.lag * max(1, round(repeat.count / (fewest + 0.5)))) for repeat in repeats]
    count = min(repeat.count for repeat in whole)
    # One more repeat on some ranks is the program's first or last iteration, which may differ between ranks.
    if count < least or max(repeat.count for repeat in whole) > count + 1:
        return None
    starts = (rank.starts(repeat, count) for rank, repeat in zip(ranks, whole, strict=True))
    return Iterations(count, tuple(starts))


def split_iterations(recording: Recording, iterations: int) -> Iterations | None:
    """Return the iterations of a recording whose number is known, or None if the repetition does not fit that number.

    An iteration may consist of equal parts, and the calls before the loop may look like an iteration.  The first
    iteration may differ from the others; it then gets everything before the second one in the timed section.
    """
    iterations_found = find_iterations(recording, least=min(LEAST_REPEATS, max(2, iterations - 1)))
    if iterations_found is None:
        return None
    parts = max(1, round(iterations_found.count / iterations))
    second = iterations_found.count - parts * (iterations - 1)
    if abs(iterations_found.count - parts * iterations) > parts or second < 0:
        return None
    starts = []
    for events, starts_of_rank in zip(recording.events, iterations_found.starts, strict=True):
        begin = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.START))[0] + 1
        first = starts_of_rank[second - parts] if second >= parts else begin
        starts.append(np.concatenate([[first], starts_of_rank[second::parts]]))
    return Iterations(iterations, tuple(starts))


def with_marks(recording: Recording, iterations: Iterations) -> Recording:
    """Return the recording with FIRST_ITERATION and ITERATION marks at the boundaries of the iterations."""
    return replace(
        recording,
        events=tuple(
            np.insert(events, starts, _marks(events, starts))
            for events, starts in zip(recording.events, iterations.starts, strict=True)
        ),
    )


def marked_iterations(recording: Recording) -> int:
    """Return the number of iterations marked on every rank; 0 for none, or if the ranks differ."""
    counts = {
        int(((events["kind"] == Kind.MARK) & (events["op"] == Mark.ITERATION)).sum()) for events in recording.events
    }
    return counts.pop() if len(counts) == 1 else 0


def without_marks(recording: Recording) -> Recording:
    """Return the recording without marks of iterations."""
    return replace(recording, events=tuple(map(_unmarked, recording.events)))


def _unmarked(events: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    marks = np.flatnonzero(events["kind"] == Kind.MARK)
    inner = marks[np.isin(events["op"][marks], (Mark.FIRST_ITERATION, Mark.ITERATION))]
    return np.delete(events, inner) if len(inner) else events


def _marks(events: npt.NDArray[np.void], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    marks = np.zeros(len(starts), EVENT)
    marks["kind"], marks["op"] = Kind.MARK, Mark.ITERATION
    marks["op"][0] = Mark.FIRST_ITERATION
    for name in ("comm", "peer", "tag", "request"):
        marks[name] = -1
    marks["clock_s"] = events["clock_s"][starts]
    return marks


class _Calls:
    """The calls of a rank in the timed section as symbols (equal for equal calls), and the flops before each call."""

    def __init__(self, recording: Recording, rank: int, flops_tolerance: float):
        events = recording.events[rank]
        first, last = (
            np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == mark))[0]
            for mark in (Mark.START, Mark.STOP)
        )
        inside = np.arange(first + 1, last)
        kinds = events["kind"][inside]
        self.at = inside[~np.isin(kinds, (Kind.COMPUTE, Kind.ELAPSE, Kind.MARK))]
        self.symbols = _symbols(recording, rank, self.at)
        flops = np.zeros(len(events) + 1)
        computes, elapses = (events["kind"] == kind for kind in (Kind.COMPUTE, Kind.ELAPSE))
        flops[1:] = np.cumsum(np.where(computes, 1.0, _ELAPSED_FLOPS * elapses) * events["amount"])
        begins = np.concatenate([[first + 1], self.at[:-1] + 1]) if len(self.at) else self.at
        self.flops = flops[self.at] - flops[begins]
        other = np.maximum.accumulate(np.where(computes | elapses, 0, np.arange(1, len(events) + 1)))
        self.computes = np.append(0, other)[self.at]  # index at which a call begins, with the computation before it
        self.flops_tolerance = None if recording.measured else flops_tolerance
        self.end = int(last)

    def repeat(self, least: int) -> _Repeat | None:
        """Return the repetition with the shortest lag that covers LEAST_SHARE of the calls, or None."""
        needed = max(LEAST_SHARE * len(self.at), 1)
        for lag in self._lags(least):
            repeat = self._from_its_call(self._longest(lag, needed))
            if repeat.count >= least and repeat.length >= needed:
                return repeat
        return None

    def _from_its_call(self, repeat: _Repeat) -> _Repeat:
        """Return the repetition extended by the previous call, if that call repeats except for its computation.

        The computation before the first iteration differs.  Without this call, iterations would end inside a call that
        is recorded as several events, such as MPI_Sendrecv.
        """
        before = repeat.first - 1
        if before < 0 or not repeat.length or self.symbols[before] != self.symbols[before + repeat.lag]:
            return repeat
        return replace(repeat, first=before, length=repeat.length + 1, computes_last=True)

    def starts(self, repeat: _Repeat, count: int) -> npt.NDArray[np.int64]:
        """Return the event indices at which the first ``count`` repeats begin, then the one at which the last ends."""
        places = repeat.first + repeat.lag * np.arange(count + 1)
        begins = self.at if repeat.computes_last else self.computes
        after = np.append(begins, self.end)  # the last repeat may end with the timed section
        return after[np.minimum(places, len(self.at))]

    def _lags(self, least: int) -> list[int]:
        """Return candidate lags, ascending: distances between equal calls of the rarest frequent enough symbols."""
        values, counts = np.unique(self.symbols, return_counts=True)
        frequent = np.flatnonzero(counts >= least)
        lags: dict[int, None] = {}
        for symbol in values[frequent[np.argsort(counts[frequent], kind="stable")]][:_SYMBOLS_TRIED]:
            places = np.flatnonzero(self.symbols == symbol)
            middle = len(places) // 2
            for other in places[middle + 1 : middle + 1 + _LAGS_TRIED]:
                lags.setdefault(int(other - places[middle]))
            for other in places[max(0, middle - _LAGS_TRIED) : middle]:
                lags.setdefault(int(places[middle] - other))
        return sorted(lags)

    def _longest(self, lag: int, needed: float) -> _Repeat:
        """Return the longest stretch that repeats with this lag, or none where it is shorter than needed."""
        same = self.symbols[:-lag] == self.symbols[lag:]
        if np.count_nonzero(same) + lag + 1 < needed:  # one call before it may repeat too
            return _Repeat(0, 0, lag)
        if self.flops_tolerance is not None:
            first, other = self.flops[:-lag], self.flops[lag:]
            same &= np.abs(first - other) <= self.flops_tolerance * np.maximum(first, other)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], same.view(np.int8), [0]])))
        if not len(edges):
            return _Repeat(0, 0, lag)
        lengths = edges[1::2] - edges[::2]
        best = int(np.argmax(lengths))
        return _Repeat(int(edges[2 * best]), int(lengths[best]) + lag, lag)


def _symbols(recording: Recording, rank: int, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return one small integer per call, equal for calls that do the same."""
    events = recording.events[rank]
    if not len(at):
        return np.zeros(0, np.int64)
    kinds, requests = events["kind"][at], events["request"][at]
    # A WAIT is identified by the age of its operation, in operations; a vector collective by its counts.
    started = np.cumsum((events["kind"] == Kind.SEND) | (events["kind"] == Kind.RECV))
    extra = np.where(kinds == Kind.WAIT, started[at] - requests, 0)
    vectors = np.flatnonzero((kinds == Kind.COLLECTIVE) & (requests >= 0))
    contents: dict[bytes, int] = {}
    for place in vectors:
        begin = int(requests[place])
        size = len(recording.communicators[int(events["comm"][at[place]])])
        content = recording.counts[rank][begin : begin + size].tobytes()
        extra[place] = contents.setdefault(content, len(contents))
    words = np.ascontiguousarray(events).view(np.int64).reshape(len(events), -1)
    columns = [*(np.ascontiguousarray(words[at, word]) for word in _WORDS), extra]
    return _numbered(columns, lambda rows: [*(events[name][at[rows]] for name in _FIELDS), extra[rows]])


def _numbered(
    columns: list[npt.NDArray[np.int64]],
    ordered_by: Callable[[npt.NDArray[np.int64]], Sequence[npt.NDArray[Any]]] | None = None,
) -> npt.NDArray[np.int64]:
    """Return one small integer per row of the columns, equal for equal rows and in their order.

    Distinct rows are found by a hash of each, which is many times faster than ``np.unique(axis=1)``.

    Args:
        columns: The columns, of equal lengths of at least one.
        ordered_by: Returns, for some rows, other columns that give their order; None: the columns themselves.
    """
    key = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        key = (key ^ column.view(np.uint64)) * _FACTOR
        key ^= key >> np.uint64(32)
    kept = np.sort(key)
    number = np.searchsorted(kept[np.append(True, kept[1:] != kept[:-1])], key)
    first = np.empty(int(number.max()) + 1, np.int64)
    first[number[::-1]] = np.arange(len(key) - 1, -1, -1)
    if not all(np.array_equal(column, column[first][number]) for column in columns):  # two rows have the same hash
        _, first, number = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    keys = [column[first] for column in columns] if ordered_by is None else ordered_by(first)
    place = np.empty(len(first), np.int64)
    place[np.lexsort(keys[::-1])] = np.arange(len(first))
    return place[number.reshape(-1)]
