"""Recordings as bytes: the files that the recorder writes, and a compact form for the store."""

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

from apps.recording.events import EVENT, EVENT_FIELDS, Kind, Mark, Op, Recording

BEGIN, END = 254, 255  # the recorder's own marks: MPI_Init has returned, MPI_Finalize is called (recorder.h)

# Totals of a rank up to a mark (recorder.h), in s, flop and byte.
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
        ("calls", "i8", len(Op)),  # by collective
        ("call_bytes", "i8", len(Op)),  # by collective; for all-to-all: everything the rank sends
        ("energy_j", "f8"),  # energy of the host, as in apps.results.record.IterationEnergy; 0: not counted
        ("hash", "u8"),  # of all calls and injected computation since the previous mark (recorder/hashes.c)
        ("timed", "i8"),  # observations of the time that may affect the program's course
        ("clocks", "i8"),  # those of them that are clock readings
        ("polled_s", "f8"),  # simulated time taken by polls
    ]
)

_MOST_UNPACKED_BYTES = 4 << 30  # a larger archive is refused
# Types of the arrays in the archive of a recording: one-dimensional, except the scalars.
_COLUMNS = {
    **{f"event_{name}": EVENT[name] for name in EVENT_FIELDS},
    **dict.fromkeys(("ends", "counts", "counts_ends", "members_ends", "paths", "paths_ends"), np.dtype(np.int64)),
    "members": np.dtype(np.int32),
    "measured": np.dtype(np.bool_),
    "held_node_s": np.dtype(np.float64),
    "spread_rel": np.dtype(np.float64),
    "replayed": np.dtype(np.bool_),
}
_SCALARS = ("measured", "replayed", "held_node_s", "spread_rel")


def no_moment() -> npt.NDArray[np.void]:
    """Return a MOMENT of zeros."""
    return np.zeros((), MOMENT)


def difference(before: np.void, after: np.void) -> npt.NDArray[np.void]:
    """Return what was counted between two moments, as a MOMENT."""
    made = no_moment()
    for name in MOMENT.fields or ():
        made[name] = 0 if name == "hash" else after[name] - before[name]
    return made


class Incomplete(Exception):
    """The files of a run lack the events of some ranks; the message names them."""


def read_moments(folder: Path, nranks: int) -> tuple[npt.NDArray[np.void], ...]:
    """Return the moments of every rank from the start to the end of the timed section: MOMENT, by rank.

    If a program marks no START, its timed section lasts from MPI_Init to MPI_Finalize.

    Raises:
        Incomplete: The files of some ranks are missing or incomplete.
    """
    return _framed(by_rank(folder, nranks, "moments", MOMENT), [slice(None)] * nranks)


def read_events(folder: Path, nranks: int, *, measured: bool) -> Recording:
    """Return the recording that the recorder wrote to a folder.

    It differs from the definition of a recording in one point: the amount of every event other than COMPUTE is the
        computation time of the rank so far, s (see ``without_clocks``).

    Raises:
        Incomplete: The files of some ranks are missing or incomplete.
    """
    events = by_rank(folder, nranks, "events", EVENT)
    if (folder / "0.communicators").is_file():
        communicators, paths = _merged_communicators(folder, events), _merged_paths(folder, events)
    else:
        communicators = _communicators(folder / "communicators")
        paths = _numbers_by_line(folder / "sites") if (folder / "sites").is_file() else ()
    marks = [np.flatnonzero(event["kind"] == Kind.MARK) for event in events]
    return Recording(
        events=_framed(events, marks, whole=False),
        counts=by_rank(folder, nranks, "counts", np.dtype(np.int64)),
        communicators=communicators,
        paths=paths,
        measured=measured,
    )


def _communicators(path: Path) -> tuple[tuple[int, ...], ...]:
    """Return the members of each communicator, one communicator per line.  Raise Incomplete for a broken file."""
    try:
        return _numbers_by_line(path)
    except (OSError, ValueError) as err:
        raise Incomplete(f"its communicators were not written completely: {err}") from err


def _numbers_by_line(path: Path) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, line.split())) for line in path.read_text().splitlines())


def _merged_communicators(folder: Path, events: Sequence[npt.NDArray[np.void]]) -> tuple[tuple[int, ...], ...]:
    """Return the members of each communicator, and renumber communicators consistently in the events of all ranks.

    Each rank numbers its communicators itself; a hash before the members shows which are the same (recorder.h). Raise
    Incomplete for a broken file.
    """
    numbers: dict[int, int] = {}
    members: list[tuple[int, ...]] = []
    for rank, row in enumerate(events):
        communicators = []
        for key, *ranks in _communicators(folder / f"{rank}.communicators"):
            if key not in numbers:
                numbers[key] = len(members)
                members.append(tuple(ranks))
            communicators.append(numbers[key])
        used = row["comm"] >= 0
        if np.any(row["comm"][used] >= len(communicators)):
            raise Incomplete(f"the communicators of rank {rank} were not written completely")
        row["comm"][used] = np.array(communicators, np.int32)[row["comm"][used]]
    return tuple(members)


def _merged_paths(folder: Path, events: Sequence[npt.NDArray[np.void]]) -> tuple[tuple[int, ...], ...]:
    """Return the call paths, and renumber them consistently in all events; each rank numbered them itself."""
    numbers: dict[tuple[int, ...], int] = {}
    for rank, row in enumerate(events):
        own = _numbers_by_line(folder / f"{rank}.sites")
        row["site"] = np.array([0, *(numbers.setdefault(path, len(numbers) + 1) for path in own)])[row["site"]]
    return tuple(numbers)


def read_energies(folder: Path, recording: Recording) -> tuple[npt.NDArray[np.float64], ...]:
    """Return the host's energy at the latest end of a computation before each event of ``read_events``, J, by rank.

    The array of a rank is empty if the energy of its host is not measured.
    """
    rows = by_rank(folder, recording.nranks, "energies", np.dtype(np.float64))
    cut = [(len(row) - len(events)) // 2 for row, events in zip(rows, recording.events, strict=True)]  # as in _framed
    return tuple(row[max(margin, 0) : len(row) - max(margin, 0)] for row, margin in zip(rows, cut, strict=True))


def without_clocks(recording: Recording) -> Recording:
    """Return the recording as defined, with an amount for COMPUTE only.  The events are changed in place."""
    for events in recording.events:
        kind = events["kind"]
        events["amount"][(kind != Kind.COMPUTE) & (kind != Kind.ELAPSE)] = 0
    return recording


def by_rank(folder: Path, nranks: int, what: str, dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Return an array of each rank from the files that the recorder wrote to a folder.

    Raises:
        Incomplete: The files of some ranks are missing.
    """
    missing = [rank for rank in range(nranks) if not (folder / f"{rank}.{what}").is_file()]
    if missing:
        raise Incomplete(f"{len(missing)} of {nranks} ranks did not reach MPI_Finalize, for example rank {missing[0]}")
    return tuple(np.fromfile(folder / f"{rank}.{what}", dtype) for rank in range(nranks))


def _framed(
    rows: tuple[npt.NDArray[np.void], ...], marks: list[Any], *, whole: bool = True
) -> tuple[npt.NDArray[np.void], ...]:
    """Return rows of moments or events with START and STOP marks, from the program or at the ends of MPI.

    ``marks`` are the indices of the marks among the rows.  With ``whole`` the rows are cut to the timed section.
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
        raise Incomplete("not every rank marked one start and one stop of the timed section")
    for rank, row in enumerate(rows):
        if len(row) < 2:  # BEGIN and END at least
            raise Incomplete(f"the events of rank {rank} were not written completely")
        row[0]["op"], row[-1]["op"] = Mark.START, Mark.STOP
    return rows


def to_bytes(recording: Recording) -> bytes:
    """Return the recording as a compressed NumPy archive of its columns, which ``from_bytes`` reads."""
    everything = np.concatenate(recording.events)
    columns: dict[str, Any] = {f"event_{name}": np.ascontiguousarray(everything[name]) for name in EVENT_FIELDS}
    file = io.BytesIO()
    np.savez_compressed(
        file,
        measured=recording.measured,
        held_node_s=recording.held_node_s,
        spread_rel=recording.spread_rel,
        replayed=recording.replayed,
        ends=_ends(recording.events),
        counts=np.concatenate(recording.counts),
        counts_ends=_ends(recording.counts),
        members=np.array([rank for members in recording.communicators for rank in members], np.int32),
        members_ends=_ends(recording.communicators),
        paths=np.array([address for path in recording.paths for address in path], np.int64),
        paths_ends=_ends(recording.paths),
        **columns,
    )
    return file.getvalue()


def from_bytes(content: bytes, *, nranks: int | None = None) -> Recording:
    """Return the recording from its archive (the inverse of ``to_bytes``).

    Raises:
        ValueError: The content is not a recording, or one of another version or of another number of ranks than
            ``nranks``.
    """
    columns = _unpacked(content)
    lengths = {len(columns[f"event_{name}"]) for name in EVENT_FIELDS}
    if len(lengths) > 1:
        raise ValueError(f"not a recording: columns of {min(lengths)} to {max(lengths)} events")
    everything = np.empty(lengths.pop(), EVENT)
    for name in EVENT_FIELDS:
        everything[name] = columns[f"event_{name}"]
    events, counts = _parts(everything, columns["ends"]), _parts(columns["counts"], columns["counts_ends"])
    if nranks is not None and len(events) != nranks:
        raise ValueError(f"not a recording of {nranks} ranks but of {len(events)}")
    return Recording(
        events=events,
        counts=counts,
        communicators=tuple(tuple(members.tolist()) for members in _parts(columns["members"], columns["members_ends"])),
        paths=tuple(tuple(path.tolist()) for path in _parts(columns["paths"], columns["paths_ends"])),
        measured=bool(columns["measured"]),
        held_node_s=float(columns["held_node_s"]),
        spread_rel=float(columns["spread_rel"]),
        replayed=bool(columns["replayed"]),
    )


def _ends(parts: Sequence[Sized]) -> npt.NDArray[np.int64]:
    """Return the end index of each part in the concatenation of all parts."""
    return np.cumsum([len(part) for part in parts], dtype=np.int64)


def _parts(row: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], ...]:
    bounds = [0, *ends.tolist()]
    if bounds != sorted(bounds) or bounds[-1] != len(row):
        raise ValueError(f"not a recording: the bounds of its parts do not fit an array of {len(row)}")
    return tuple(row[begin:end] for begin, end in pairwise(bounds))


def _unpacked(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an archive.  Raise ValueError if their types differ from those written by ``to_bytes``."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked_bytes = sum(member.file_size for member in archive.infolist())
            if unpacked_bytes > _MOST_UNPACKED_BYTES:
                raise ValueError(f"it unpacks to {unpacked_bytes} bytes")
            for name in _COLUMNS:
                _check_length(archive, name)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            columns = {name: np.asarray(file[name]) for name in _COLUMNS}
    except MemoryError:  # not caused by the archive: the lengths of its arrays have been checked
        raise
    except Exception as err:  # NumPy and zipfile do not document what they raise for a broken archive
        raise ValueError(f"not a recording: {err}") from err
    for name, dtype in _COLUMNS.items():
        array, dimensions = columns[name], 0 if name in _SCALARS else 1
        if array.dtype != dtype or array.ndim != dimensions:
            raise ValueError(f"not a recording: {name} is {array.ndim}-dimensional, of {array.dtype}")
    return columns


def _check_length(archive: zipfile.ZipFile, name: str) -> None:
    """Raise ValueError if an array's header promises more data than follow, for which NumPy would allocate memory."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{name}: not NumPy's format 1.0")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"{name}: its header promises {shape} of {dtype}, but the file is shorter")
