"""Messages of a recording: whether they match, and whether two recordings have the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.recording.events import Kind, Mark, Op, Recording
from predictor.learned.errors import CannotContinue

_KEY = ("source", "destination", "tag", "comm", "size_bytes")


def check_matched(ranks: Sequence[np.ndarray]) -> None:
    """Check that every message is received as it is sent; both ends of it were derived from their own calls.

    Raises:
        CannotContinue: A message is not.
    """
    events = np.concatenate([part[np.isin(part["kind"], (Kind.SEND, Kind.RECV))] for part in ranks])
    lengths = [int(np.isin(part["kind"], (Kind.SEND, Kind.RECV)).sum()) for part in ranks]
    rank = np.repeat(np.arange(len(ranks)), lengths)
    sends = events["kind"] == Kind.SEND
    source, destination = np.where(sends, rank, events["peer"]), np.where(sends, events["peer"], rank)
    columns = (source, destination, *(events[name].astype(np.int64) for name in _KEY[2:]))
    sent, received = (_sorted([column[which] for column in columns]) for which in (sends, ~sends))
    if all(np.array_equal(a, b) for a, b in zip(sent, received, strict=True)):
        return
    keys, others = (set(zip(*(column.tolist() for column in side), strict=True)) for side in (sent, received))
    wrong = sorted(keys ^ others)
    example = f", as from rank {wrong[0][0]} to {wrong[0][1]}" if wrong else ""
    raise CannotContinue(f"its sends and receives, derived apart, do not match{example}")


def _sorted(columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    order = np.lexsort(tuple(columns))
    return [column[order] for column in columns]


def difference(made: Recording, true: Recording) -> str | None:
    """Return how a generated recording differs from a recording at the same number of ranks; None: not at all.

    The events up to the end of the timed section are compared in order, their numbers exactly, computation to 1e-9.
    """
    numbers = [_canonical(recording) for recording in (made, true)]
    for rank in range(true.nranks):
        a, b = (_events(recording, rank) for recording in (made, true))
        if len(a) != len(b) or (a["kind"] != b["kind"]).any():
            return f"rank {rank} makes {len(a)} calls and computations instead of {len(b)}, or others"
        for name in ("op", "peer", "tag", "size_bytes", "mode"):
            matters = np.isin(a["kind"], (Kind.SEND, Kind.RECV, Kind.COLLECTIVE, Kind.MARK))
            off = np.flatnonzero((a[name] != b[name]) & matters)
            if len(off):
                at = off[0]
                return f"rank {rank} has {name} {a[name][at]} instead of {b[name][at]} in its event {at}"
        comms = [
            [number.get(c, -1) for c in part["comm"].tolist()] for number, part in zip(numbers, (a, b), strict=True)
        ]
        if comms[0] != comms[1]:
            return f"rank {rank} talks in other communicators"
        if _counts(made, rank, a) != _counts(true, rank, b) or _waits(a) != _waits(b):
            return f"rank {rank} has other counts, or waits for other operations"
        apart = np.abs(a["amount"] - b["amount"])
        if (apart > 1e-9 * np.maximum(np.abs(b["amount"]), 1.0)).any():
            worst = int(np.argmax(apart))
            return f"rank {rank} computes {a['amount'][worst]:.6g} instead of {b['amount'][worst]:.6g} flops at once"
    return None


def _waits(events: np.ndarray) -> list[int]:
    waited: list[int] = events["request"][events["kind"] == Kind.WAIT].tolist()
    return waited


def _counts(recording: Recording, rank: int, events: np.ndarray) -> list[int]:
    """Return the counts of the vector collectives among the events."""
    vectors = events[(events["kind"] == Kind.COLLECTIVE) & (events["request"] >= 0)]
    found: list[int] = []
    for first, op, comm in zip(*(vectors[name].tolist() for name in ("request", "op", "comm")), strict=True):
        length = 2 if op == Op.SPLIT else len(recording.communicators[comm])
        found += recording.counts[rank][first : first + length].tolist()
    return found


def _canonical(recording: Recording) -> dict[int, tuple[int, ...]]:
    return dict(enumerate(recording.communicators))


def _events(recording: Recording, rank: int) -> np.ndarray:
    events: np.ndarray = recording.events[rank]
    stop = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.STOP))
    events = events[: stop[0] + 1] if len(stop) else events
    made: np.ndarray = events[(events["kind"] != Kind.COMPUTE) | (events["amount"] > 0)]
    return made
