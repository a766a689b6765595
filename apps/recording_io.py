"""Recordings as bytes: what the recorder leaves behind, and a compact form to keep."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence, Sized
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording import EVENT, EVENT_FIELDS, Kind, Mark, Op, Recording

BEGIN, END = 254, 255  # marks of the recorder's own: MPI_Init has returned, MPI_Finalize is called (recorder.h)

# What a rank has done up to a mark (recorder.h).  s, flop, byte.
MOMENT = np.dtype(
    [
        ("clock_s", "f8"),
        ("compute_s", "f8"),
        ("flops", "f8"),
        ("op", "i8"),  # Mark, BEGIN or END
        ("messages", "i8"),
        ("bytes", "i8"),
        ("self_messages", "i8"),
        ("self_bytes", "i8"),
        ("calls", "i8", len(Op)),  # of each collective
        ("call_bytes", "i8", len(Op)),  # all that a rank sends in an all-to-all
        ("energy_j", "f8"),  # consumed by the host, as in apps.record.IterationEnergy; 0: not counted
    ]
)

_MOST_UNPACKED_BYTES = 4 << 30  # beyond, it is no recording
# What the archive of a recording holds: rows, and whether it is measured.
_COLUMNS = {
    **{f"event_{name}": EVENT[name] for name in EVENT_FIELDS},
    **dict.fromkeys(("ends", "counts", "counts_ends", "members_ends"), np.dtype(np.int64)),
    "members": np.dtype(np.int32),
    "measured": np.dtype(np.bool_),
}


class Incomplete(Exception):
    """A run that did not leave behind what every rank did; says of which ranks."""


def read_moments(folder: Path, nranks: int) -> tuple[npt.NDArray[np.void], ...]:
    """The moments of every rank, from the start of the timed section to its end: MOMENT, by rank.

    A program that marks no START has the whole of MPI for its timed section.  Raises Incomplete.
    """
    return _framed(_by_rank(folder, nranks, "moments", MOMENT), [slice(None)] * nranks)


def read_events(folder: Path, nranks: int, *, measured: bool) -> Recording:
    """The recording in a folder that the recorder has written, with one difference: the amount of events that are no
    COMPUTE is the time the rank has spent computing so far, s (see ``without_clocks``).  Raises Incomplete.
    """
    events = _by_rank(folder, nranks, "events", EVENT)
    marks = [np.flatnonzero(one["kind"] == Kind.MARK) for one in events]
    return Recording(
        events=_framed(events, marks, whole=False),
        counts=_by_rank(folder, nranks, "counts", np.dtype(np.int64)),
        communicators=_communicators(folder / "communicators"),
        measured=measured,
    )


def _communicators(path: Path) -> tuple[tuple[int, ...], ...]:
    """Members, one communicator on each line.  Raises Incomplete."""
    try:
        return tuple(tuple(map(int, line.split())) for line in path.read_text().splitlines())
    except (OSError, ValueError) as err:
        raise Incomplete(f"its communicators were not written whole: {err}") from err


def read_energies(folder: Path, recording: Recording) -> tuple[npt.NDArray[np.float64], ...]:
    """J that a rank's host had consumed when the rank last finished computing before each event of ``read_events``.

    None at all for a host whose energy is not counted.
    """
    rows = _by_rank(folder, recording.nranks, "energies", np.dtype(np.float64))
    cut = [(len(row) - len(events)) // 2 for row, events in zip(rows, recording.events, strict=True)]  # as _framed
    return tuple(row[max(one, 0) : len(row) - max(one, 0)] for row, one in zip(rows, cut, strict=True))


def without_clocks(recording: Recording) -> Recording:
    """The recording as it is defined, with an amount for COMPUTE alone.  Changes the events in place."""
    for events in recording.events:
        events["amount"][events["kind"] != Kind.COMPUTE] = 0
    return recording


def _by_rank(folder: Path, nranks: int, what: str, dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], ...]:
    missing = [rank for rank in range(nranks) if not (folder / f"{rank}.{what}").is_file()]
    if missing:
        raise Incomplete(f"{len(missing)} of {nranks} ranks did not reach MPI_Finalize, rank {missing[0]} for one")
    return tuple(np.fromfile(folder / f"{rank}.{what}", dtype) for rank in range(nranks))


def _framed(
    rows: tuple[npt.NDArray[np.void], ...], marks: list[Any], *, whole: bool = True
) -> tuple[npt.NDArray[np.void], ...]:
    """Rows (moments or events; their marks are at ``marks``) with the timed section marked, one way or another.

    ``whole``: cut down to it.
    """
    starts, stops = (
        [np.flatnonzero(row["op"][at] == mark) for row, at in zip(rows, marks, strict=True)]
        for mark in (Mark.START, Mark.STOP)
    )
    ends = {(len(start), len(stop)) for start, stop in zip(starts, stops, strict=True)}
    if ends == {(1, 1)}:
        if whole:
            return tuple(row[start[0] : stop[0] + 1] for row, start, stop in zip(rows, starts, stops, strict=True))
        return tuple(row[1:-1] for row in rows)  # without the recorder's own marks
    if ends != {(0, 0)}:
        raise Incomplete("its marks are not one start and one stop of the timed section on every rank")
    for rank, row in enumerate(rows):
        if len(row) < 2:  # BEGIN and END at least
            raise Incomplete(f"what rank {rank} did was not written whole")
        row[0]["op"], row[-1]["op"] = Mark.START, Mark.STOP
    return rows


def to_bytes(recording: Recording) -> bytes:
    """A compressed NumPy archive, column by column: `from_bytes` reads it."""
    everything = np.concatenate(recording.events)
    columns: dict[str, Any] = {f"event_{name}": np.ascontiguousarray(everything[name]) for name in EVENT_FIELDS}
    file = io.BytesIO()
    np.savez_compressed(
        file,
        measured=recording.measured,
        ends=_ends(recording.events),
        counts=np.concatenate(recording.counts),
        counts_ends=_ends(recording.counts),
        members=np.array([rank for members in recording.communicators for rank in members], np.int32),
        members_ends=_ends(recording.communicators),
        **columns,
    )
    return file.getvalue()


def from_bytes(content: bytes) -> Recording:
    """The inverse of ``to_bytes``.  Raises ValueError for what is no recording, or one of another version."""
    found = _unpacked(content)
    lengths = {len(found[f"event_{name}"]) for name in EVENT_FIELDS}
    if len(lengths) > 1:
        raise ValueError(f"not a recording: columns of {min(lengths)} to {max(lengths)} events")
    everything = np.empty(lengths.pop(), EVENT)
    for name in EVENT_FIELDS:
        everything[name] = found[f"event_{name}"]
    return Recording(
        events=_parts(everything, found["ends"]),
        counts=_parts(found["counts"], found["counts_ends"]),
        communicators=tuple(tuple(one.tolist()) for one in _parts(found["members"], found["members_ends"])),
        measured=bool(found["measured"]),
    )


def _ends(parts: Sequence[Sized]) -> npt.NDArray[np.int64]:
    """Where each part ends, of all in one row."""
    return np.cumsum([len(part) for part in parts], dtype=np.int64)


def _parts(row: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], ...]:
    bounds = [0, *ends.tolist()]
    if bounds != sorted(bounds) or bounds[-1] != len(row):
        raise ValueError(f"not a recording: its parts are not parts of a row of {len(row)}")
    return tuple(row[begin:end] for begin, end in pairwise(bounds))


def _unpacked(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an archive, of the types that ``to_bytes`` gives them.  Raises ValueError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked_bytes = sum(one.file_size for one in archive.infolist())
            if unpacked_bytes > _MOST_UNPACKED_BYTES:
                raise ValueError(f"it unpacks to {unpacked_bytes} bytes")
            for name in _COLUMNS:
                _check_length(archive, name)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            found = {name: np.asarray(file[name]) for name in _COLUMNS}
    except MemoryError:  # says nothing of the archive, whose arrays are as long as their headers say
        raise
    except Exception as err:  # nobody says what NumPy's and Python's readers of archives raise for a broken one
        raise ValueError(f"not a recording: {err}") from err
    for name, dtype in _COLUMNS.items():
        array, dimensions = found[name], 0 if name == "measured" else 1
        if array.dtype != dtype or array.ndim != dimensions:
            raise ValueError(f"not a recording: {name} is {array.ndim}-dimensional, of {array.dtype}")
    return found


def _check_length(archive: zipfile.ZipFile, name: str) -> None:
    """Raises ValueError where an array's header promises more than follows: NumPy would make room for all of it."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{name}: not NumPy's format 1.0")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"{name}: its header promises {shape} of {dtype}, and the file ends before")
