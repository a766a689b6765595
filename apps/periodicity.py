"""The iterations of a program that does not mark them: what repeats in its recording."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from apps.recording import EVENT, Kind, Mark, Recording

LEAST_REPEATS = 3
LEAST_SHARE = 0.5  # of a rank's communication in the timed section that must repeat
FLOPS_TOLERANCE = 0.01  # relative, of the flops between two calls, from one iteration to the next
_SYMBOLS_TRIED, _LAGS_TRIED = 12, 48


@dataclass(frozen=True)
class Iterations:
    """Iteration j of rank r is ``events[r][starts[r][j]:starts[r][j + 1]]`` of the recording."""

    count: int
    starts: tuple[npt.NDArray[np.int64], ...]  # by rank, count + 1 indices into its events


@dataclass(frozen=True)
class _Repeat:
    """Calls ``first`` to ``first + length - 1`` of a rank repeat every ``lag`` calls."""

    first: int
    length: int
    lag: int

    @property
    def count(self) -> int:
        return self.length // self.lag


def find_iterations(
    recording: Recording, *, flops_tolerance: float = FLOPS_TOLERANCE, least: int = LEAST_REPEATS
) -> Iterations | None:
    """The largest number of iterations that all ranks have in common in the timed section; None where there are none.

    An iteration is what repeats at least ``least`` times in a row: the same calls with the same partners, tags,
    sizes and communicators, and between them the same flops within ``flops_tolerance`` (not looked at where they are
    measured).  What precedes and follows, at most half of the calls, belongs to no iteration.  An iteration of the
    program that consists of equal parts on all ranks is found as so many iterations.
    """
    ranks = [_Calls(recording, rank, flops_tolerance) for rank in range(recording.nranks)]
    repeats: list[_Repeat] = []
    for rank in ranks:
        repeat = rank.repeat(least)
        if repeat is None:
            return None
        repeats.append(repeat)
    # A rank whose iteration consists of equal parts has several times as many repeats as the others.
    fewest = min(repeat.count for repeat in repeats)
    whole = [replace(repeat, lag=repeat.lag * max(1, round(repeat.count / (fewest + 0.5)))) for repeat in repeats]
    count = min(repeat.count for repeat in whole)
    # One more on some ranks is the program's first or last, which is not the same on all of them.
    if count < least or max(repeat.count for repeat in whole) > count + 1:
        return None
    starts = (rank.starts(repeat, count) for rank, repeat in zip(ranks, whole, strict=True))
    return Iterations(count, tuple(starts))


def told_apart(recording: Recording, iterations: int) -> Iterations | None:
    """The iterations of a recording that is known to have so many of them; None where that does not fit what repeats.

    An iteration may consist of equal parts, and what precedes the loop may be like it.  The first iteration may differ
    from the others; it then has all that precedes the second in the timed section.
    """
    found = find_iterations(recording, least=min(LEAST_REPEATS, max(2, iterations - 1)))
    if found is None:
        return None
    parts = max(1, round(found.count / iterations))
    second = found.count - parts * (iterations - 1)
    if abs(found.count - parts * iterations) > parts or second < 0:
        return None
    starts = []
    for events, own in zip(recording.events, found.starts, strict=True):
        begin = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.START))[0] + 1
        first = own[second - parts] if second >= parts else begin
        starts.append(np.concatenate([[first], own[second::parts]]))
    return Iterations(iterations, tuple(starts))


def with_marks(recording: Recording, iterations: Iterations) -> Recording:
    """The recording with FIRST_ITERATION and ITERATION marked where the iterations begin and end."""
    return replace(
        recording,
        events=tuple(
            np.insert(events, starts, _marks(events, starts))
            for events, starts in zip(recording.events, iterations.starts, strict=True)
        ),
    )


def marked_iterations(recording: Recording) -> int:
    """How many iterations are marked on every rank; 0: none, or not the same number everywhere."""
    counts = {
        int(((events["kind"] == Kind.MARK) & (events["op"] == Mark.ITERATION)).sum()) for events in recording.events
    }
    return counts.pop() if len(counts) == 1 else 0


def without_marks(recording: Recording) -> Recording:
    """The recording without marks of iterations."""
    of_iterations = (Mark.FIRST_ITERATION, Mark.ITERATION)
    return replace(
        recording,
        events=tuple(
            events[(events["kind"] != Kind.MARK) | ~np.isin(events["op"], of_iterations)] for events in recording.events
        ),
    )


def _marks(events: npt.NDArray[np.void], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    marks = np.zeros(len(starts), EVENT)
    marks["kind"], marks["op"] = Kind.MARK, Mark.ITERATION
    marks["op"][0] = Mark.FIRST_ITERATION
    for name in ("comm", "peer", "tag", "request"):
        marks[name] = -1
    marks["clock_s"] = events["clock_s"][starts]
    return marks


class _Calls:
    """The calls of a rank in the timed section as symbols, equal where the calls are, and the flops before each."""

    def __init__(self, recording: Recording, rank: int, flops_tolerance: float):
        events = recording.events[rank]
        first, last = (
            np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == mark))[0]
            for mark in (Mark.START, Mark.STOP)
        )
        inside = np.arange(first + 1, last)
        kinds = events["kind"][inside]
        self.at = inside[(kinds != Kind.COMPUTE) & (kinds != Kind.MARK)]
        self.symbols = _symbols(recording, rank, self.at)
        flops = np.zeros(len(events) + 1)
        flops[1:] = np.cumsum(np.where(events["kind"] == Kind.COMPUTE, events["amount"], 0.0))
        begins = np.concatenate([[first + 1], self.at[:-1] + 1]) if len(self.at) else self.at
        self.flops = flops[self.at] - flops[begins]
        self.computes = np.where(
            (self.at > 0) & (events["kind"][self.at - 1] == Kind.COMPUTE), self.at - 1, self.at
        )  # where a call begins, with the computation that precedes it
        self.flops_tolerance = None if recording.measured else flops_tolerance
        self.end = int(last)

    def repeat(self, least: int) -> _Repeat | None:
        """The repetition with the shortest lag that covers LEAST_SHARE of the calls."""
        needed = max(LEAST_SHARE * len(self.at), 1)
        found = None
        for lag in self._lags(least):
            repeat = self._longest(lag)
            if repeat.count >= least and repeat.length >= needed and (found is None or lag < found.lag):
                found = repeat
        return found

    def starts(self, repeat: _Repeat, count: int) -> npt.NDArray[np.int64]:
        """Where the first ``count`` repeats begin, and the last of them ends."""
        places = repeat.first + repeat.lag * np.arange(count + 1)
        after = np.append(self.computes, self.end)  # the end of the last may be the end of the section
        return after[np.minimum(places, len(self.at))]

    def _lags(self, least: int) -> list[int]:
        """Distances between calls of one kind, of the rarest kinds that are frequent enough: the lag is among them."""
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

    def _longest(self, lag: int) -> _Repeat:
        """The longest stretch that repeats with this lag."""
        same = self.symbols[:-lag] == self.symbols[lag:]
        if self.flops_tolerance is not None:
            one, other = self.flops[:-lag], self.flops[lag:]
            same &= np.abs(one - other) <= self.flops_tolerance * np.maximum(one, other)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], same.view(np.int8), [0]])))
        if not len(edges):
            return _Repeat(0, 0, lag)
        lengths = edges[1::2] - edges[::2]
        best = int(np.argmax(lengths))
        return _Repeat(int(edges[2 * best]), int(lengths[best]) + lag, lag)


def _symbols(recording: Recording, rank: int, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """One small integer per call, the same for calls that do the same."""
    events = recording.events[rank]
    started = np.cumsum((events["kind"] == Kind.SEND) | (events["kind"] == Kind.RECV))
    calls = events[at]
    columns = [calls[name].astype(np.int64) for name in ("kind", "mode", "op", "comm", "peer", "tag", "size_bytes")]
    # What is waited for is told by how many operations ago it began; what a vector holds, by its content.
    extra = np.where(calls["kind"] == Kind.WAIT, started[at] - calls["request"], 0)
    vectors = np.flatnonzero((calls["kind"] == Kind.COLLECTIVE) & (calls["request"] >= 0))
    contents: dict[bytes, int] = {}
    for place in vectors:
        begin = int(calls["request"][place])
        size = len(recording.communicators[int(calls["comm"][place])])
        content = recording.counts[rank][begin : begin + size].tobytes()
        extra[place] = contents.setdefault(content, len(contents))
    if not len(calls):
        return np.zeros(0, np.int64)
    return np.unique(np.stack([*columns, extra]), axis=1, return_inverse=True)[1].reshape(-1)
