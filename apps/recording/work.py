"""The measured computation of a program: the seconds between two calls of each rank, as replays take them.

The recorder times every computation of a run once (apps/recording/recorder/work.c).  Where a rank's calls repeat, the
computation at each place of the iteration is the median over the iterations, the first of which, the warm-up, stays as
it was measured; ranks that call alike and differ by no more than the measurement scatters share their median.
"""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.recording.files import by_rank

STEP = np.dtype(
    [
        ("time_s", "f8"),
        ("check", "u8"),  # hash of the calls before and after
        ("apart", "f8"),  # 1: the rank's caches held what it uses (recorder/apart.c); 0: they held what others used
    ]
)  # as in recorder/work.c
_LEAST_REPEATS = 4  # of an iteration: fewer are no base of a median
_LEAST_SHARE = 0.5  # of a rank's calls that repeat
_LAGS_TRIED = 4096
LONG_S = 0.05  # computation above which the first state of the caches does not matter, as in recorder/apart.c
_LEAST_APART = 3  # computations at a place that were timed apart
_APART_REL, _APART_S = 0.1, 5e-8  # by which a correction may be wrong: a share of it, and the way back in the copy
_FAR, _FAR_S = 1.5, 2e-5  # an iteration's computation is far above the median by this much of it, and this time
_VARIES = 0.10  # relative change of the iterations' computation above which they are not alike
_DRIFT_S = 2e-7  # by which a computation may drift while the computer does other things
_BLOCKS = 8  # of iterations, whose medians are compared
_ONCE_REL = 0.03  # by which a time that was measured once may be wrong, where nothing else shows it
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
    spread_rel: float  # by which the computation of a rank may be wrong, as far as its repetition shows, as a share
    folded_rel: float = 0.0  # share of computation that others' use of the caches may have made longer
    uniform: bool = True  # every rank computes the same in all iterations but the first
    kept: bool = True  # in the store

    def of(self, iterations: int) -> tuple[npt.NDArray[np.void], ...]:
        """Return the steps of a run of fewer iterations.

        Raises:
            Irregular: The iterations do not consist of equal calls.
        """
        fewer = self.iterations - iterations
        if not fewer:
            return self.steps
        return tuple(_without(steps, repeat, fewer, self.iterations) for steps, repeat in self._by_rank())

    def _by_rank(self) -> Sequence[tuple[npt.NDArray[np.void], Repeat]]:
        return list(zip(self.steps, self.repeats, strict=True))

    @property
    def total_s(self) -> float:
        """Computation of all ranks."""
        return float(sum(steps["time_s"].sum() for steps in self.steps))


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


def measured_work(steps: Sequence[npt.NDArray[np.void]], iterations: int) -> Work:
    """Return the computation to be replayed, from the steps of one run of so many iterations; 1: it has none.

    At places where some computations were timed apart, those of all ranks that call alike take as much less as these:
    what others do to a rank's caches is an effect of the simulation.
    """
    repeats = [_repeat(row["check"], iterations) for row in steps]
    rows = [row.copy() for row in steps]
    errors = [np.full(len(row), np.nan) for row in rows]  # standard error of each step, s; nan: measured once
    made = [_smoothed(row, repeat, error) for row, repeat, error in zip(rows, repeats, errors, strict=True)]
    off_s, middles = [off for off, _ in made], [middle for _, middle in made]
    alike = defaultdict(list)
    for rank, repeat in enumerate(repeats):
        alike[len(rows[rank]), repeat].append(rank)
    apart_s = [np.zeros(len(row), bool) for row in rows]  # whether each step is known apart
    for ranks in alike.values():
        _unfold(ranks, steps, rows, repeats, middles, off_s, apart_s)
        _share(ranks, rows, errors, off_s)
    totals_s = [float(row["time_s"].sum()) for row in rows]
    longest_s = max(totals_s, default=0.0)
    spread_rel = max(off_s) / longest_s if longest_s > 0 else 0.0
    folded_s = sum(
        float(row["time_s"][~known & (row["time_s"] < LONG_S)].sum()) for row, known in zip(rows, apart_s, strict=True)
    )
    folded_rel = folded_s / sum(totals_s) if len(rows) > 1 and sum(totals_s) > 0 else 0.0
    repeats_all = all(middle is not None for middle in middles)
    return Work(tuple(rows), tuple(repeats), iterations, spread_rel, folded_rel, repeats_all)


def _smoothed(
    row: npt.NDArray[np.void], repeat: Repeat, error: npt.NDArray[np.float64]
) -> tuple[float, npt.NDArray[np.float64] | None]:
    """Put the medians over the iterations into a rank's steps, and their standard errors into ``error``.

    Returns:
        By how much the rank's computation may be wrong, s, and its medians by place; None: it has none.
    """
    begin, end = repeat.first, repeat.first + repeat.count * repeat.lag
    total_s = float(row["time_s"].sum())
    if repeat.count < _LEAST_REPEATS:
        return _ONCE_REL * total_s, None
    once_s = total_s - float(row["time_s"][begin + repeat.lag : end].sum())
    table = row["time_s"][begin + repeat.lag : end].reshape(repeat.count - 1, repeat.lag).copy()
    table[row["apart"][begin + repeat.lag : end].reshape(table.shape) > 0] = np.nan
    missing = np.isnan(table).all(axis=0)
    table[:, missing] = row["time_s"][begin + repeat.lag : end].reshape(table.shape)[:, missing]
    middle = np.nanmedian(table, axis=0)
    if _varies(table, middle):
        return _ONCE_REL * total_s, None
    scatter = 1.4826 * np.nanmedian(np.abs(table - middle), axis=0)
    tile = repeat.count - 1
    error[begin + repeat.lag : end] = np.tile(1.2533 * scatter / np.sqrt(tile), tile)
    row["time_s"][begin + repeat.lag : end] = np.tile(middle, tile)
    return float(_drift_s(table, middle) * tile + _ONCE_REL * once_s), middle


def _drift_s(table: npt.NDArray[np.float64], middle: npt.NDArray[np.float64]) -> float:
    """Return by how much the medians of an iteration's places may be wrong, s: half of what its halves differ by."""
    halves = []
    for half in np.array_split(table, 2):
        known = ~np.isnan(half).all(axis=0)
        halves.append(np.where(known, np.nanmedian(np.where(known, half, 0.0), axis=0), middle).sum())
    return abs(float(halves[0] - halves[1])) / 2


def _varies(table: npt.NDArray[np.float64], middle: npt.NDArray[np.float64]) -> bool:
    """Tell whether the computation of the iterations changes by more than their measurement scatters.

    It does where the medians of successive blocks of iterations drift apart, where some iterations take several times
    the median, or where many take longer.
    """
    total_s = float(middle.sum())
    if total_s <= 0:
        return False
    if len(table) >= 2 * _BLOCKS:
        blocks = [float(np.nanmedian(block.sum(axis=1))) for block in np.array_split(np.nan_to_num(table), _BLOCKS)]
        if max(blocks) - min(blocks) > 2 * _VARIES * total_s + _DRIFT_S * table.shape[1]:
            return True
    above_s = np.nan_to_num(table - middle)
    far = (above_s > _FAR * middle) & (above_s > _FAR_S)
    if above_s[far].sum() > _VARIES * total_s * len(table):
        return True
    return bool(abs(above_s[~far].sum()) > 2 * _VARIES * total_s * len(table) + _FAR_S * table.size)


def _unfold(
    ranks: Sequence[int],
    steps: Sequence[npt.NDArray[np.void]],
    rows: Sequence[npt.NDArray[np.void]],
    repeats: Sequence[Repeat],
    middles: Sequence[npt.NDArray[np.float64] | None],
    off_s: list[float],
    known: Sequence[npt.NDArray[np.bool_]],
) -> None:
    """Take from the computation of ranks that call alike what others add to it by their use of the caches.

    ``known`` is set for the steps of which that is known.
    """
    repeat = repeats[ranks[0]]
    begin, end = repeat.first, repeat.first + repeat.count * repeat.lag
    seen: list[list[float]] = [[] for _ in range(repeat.lag)]
    for rank in ranks:
        middle = middles[rank]
        if middle is None:
            continue
        for at in np.flatnonzero(steps[rank]["apart"][begin:end]):
            place = int(at % repeat.lag)
            if middle[place] > 0:
                seen[place].append(float(steps[rank]["time_s"][begin + at] / middle[place]))
    for place, ratios in enumerate(seen):
        if len(ratios) < _LEAST_APART:
            continue
        ratio = min(1.0, float(np.median(ratios)))
        for rank in ranks:
            if middles[rank] is None:
                continue
            times_s = rows[rank]["time_s"][begin + repeat.lag + place : end : repeat.lag]
            left_s = _APART_REL * (1 - ratio) * times_s + (_APART_S if ratio < 1 else 0.0)
            off_s[rank] += float(np.minimum(left_s, (1 - ratio) * times_s).sum())
            times_s *= ratio
            known[rank][begin + place : end : repeat.lag] = True


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
        folded_rel=work.folded_rel,
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
            shares = float(file["spread_rel"]), float(file["folded_rel"])
            made = Work(tuple(steps), repeats, int(file["iterations"]), *shares, uniform=bool(file["uniform"]))
    except (ValueError, KeyError, TypeError, IndexError, OSError, EOFError, zipfile.BadZipFile) as err:
        raise ValueError(f"not a measured computation: {err}") from err
    if len(made.steps) != nranks or len(repeats) != nranks:
        raise ValueError(f"not the computation of {nranks} ranks")
    return made
