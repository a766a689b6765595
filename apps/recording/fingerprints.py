"""Fingerprints of iterations: hashes of everything the ranks do in them, which show whether iterations are alike.

A fingerprint contains no times: a program that behaves the same has the same fingerprints on every platform.  The
recorder computes the hashes (apps/recording/recorder/hashes.c).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import Mark, Recording
from apps.recording.files import MOMENT, by_rank, difference, read_moments
from apps.recording.iterations import Iterations
from apps.results.steady import Pattern

MOST_TIMED = 1  # one clock reading shows no duration; with more, the program's course may depend on the time
_MOST_PERIOD = 1024
_CLOCK, _PASSED = 23, 26  # items of a reading of a clock, and of other observations of the time (recorder.h)


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """The iterations of a run: one hash of each, over all ranks."""

    iterations: npt.NDArray[np.uint64]  # of calls, without clock readings
    with_readings: npt.NDArray[np.uint64]  # with the number of clock readings
    frame: int  # hash of the parts before and after the iterations
    timed: int  # largest number of observations of the time by a rank up to the end of its last iteration
    passed: int  # those of them that are not clock readings
    totals: tuple[npt.NDArray[np.void], ...]  # counts of the timed section by rank: MOMENT


@dataclass(frozen=True)
class Cut:
    """Positions at which the calls of a rank are cut into iterations of equal length."""

    before: int  # calls before the first iteration
    first: int  # calls of the first iteration
    each: int  # calls of every other iteration
    after: int  # calls after the last iteration


def fingerprints_of_marks(moments: Sequence[npt.NDArray[np.void]]) -> Fingerprints | None:
    """Return the fingerprints of the marked iterations, or None if the ranks mark different numbers."""
    ends = [np.flatnonzero(marks["op"] == Mark.ITERATION) for marks in moments]
    if len({len(end) for end in ends}) != 1 or not len(ends[0]):
        return None
    frame: Any = np.uint64(0)
    combined, timed, passed = np.zeros(len(ends[0]), np.uint64), 0, 0
    for marks, end in zip(moments, ends, strict=True):
        others = np.delete(marks, end)
        combined = _mixed(combined ^ marks["hash"][end])
        for place, op, hashed in zip(np.delete(np.arange(len(marks)), end), others["op"], others["hash"], strict=True):
            # Other marks may only be before and after the iterations, and must be the same there.
            side = 0 if place < end[0] else 1 if place > end[-1] else 2
            frame = _mixed(frame ^ _mixed(np.uint64(op * 4 + side)) ^ (hashed if place else np.uint64(0)))
        timed = max(timed, int(marks["timed"][end[-1]]))
        passed = max(passed, int(marks["timed"][end[-1]] - marks["clocks"][end[-1]]))
    return Fingerprints(
        combined, combined, int(frame), timed, passed,
        tuple(difference(snapshots[0], snapshots[-1]) for snapshots in moments),
    )  # fmt: skip


def fingerprints_of_calls(
    calls: Sequence[npt.NDArray[np.uint64]], cuts: Sequence[Cut], moments: Sequence[npt.NDArray[np.void]]
) -> Fingerprints | None:
    """Return the fingerprints of iterations that are cut out of the calls of each rank.

    None if the calls of a rank do not form whole iterations, or the ranks have different numbers of iterations.
    """
    frame: Any = np.uint64(0)
    readings: Any = np.uint64(0)
    combined, timed, passed = None, 0, 0
    passing = _mixed(_mixed(np.uint64(_PASSED)))
    for row, cut, read in zip(map(calls_without_clocks, calls), cuts, map(_readings_before, calls), strict=True):
        begin, end = cut.before + cut.first, len(row) - cut.after
        if cut.each < 1 or end < begin or (end - begin) % cut.each:
            return None
        others = row[begin:end].reshape(-1, cut.each)
        sums = np.concatenate([[_sum(row[cut.before : begin])], _sum(others)])
        if combined is not None and len(sums) != len(combined):
            return None
        combined = _mixed(sums if combined is None else combined ^ sums)
        frame = _mixed(_mixed(frame ^ _sum(row[: cut.before])) ^ _sum(row[end:]))
        others_of_row = int((row[:end] == passing).sum())
        timed = max(timed, int(read[end]) + others_of_row)
        passed = max(passed, others_of_row)
        bounds = np.concatenate([[cut.before], np.arange(begin, end + 1, cut.each)])
        readings = _mixed(readings ^ np.diff(read[bounds]).astype(np.uint64))
    if combined is None:
        return None
    return Fingerprints(
        combined, _mixed(combined ^ readings), int(frame), timed, passed,
        tuple(difference(snapshots[0], snapshots[-1]) for snapshots in moments),
    )  # fmt: skip


def calls_without_clocks(calls: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the hashes of the calls of a rank without its clock readings."""
    return calls[~_are_readings(calls)]


def _are_readings(calls: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = calls == _mixed(_mixed(np.uint64(_CLOCK)))
    return same


def _readings_before(calls: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return the number of clock readings before each other call of a rank, and before its end."""
    are = _are_readings(calls)
    so_far = np.append(0, np.cumsum(are))
    return np.append(so_far[:-1][~are], so_far[-1])


def read_calls(folder: Path, nranks: int) -> tuple[npt.NDArray[np.uint64], ...]:
    """Return the hashes of all calls by rank, as the recorder has written them to a folder."""
    return by_rank(folder, nranks, "hashes", np.dtype(np.uint64))


def cuts_at(folder: Path, recording: Recording, iterations: Iterations) -> tuple[Cut, ...] | None:
    """Return where the calls of each rank are cut, for iterations found in the recording in the same folder.

    None if the iterations after the first have different numbers of calls.
    """
    calls = read_calls(folder, recording.nranks)
    rows = by_rank(folder, recording.nranks, "hashed", np.dtype(np.int64))
    made = []
    for row, all_calls, events, starts in zip(rows, calls, recording.events, iterations.starts, strict=True):
        events_of_program = row[(len(row) - len(events)) // 2 :]  # without the recorder's own marks, as in read_events
        places = events_of_program[starts]
        are_readings = _are_readings(all_calls)
        places = places - np.append(0, np.cumsum(are_readings))[places]  # counting only calls that read no clock
        lengths = np.diff(places)
        if len(set(lengths[1:].tolist())) != 1:
            return None
        made.append(Cut(int(places[0]), int(lengths[0]), int(lengths[1]), int((~are_readings).sum() - places[-1])))
    return tuple(made)


def pattern_of(iterations: npt.NDArray[np.uint64]) -> Pattern | None:
    """Return the repetition found in the fewest iterations, or None if they do not repeat.

    At most half of the iterations are used to find it; the last one may differ from all others.
    """
    row, best = iterations[:-1], None
    for period in range(1, min(_MOST_PERIOD, len(row) // 4) + 1):
        odd = np.flatnonzero(row[:-period] != row[period:])
        pattern = Pattern(int(odd[-1]) + 1 if len(odd) else 0, period)
        if 2 * pattern.first_try <= len(iterations) and (best is None or pattern.least < best.least):
            best = pattern
    return best


def departure(short: Fingerprints, full: Fingerprints, *, clock_is_harmless: bool = False) -> str | None:
    """Return how a shorter run differs from the beginning and the end of a full one; None: not at all.

    Clock readings are ignored.  ``clock_is_harmless``: the course is known not to depend on the simulated time that the
    program reads.
    """
    count = len(short.iterations)
    if max(fingerprints.passed if clock_is_harmless else fingerprints.timed for fingerprints in (short, full)) > (
        MOST_TIMED
    ):
        return "its course may depend on the time, which it reads or waits for"
    if not np.array_equal(short.iterations[: count - 1], full.iterations[: count - 1]):
        return "its first iterations differ from those of a full run"
    if short.iterations[-1] != full.iterations[-1] or short.frame != full.frame:
        return "it begins or ends differently from a full run"
    return None


def to_bytes(calls: Sequence[npt.NDArray[np.uint64]], moments: Sequence[npt.NDArray[np.void]]) -> bytes:
    """Return the notes of a full run as a compressed archive, which ``from_bytes`` reads."""
    file = io.BytesIO()
    ends = [np.cumsum([len(row) for row in rows], dtype=np.int64) for rows in (calls, moments)]
    kept = np.concatenate(moments).view(np.uint8)
    np.savez_compressed(file, calls=np.concatenate(calls), moments=kept, calls_ends=ends[0], moments_ends=ends[1])
    return file.getvalue()


def from_bytes(
    content: bytes,
) -> tuple[tuple[npt.NDArray[np.uint64], ...], tuple[npt.NDArray[np.void], ...]] | None:
    """Return the calls and the moments by rank from an archive; None if it has another version."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            calls, moments = file["calls"], file["moments"].view(MOMENT)
            parts = [np.split(row, file[f"{name}_ends"][:-1]) for name, row in (("calls", calls), ("moments", moments))]
    except (ValueError, KeyError, TypeError, IndexError, OSError, EOFError, zipfile.BadZipFile):
        return None
    return tuple(parts[0]), tuple(parts[1])


def read_notes(
    folder: Path, nranks: int
) -> tuple[tuple[npt.NDArray[np.uint64], ...], tuple[npt.NDArray[np.void], ...]]:
    """Return the calls (without RECORDER_EVENTS=hashes none) and the moments by rank from the recorder's folder.

    Raises:
        Incomplete: The files of some ranks are missing or not whole.
    """
    return read_calls(folder, nranks), read_moments(folder, nranks)


def _mixed(value: npt.NDArray[np.uint64] | np.uint64) -> npt.NDArray[np.uint64]:
    """Return the finaliser of splitmix64, as in recorder/hashes.c."""
    with np.errstate(over="ignore"):
        value = value + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(value ^ (value >> np.uint64(31)), np.uint64)


def _sum(rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return one hash of each row, which depends on the order."""
    weights = _mixed(np.arange(rows.shape[-1], dtype=np.uint64)) | np.uint64(1)
    return np.asarray((rows * weights).sum(axis=-1, dtype=np.uint64))
