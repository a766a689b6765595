"""The measured computation of a program: the seconds between two calls of each rank, as replays take them.

The recorder times every computation of a run once (recorder/timing/work.c).  Where a rank's calls repeat, the
computation at each place of the iteration is the median over the iterations, the first of which, the warm-up, stays as
it was measured; ranks that call alike and differ by no more than the measurement scatters share their median.  Of
several runs that call alike each step has its median.
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
        ("apart", "f8"),  # 1: the caches held what the rank uses (recorder/timing/apart.c); 0: what others used
    ]
)  # as in recorder/timing/work.c
_LEAST_REPEATS = 4  # of an iteration: fewer are no base of a median
_LEAST_SHARE = 0.5  # of a rank's calls that repeat
_LAGS_TRIED = 4096
_FOLDED_REL, _FOLDED_S = 0.3, 3e-4  # by which others' use of the caches makes a computation longer, at most
_APART_REL, _APART_S = 0.03, 5e-9  # by which a correction may be wrong: a share of it, and the time of the clocks
_CLOCK_S = 3e-8  # by which a time may be wrong that was not timed apart
_FAR, _FAR_S = 1.5, 2e-5  # an iteration's computation is far above the median by this much of it, and this time
_VARIES = 0.10  # share that iterations far above the median add to all, above which they are not alike
_DRIFTS = (
    0.40  # relative change of computation above which iterations are not alike: caches and other processes scatter
)
_DRIFT_S = 2e-7  # by which a computation may drift while the computer does other things
_BLOCKS = 8  # of iterations, whose medians are compared
_ONCE_REL = 0.045  # by which a time that was measured once may be wrong, where nothing else shows it
_ALIKE_REL, _ALIKE_S = 0.05, 5e-8  # by which computations of several ranks differ that are the same
_ERRORS = 6.0  # standard errors of a median by which ranks that compute the same may differ


@dataclass(frozen=True)
class Repeat:
    """Steps ``first`` to ``first + count * lag - 1`` of a rank repeat every ``lag`` steps; count 0: none repeat."""

    first: int = 0
    count: int = 0
    lag: int = 0


class Irregular(Exception):
    """The steps of a shorter run cannot be told from those of the whole run."""


@dataclass(frozen=True, eq=False)
class Work:
    """The computation of every rank of a run, in its order."""

    steps: tuple[npt.NDArray[np.void], ...]  # dtype STEP, by rank
    repeats: tuple[Repeat, ...]  # by rank
    iterations: int  # of the run that was timed; 1: a program without iterations
    spread_rel: float  # by which the computation of a rank may be wrong, as far as what was timed shows, as a share
    uniform: bool = True  # every rank computes the same in all iterations but the first
    kept: bool = True  # in the store

    def of(self, iterations: int) -> tuple[npt.NDArray[np.void], ...]:
        """Return the steps of a run of fewer iterations.

        Where iterations vary, those that are left have the mean of all but the first: they stand for the others too.

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
    """Return the steps in which every iteration but the first takes the mean time of these."""
    if repeat.count < 2:
        return steps
    row, second, end = steps.copy(), repeat.first + repeat.lag, repeat.first + repeat.count * repeat.lag
    mean_s = steps["time_s"][second:end].reshape(repeat.count - 1, repeat.lag).mean(axis=0)
    row["time_s"][second:end] = np.tile(mean_s, repeat.count - 1)
    if _begins_later(repeat, iterations):
        row["time_s"][repeat.first : second] = mean_s
    return row


def _begins_later(repeat: Repeat, iterations: int) -> bool:
    """Return whether the first iteration, the warm-up, is not among those that repeat: all of these are alike."""
    return _whole(repeat, iterations) % iterations > 0


def _without(steps: npt.NDArray[np.void], repeat: Repeat, fewer: int, iterations: int) -> npt.NDArray[np.void]:
    """Return the steps without ``fewer`` iterations, which are the last ones that repeat."""
    removed, rest = divmod(fewer * repeat.count * repeat.lag, max(1, _whole(repeat, iterations)))
    if not repeat.count or rest or removed > (repeat.count - 1) * repeat.lag or removed % repeat.lag:
        raise Irregular
    end = repeat.first + repeat.count * repeat.lag
    return np.concatenate([steps[: end - removed], steps[end:]])


def _whole(repeat: Repeat, iterations: int) -> int:
    """Return how many iterations the repetition has: all of them, or all but the first or the last few."""
    return repeat.count * max(1, round(iterations / repeat.count)) if repeat.count else 0


def typical(works: Sequence[Work]) -> Work:
    """Return the computation of several runs: the median of each step, where all of them call alike; else the first.

    Memory lies elsewhere in each run, and so do the conflicts of the caches: how far the runs differ tells by how much
    another one may.
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
    """Return the computation to be replayed, from the steps of one run of so many iterations; 1: it has none.

    In a simulation other ranks use a rank's caches between its computations.  At places where some computations were
    timed apart, those of all ranks that call alike take as much less as these; elsewhere the spread holds how much
    longer they may be, as it does for real ranks that have ``shared`` their cores.
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
    """The places of a rank's iteration; arrays have an item for each, and none where nothing repeats."""

    repeat: Repeat
    middle_s: npt.NDArray[np.float64]  # median of the iterations but the first
    scatter_s: npt.NDArray[np.float64]  # standard error of one computation
    left_s: npt.NDArray[np.float64]  # by which one computation may be wrong
    alike: bool  # the iterations compute the same
    known: npt.NDArray[np.bool_]  # the time is that of the rank alone

    @property
    def later(self) -> slice:
        """The steps of all iterations but the first."""
        return slice(self.repeat.first + self.repeat.lag, self.repeat.first + self.repeat.count * self.repeat.lag)

    def smooth(self, row: npt.NDArray[np.void], error: npt.NDArray[np.float64]) -> None:
        """Put the medians into the steps, and their standard errors into ``error``, if the iterations are alike."""
        if self.alike and len(self.middle_s):
            times = self.repeat.count - 1
            row["time_s"][self.later] = np.tile(self.middle_s, times)
            error[self.later] = np.tile(1.2533 * self.scatter_s / np.sqrt(times), times)

    def settle(self, row: npt.NDArray[np.void]) -> None:
        """Give the first of the iterations that repeat the time of the second, if the iterations are alike."""
        if self.alike and len(self.middle_s):
            begin, second = self.repeat.first, self.repeat.first + self.repeat.lag
            row["time_s"][begin:second] = row["time_s"][second : second + self.repeat.lag]

    def unfold(self, row: npt.NDArray[np.void], place: int, ratios: npt.NDArray[np.float64]) -> None:
        """Make the computation at a place as much shorter as those that were timed apart, by their ratios to others."""
        self.known[place] = True
        self.left_s[place] -= _CLOCK_S - _APART_S
        ratio = float(np.quantile(ratios, 0.25))
        if (ratio - 1) * float(self.middle_s[place]) > _CLOCK_S:  # what was copied has taken room in the caches
            return
        row["time_s"][self.later][place :: self.repeat.lag] *= ratio
        folded_s = float(self.middle_s[place])
        scatter = 1.4826 * float(np.median(np.abs(ratios - np.median(ratios)))) * 1.2533 / math.sqrt(len(ratios))
        left_s = (_APART_REL * abs(1 - ratio) + scatter) * folded_s + _APART_S
        self.left_s[place] = min(left_s, max(float(self.left_s[place]), (1 - ratio) * folded_s))

    def off_s(self, row: npt.NDArray[np.void], *, folded: bool) -> float:
        """Return by how much the computation in all steps may be wrong, s; ``folded``: others use the rank's caches."""
        later_s = float(row["time_s"][self.later].sum()) if len(self.middle_s) else 0.0
        once_s = float(row["time_s"].sum()) - (later_s if self.alike else 0.0)
        folded_s = self._folded_s(row) if folded else 0.0
        return float(self.left_s.sum() * (self.repeat.count - 1)) + _ONCE_REL * once_s + folded_s

    def _folded_s(self, row: npt.NDArray[np.void]) -> float:
        """Return by how much the computations may be too long that are not known to be those of the rank alone, s."""
        known = np.zeros(len(row), bool)
        if len(self.middle_s):
            known[self.later] = np.tile(self.known, self.repeat.count - 1)
            known[self.repeat.first : self.later.start] = self.known  # one of many
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
    """Return by how much each median may be wrong, s: half of what those of the two halves differ by."""
    halves = []
    for half in np.array_split(table, 2):
        known = ~np.isnan(half).all(axis=0)
        halves.append(np.where(known, np.nanmedian(np.where(known, half, 0.0), axis=0), middle_s))
    drift_s: npt.NDArray[np.float64] = np.abs(halves[0] - halves[1]) / 2
    return drift_s


def _vary(table: npt.NDArray[np.float64], middle_s: npt.NDArray[np.float64]) -> bool:
    """Tell whether the computation of the iterations changes by more than their measurement scatters.

    It does where the medians of successive blocks of iterations drift apart, where some iterations take several times
    the median, or where many take longer.
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
    """Take from the computation of ranks that call alike what others add to it by their use of the caches.

    The lower quartile of the computations that were timed apart counts, since all that disturbs them makes them longer.
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
    """Give ranks that call alike the median of their computations, at each step at which these do not differ."""
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
    """Return the repetition of a rank's steps around the middle of its run that covers most of them."""
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
        ValueError: It is no such archive, or one of another number of ranks.
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
