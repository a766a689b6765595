"""The measured computation of a program: the seconds between two calls of each rank, as used by replays.

The recorder times every computation of a run once (recorder/timing/work.c).  If a rank's calls repeat, the computation
at each place of the iteration is the median over the iterations; the first iteration, the warm-up, stays as measured.
Ranks with equal calls that differ by no more than the measurement noise share their median.  For several runs with
equal calls, each step is the median over the runs.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.recording.files import by_rank

STEP = np.dtype(
    [
        ("time_s", "f8"),
        ("check", "u8"),  # hash of the calls before and after
        ("apart", "f8"),  # 1: timed with warm caches (recorder/timing/apart.c); 0: after others used the caches
    ]
)  # as in recorder/timing/work.c
_LEAST_REPEATS = 4  # of an iteration: fewer are too few for a median
_LEAST_SHARE = 0.5  # of a rank's calls that must repeat
_LAGS_TRIED = 4096
_FOLDED_REL, _FOLDED_S = 0.3, 3e-4  # the most that others' use of the caches lengthens a computation
_APART_REL, _APART_S = 0.03, 5e-9  # possible error of a correction: a share of it, and the time of the clocks
_CLOCK_S = 3e-8  # possible error of a time that was not timed apart
_FAR, _FAR_S = 1.5, 2e-5  # computation above the median by both this factor and this time is far above it
_VARIES = 0.10  # iterations are not alike if those far above the median add more than this share to the total
_DRIFTS = (
    0.40  # relative change of computation above which iterations are not alike; caches and other processes cause less
)
_DRIFT_S = 2e-7  # possible drift of a computation while the computer does other things
_BLOCKS = 8  # blocks of iterations whose medians are compared
_ONCE_REL = 0.045  # possible error of a time measured once, without other evidence
_ALIKE_REL, _ALIKE_S = 0.05, 5e-8  # difference between equal computations of several ranks
_ERRORS = 6.0  # difference between ranks that compute the same, in standard errors of a median


@dataclass(frozen=True)
class Repeat:
    """Steps ``first`` to ``first + count * lag - 1`` of a rank repeat every ``lag`` steps; count 0: none repeat."""

    first: int = 0
    count: int = 0
    lag: int = 0


class Irregular(Exception):
    """The steps of a shorter run cannot be derived from those of the whole run."""


@dataclass(frozen=True, eq=False)
class Work:
    """The computation of every rank of a run, in order."""

    steps: tuple[npt.NDArray[np.void], ...]  # dtype STEP, by rank
    repeats: tuple[Repeat, ...]  # by rank
    iterations: int  # of the timed run; 1: a program without iterations
    spread_rel: float  # possible relative error of the computation of a rank, as shown by the timings
    uniform: bool = True  # every rank computes the same in all iterations but the first
    kept: bool = True  # in the store

    def of(self, iterations: int) -> tuple[npt.NDArray[np.void], ...]:
        """Return the steps of a run of fewer iterations.

        If iterations vary, each remaining one gets the mean of all but the first, so that it represents the others too.

        Raises:
            Irregular: The iterations do not consist of equal calls.
        """
        fewer = self.iterations - iterations
        if not fewer:
            return self.steps
        rows = self._by_rank()
        if not self.uniform:
            rows = [(_mean(steps, repeat, self.iterations), repeat) for steps, repeat in rows]
        return tuple(_without(steps, repeat, fewer, self.iterations) for steps, repeat in rows)

    def _by_rank(self) -> Sequence[tuple[npt.NDArray[np.void], Repeat]]:
        return list(zip(self.steps, self.repeats, strict=True))

    @property
    def total_s(self) -> float:
        """Computation of all ranks."""
        return float(sum(steps["time_s"].sum() for steps in self.steps))


def _mean(steps: npt.NDArray[np.void], repeat: Repeat, iterations: int) -> npt.NDArray[np.void]:
    """Return the steps with the time of every iteration but the first replaced by their mean."""
    if repeat.count < 2:
        return steps
    row, second, end = steps.copy(), repeat.first + repeat.lag, repeat.first + repeat.count * repeat.lag
    mean_s = steps["time_s"][second:end].reshape(repeat.count - 1, repeat.lag).mean(axis=0)
    row["time_s"][second:end] = np.tile(mean_s, repeat.count - 1)
    if _begins_later(repeat, iterations):
        row["time_s"][repeat.first : second] = mean_s
    return row


def _begins_later(repeat: Repeat, iterations: int) -> bool:
    """Return whether the repetition excludes the first iteration (the warm-up): all of its iterations are alike."""
    return _whole(repeat, iterations) % iterations > 0


def _without(steps: npt.NDArray[np.void], repeat: Repeat, fewer: int, iterations: int) -> npt.NDArray[np.void]:
    """Return the steps without the last ``fewer`` iterations of the repetition."""
    removed, rest = divmod(fewer * repeat.count * repeat.lag, max(1, _whole(repeat, iterations)))
    if not repeat.count or rest or removed > (repeat.count - 1) * repeat.lag or removed % repeat.lag:
        raise Irregular
    end = repeat.first + repeat.count * repeat.lag
    return np.concatenate([steps[: end - removed], steps[end:]])


def _whole(repeat: Repeat, iterations: int) -> int:
    """Return the number of iterations in the repetition: all, or all but the first or the last few."""
    return repeat.count * max(1, round(iterations / repeat.count)) if repeat.count else 0


def typical(works: Sequence[Work]) -> Work:
    """Return the computation of several runs: the median of each step if their calls are equal, else the first run.

    Memory addresses, and so cache conflicts, differ from run to run: the spread of the runs shows how far another run
        may deviate.
    """
    first = works[0]
    alike = [work for work in works if work.repeats == first.repeats and _calls_equal(work, first)]
    if len(alike) < len(works):
        return first
    middle = [row.copy() for row in first.steps]
    for rank, row in enumerate(middle):
        row["time_s"] = np.median([work.steps[rank]["time_s"] for work in alike], axis=0)
    totals_s = np.array([[row["time_s"].sum() for row in work.steps] for work in alike])
    longest_s = float(np.median(totals_s, axis=0).max(initial=0.0))
    apart_rel = float(np.ptp(totals_s, axis=0).max(initial=0.0)) / longest_s if longest_s > 0 else 0.0
    spread_rel = float(np.median([work.spread_rel for work in alike]))
    uniform = all(work.uniform for work in alike)
    return replace(first, steps=tuple(middle), spread_rel=max(spread_rel, apart_rel), uniform=uniform)


def _calls_equal(work: Work, other: Work) -> bool:
    return all(np.array_equal(row["check"], its["check"]) for row, its in zip(work.steps, other.steps, strict=True))


def measured_work(
    steps: Sequence[npt.NDArray[np.void]], iterations: int, *, simulated: bool = True, shared: bool = False
) -> Work:
    """Return the computation to be replayed, from the steps of one run; 1 iteration: it has none.

    In a simulation other ranks use a rank's caches between its computations.  At places where some computations were
    timed apart, those of all ranks with equal calls are shortened by the same factor; elsewhere the spread includes how
    much too long they may be, as for real ranks that ``shared`` cores.
    """
    repeats = [_repeat(row["check"], iterations) for row in steps]
    rows = [row.copy() for row in steps]
    errors = [np.full(len(row), np.nan) for row in rows]  # standard error of each step, s; nan: measured once
    places = [_places(row, repeat) for row, repeat in zip(rows, repeats, strict=True)]
    for row, each, error in zip(rows, places, errors, strict=True):
        each.smooth(row, error)
    alike = defaultdict(list)
    for rank, repeat in enumerate(repeats):
        alike[len(rows[rank]), repeat].append(rank)
    off_s = [0.0] * len(rows)
    for ranks in alike.values():
        if simulated:
            _unfold([places[rank] for rank in ranks], [steps[rank] for rank in ranks], [rows[rank] for rank in ranks])
        for rank in ranks:
            if _begins_later(repeats[rank], iterations):
                places[rank].settle(rows[rank])
            off_s[rank] = places[rank].off_s(rows[rank], folded=shared or (simulated and len(rows) > 1))
        _share(ranks, rows, errors, off_s)
    totals_s = [float(row["time_s"].sum()) for row in rows]
    longest_s = max(totals_s, default=0.0)
    return Work(
        tuple(rows),
        tuple(repeats),
        iterations,
        spread_rel=max(off_s) / longest_s if longest_s > 0 else 0.0,
        uniform=all(each.alike for each in places),
    )


@dataclass
class _Places:
    """The places of a rank's iteration; arrays have an item for each, and none if nothing repeats."""

    repeat: Repeat
    middle_s: npt.NDArray[np.float64]  # median of the iterations but the first
    scatter_s: npt.NDArray[np.float64]  # standard error of one computation
    left_s: npt.NDArray[np.float64]  # possible error of one computation
    alike: bool  # the iterations compute the same
    known: npt.NDArray[np.bool_]  # the time is that with warm caches

    @property
    def later(self) -> slice:
        """The steps of all iterations but the first."""
        return slice(self.repeat.first + self.repeat.lag, self.repeat.first + self.repeat.count * self.repeat.lag)

    def smooth(self, row: npt.NDArray[np.void], error: npt.NDArray[np.float64]) -> None:
        """Write the medians to the steps, and their standard errors to ``error``, if the iterations are alike."""
        if self.alike and len(self.middle_s):
            times = self.repeat.count - 1
            row["time_s"][self.later] = np.tile(self.middle_s, times)
            error[self.later] = np.tile(1.2533 * self.scatter_s / np.sqrt(times), times)

    def settle(self, row: npt.NDArray[np.void]) -> None:
        """Set the time of the first repeated iteration to that of the second, if the iterations are alike."""
        if self.alike and len(self.middle_s):
            begin, second = self.repeat.first, self.repeat.first + self.repeat.lag
            row["time_s"][begin:second] = row["time_s"][second : second + self.repeat.lag]

    def unfold(self, row: npt.NDArray[np.void], place: int, ratios: npt.NDArray[np.float64]) -> None:
        """Shorten the computation at each place by the ratio of the times apart to the others."""
        self.known[place] = True
        self.left_s[place] -= _CLOCK_S - _APART_S
        ratio = float(np.quantile(ratios, 0.25))
        if (ratio - 1) * float(self.middle_s[place]) > _CLOCK_S:  # copied data occupied the caches
            return
        row["time_s"][self.later][place :: self.repeat.lag] *= ratio
        folded_s = float(self.middle_s[place])
        scatter = 1.4826 * float(np.median(np.abs(ratios - np.median(ratios)))) * 1.2533 / math.sqrt(len(ratios))
        left_s = (_APART_REL * abs(1 - ratio) + scatter) * folded_s + _APART_S
        self.left_s[place] = min(left_s, max(float(self.left_s[place]), (1 - ratio) * folded_s))

    def off_s(self, row: npt.NDArray[np.void], *, folded: bool) -> float:
        """Return the possible error of the computation in all steps, s; ``folded``: others use the rank's caches."""
        later_s = float(row["time_s"][self.later].sum()) if len(self.middle_s) else 0.0
        once_s = float(row["time_s"].sum()) - (later_s if self.alike else 0.0)
        folded_s = self._folded_s(row) if folded else 0.0
        return float(self.left_s.sum() * (self.repeat.count - 1)) + _ONCE_REL * once_s + folded_s

    def _folded_s(self, row: npt.NDArray[np.void]) -> float:
        """Return how much too long computations may be that were not timed with warm caches, s."""
        known = np.zeros(len(row), bool)
        if len(self.middle_s):
            known[self.later] = np.tile(self.known, self.repeat.count - 1)
            known[self.repeat.first : self.later.start] = self.known  # one of many computations
        return float(np.minimum(_FOLDED_REL * row["time_s"][~known], _FOLDED_S).sum())


def _places(row: npt.NDArray[np.void], repeat: Repeat) -> _Places:
    if repeat.count < _LEAST_REPEATS:
        none = np.zeros(0)
        return _Places(repeat, none, none, none, alike=False, known=none.astype(bool))
    begin, end = repeat.first + repeat.lag, repeat.first + repeat.count * repeat.lag
    table = row["time_s"][begin:end].reshape(repeat.count - 1, repeat.lag).copy()
    apart = row["apart"][begin:end].reshape(table.shape) > 0
    apart[:, apart.all(axis=0)] = False
    table[apart] = np.nan
    middle_s = np.nanmedian(table, axis=0)
    scatter_s = 1.4826 * np.nanmedian(np.abs(table - middle_s), axis=0)
    left_s = _drift_s(table, middle_s) + _CLOCK_S
    return _Places(repeat, middle_s, scatter_s, left_s, not _vary(table, middle_s), np.zeros(repeat.lag, bool))


def _drift_s(table: npt.NDArray[np.float64], middle_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the possible error of each median, s: half the difference between the medians of the two halves."""
    halves = []
    for half in np.array_split(table, 2):
        known = ~np.isnan(half).all(axis=0)
        halves.append(np.where(known, np.nanmedian(np.where(known, half, 0.0), axis=0), middle_s))
    drift_s: npt.NDArray[np.float64] = np.abs(halves[0] - halves[1]) / 2
    return drift_s


def _vary(table: npt.NDArray[np.float64], middle_s: npt.NDArray[np.float64]) -> bool:
    """Return whether the computation of the iterations changes by more than the measurement noise.

    It does if the medians of successive blocks of iterations drift apart, if some iterations take several times the
    median, or if many take longer.
    """
    total_s = float(middle_s.sum())
    if total_s <= 0:
        return False
    whole = np.where(np.isnan(table), middle_s, table)
    if len(table) >= 2 * _BLOCKS:
        blocks = [float(np.median(block.sum(axis=1))) for block in np.array_split(whole, _BLOCKS)]
        if max(blocks) - min(blocks) > _DRIFTS * total_s + _DRIFT_S * table.shape[1]:
            return True
    above_s = whole - middle_s
    far = (above_s > _FAR * middle_s) & (above_s > _FAR_S)
    if above_s[far].sum() > _VARIES * total_s * len(table):
        return True
    return bool(abs(above_s[~far].sum()) > _DRIFTS * total_s * len(table) + _FAR_S * table.size)


def _unfold(
    places: Sequence[_Places], steps: Sequence[npt.NDArray[np.void]], rows: Sequence[npt.NDArray[np.void]]
) -> None:
    """Subtract from the computation of ranks with equal calls what others add to it by their use of the caches.

    The lower quartile of the computations timed apart is used, because every disturbance makes them longer.
    """
    repeat = places[0].repeat
    end = repeat.first + repeat.count * repeat.lag
    for place in range(repeat.lag if len(places[0].middle_s) else 0):
        seen = [
            measured["time_s"][repeat.first + place : end : repeat.lag][
                measured["apart"][repeat.first + place : end : repeat.lag] > 0
            ]
            / max(float(each.middle_s[place]), 1e-12)
            for each, measured in zip(places, steps, strict=True)
        ]
        every = np.concatenate(seen)
        if not len(every):
            continue
        for each, row, ratios in zip(places, rows, seen, strict=True):
            each.unfold(row, place, ratios if len(ratios) else every)


def _share(
    ranks: Sequence[int],
    rows: Sequence[npt.NDArray[np.void]],
    errors: Sequence[npt.NDArray[np.float64]],
    off_s: list[float],
) -> None:
    """Set ranks with equal calls to the median of their computations, at each step at which these do not differ."""
    if len(ranks) < 2:
        return
    times_s = np.array([rows[rank]["time_s"] for rank in ranks])
    middle, lowest, highest = np.median(times_s, axis=0), times_s.min(axis=0), times_s.max(axis=0)
    with np.errstate(invalid="ignore"):
        scatter = _ERRORS * np.nan_to_num(np.array([errors[rank] for rank in ranks]), nan=0.0).max(axis=0)
    same = highest - lowest <= np.maximum(np.maximum(_ALIKE_REL * middle, _ALIKE_S), scatter)
    apart_s = float((highest - lowest)[same].sum()) / 2
    for rank in ranks:
        rows[rank]["time_s"][same] = middle[same]
        off_s[rank] = max(off_s[rank], apart_s)


def _repeat(checks: npt.NDArray[np.uint64], iterations: int) -> Repeat:
    """Return the repetition around the middle of a rank's run that covers most of its steps."""
    length = len(checks)
    middle = length // 2
    places = np.flatnonzero(checks[middle:] == checks[middle])[1 : _LAGS_TRIED + 1] if length else ()
    for lag in map(int, places):
        if 2 * lag > length or not np.array_equal(
            checks[middle - min(lag, middle) : middle], checks[middle - min(lag, middle) + lag : middle + lag]
        ):
            continue
        equal = checks[:-lag] == checks[lag:]
        unequal = np.flatnonzero(~equal)
        before = unequal[unequal < middle]
        after = unequal[unequal >= middle]
        first = int(before[-1]) + 1 if len(before) else 0
        end = (int(after[0]) if len(after) else len(equal)) + lag
        if end - first < _LEAST_SHARE * length:
            continue
        parts = max(1, round((end - first) / lag / iterations)) if iterations > 1 else 1
        whole = lag * parts
        count = (end - first) // whole
        return Repeat(end - count * whole, count, whole) if count > 1 else Repeat()
    return Repeat()


def read_steps(folder: Path, nranks: int) -> tuple[npt.NDArray[np.void], ...]:
    """Return the steps of every rank from the recorder's folder.

    Raises:
        Incomplete: The files of some ranks are missing.
    """
    return by_rank(folder, nranks, "steps", STEP)


def write_steps(folder: Path, steps: Sequence[npt.NDArray[np.void]]) -> None:
    """Write the steps of every rank to a folder, from which the recorder replays them."""
    for rank, row in enumerate(steps):
        row.tofile(folder / f"{rank}.steps")


def to_bytes(work: Work) -> bytes:
    """Return the computation as a compressed archive, which ``from_bytes`` reads."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        time_s=np.concatenate([row["time_s"] for row in work.steps]),
        check=np.concatenate([row["check"] for row in work.steps]),
        ends=np.cumsum([len(row) for row in work.steps], dtype=np.int64),
        repeats=np.array([(each.first, each.count, each.lag) for each in work.repeats], np.int64),
        iterations=work.iterations,
        spread_rel=work.spread_rel,
        uniform=work.uniform,
    )
    return file.getvalue()


def from_bytes(content: bytes, *, nranks: int) -> Work:
    """Return the computation from its archive.

    Raises:
        ValueError: It is not such an archive, or has another number of ranks.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            everything = np.empty(len(file["time_s"]), STEP)
            everything["time_s"], everything["check"], everything["apart"] = file["time_s"], file["check"], 0
            steps = np.split(everything, file["ends"][:-1])
            repeats = tuple(Repeat(*map(int, row)) for row in file["repeats"])
            spread_rel, uniform = float(file["spread_rel"]), bool(file["uniform"])
            made = Work(tuple(steps), repeats, int(file["iterations"]), spread_rel, uniform=uniform)
    except (ValueError, KeyError, TypeError, IndexError, OSError, EOFError, zipfile.BadZipFile) as err:
        raise ValueError(f"not a measured computation: {err}") from err
    if len(made.steps) != nranks or len(repeats) != nranks:
        raise ValueError(f"not the computation of {nranks} ranks")
    return made
