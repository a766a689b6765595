"""The files of a recording that the replayer reads (replayer.c)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.recording.events import Kind, Op, Recording

_BLOCKS = (Op.GATHER, Op.SCATTER, Op.ALLGATHER, Op.ALLTOALL)  # size_bytes is one member's


def write_files(recording: Recording, folder: Path) -> int:
    """Write the events and counts of every rank and the communicators; return the size of the largest buffer, bytes."""
    received = _received(recording)
    most = 0
    for rank, (events, counts) in enumerate(zip(recording.events, recording.counts, strict=True)):
        events = events.copy()
        more = [counts]
        total = len(counts)
        for at in _of(events, Op.ALLTOALLV):
            first, members = int(events["request"][at]), len(recording.communicators[events["comm"][at]])
            more += [counts[first : first + members], received[rank, at]]
            events["request"][at] = total
            total += 2 * members
        together = np.concatenate(more)
        events.tofile(folder / f"{rank}.events")
        together.astype(np.int64).tofile(folder / f"{rank}.counts")
        most = max(most, int(together[together > 0].sum()) if len(together) else 0, _largest(recording, events))
    rows = [np.array([len(members), *members], np.int32) for members in recording.communicators]
    np.concatenate(rows).tofile(folder / "communicators")
    return most


def _of(events: npt.NDArray[np.void], op: Op) -> list[int]:
    """Return the indices of the collectives of a kind."""
    indices: list[int] = np.flatnonzero((events["kind"] == Kind.COLLECTIVE) & (events["op"] == op)).tolist()
    return indices


def _received(recording: Recording) -> dict[tuple[int, int], npt.NDArray[np.int64]]:
    """Return what each rank receives of each member in its all-to-alls, by rank and index of the event.

    The n-th call of one member of a communicator belongs to the n-th calls of the others.
    """
    calls: dict[int, dict[int, list[int]]] = defaultdict(dict)  # indices of the events by communicator and rank
    for rank, events in enumerate(recording.events):
        for at in _of(events, Op.ALLTOALLV):
            calls[int(events["comm"][at])].setdefault(rank, []).append(at)
    received = {}
    for comm, by_rank in calls.items():
        members = recording.communicators[comm]
        for together in zip(*(by_rank[rank] for rank in members), strict=True):
            firsts = [int(recording.events[rank]["request"][at]) for rank, at in zip(members, together, strict=True)]
            sent = [
                recording.counts[rank][first : first + len(members)]
                for rank, first in zip(members, firsts, strict=True)
            ]
            for place, key in enumerate(zip(members, together, strict=True)):
                received[key] = np.stack(sent)[:, place]
    return received


def _largest(recording: Recording, events: npt.NDArray[np.void]) -> int:
    """Return the size of the largest message or block of blocks of a rank, bytes."""
    sized = events[np.isin(events["kind"], (Kind.SEND, Kind.RECV, Kind.COLLECTIVE))]
    if not len(sized):
        return 0
    members = np.array([len(ranks) for ranks in recording.communicators])[sized["comm"]]
    many = (sized["kind"] == Kind.COLLECTIVE) & np.isin(sized["op"], _BLOCKS)
    return int((sized["size_bytes"] * np.where(many, members, 1)).max())
