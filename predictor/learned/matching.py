"""Messages of a recording: whether they match, whether two recordings have the same, and orders that time decides."""

from collections.abc import Sequence

import numpy as np

from apps.recording.events import FROM_ANY, Kind, Mark, Op, PollKind, Recording
from predictor.learned.errors import CannotContinue

AS_SENT = -1  # size of a receive whose message has a size that is only fitted
_KEY = ("source", "destination", "tag", "comm", "size_bytes")
_OPENS = (Kind.SEND, Kind.RECV)
_MESSAGE = ("peer", "tag", "size_bytes")


def check_matched(events: np.ndarray, rank: np.ndarray) -> None:
    """Check that every message is received as it is sent; both ends of it were derived from their own calls.

    The sums of hashes over all sends and over all receives are compared first, which takes no sorting.

    Args:
        events: The events of all ranks.
        rank: The rank of each event.

    Raises:
        CannotContinue: A message is not.
    """
    sent, received = (_messages(events, rank, kind) for kind in (Kind.SEND, Kind.RECV))
    mixed = [hashes(side) for side in (sent, received)]
    if int(mixed[0].sum()) == int(mixed[1].sum()) and len(mixed[0]) == len(mixed[1]):
        return
    alone = [~np.isin(mine, others) for mine, others in (mixed, mixed[::-1])]
    wrong = min(
        (row for side, which in zip((sent, received), alone, strict=True) for row in _ends(side, which)), default=None
    )
    example = f", as from rank {wrong[0]} to {wrong[1]}" if wrong else ""
    raise CannotContinue(f"its sends and receives, derived apart, do not match{example}")


def take_sizes_as_sent(events: np.ndarray, rank: np.ndarray) -> None:
    """Give receives whose size is AS_SENT the size of their message, in the order of sending.

    Where sends and receives do not match, they keep AS_SENT.  Arguments: as in ``check_matched``.
    """
    if not (events["size_bytes"] == AS_SENT).any():
        return
    rows = []
    for kind in (Kind.SEND, Kind.RECV):
        which = np.flatnonzero(events["kind"] == kind)
        columns = _messages(events, rank, kind)[:-1]
        order = np.lexsort((which, *reversed(columns)))
        rows.append((which[order], [column[order] for column in columns]))
    (sends, sent), (receives, received) = rows
    if len(sends) == len(receives) and all(np.array_equal(a, b) for a, b in zip(sent, received, strict=True)):
        sizes = events["size_bytes"][receives]
        events["size_bytes"][receives] = np.where(sizes == AS_SENT, events["size_bytes"][sends], sizes)


def _ends(columns: Sequence[np.ndarray], which: np.ndarray) -> list[tuple[int, int]]:
    """Return the source and the destination of the first of some messages."""
    source, destination = columns[0][which], columns[1][which]
    order = np.lexsort((destination, source))[:1]
    return [(int(source[at]), int(destination[at])) for at in order]


def _messages(events: np.ndarray, rank: np.ndarray, kind: Kind) -> list[np.ndarray]:
    """Return the columns of _KEY of all sends, or of all receives."""
    which = np.flatnonzero(events["kind"] == kind)
    ends = (rank[which], events["peer"][which])
    source, destination = ends if kind == Kind.SEND else ends[::-1]
    return [source, destination, *(events[name][which] for name in _KEY[2:])]


def hashes(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return a hash of each row of columns (splitmix64: Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed += column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return mixed


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
    events = without_finds(by_source(recording.events[rank]), recording.counts[rank])
    stop = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.STOP))
    events = events[: stop[0] + 1] if len(stop) else events
    events = events[(events["kind"] != Kind.COMPUTE) | (events["amount"] > 0)]
    computes = events["kind"] == Kind.COMPUTE
    first = np.flatnonzero(~(computes & np.concatenate([[False], computes[:-1]])))  # computation without a call between
    made: np.ndarray = events[first].copy()
    made["amount"] = np.add.reduceat(events["amount"], first) if len(first) else made["amount"]
    return made


def without_finds(events: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the events of a rank, receives that a look has found as waited for with what it has not found.

    Which receives MPI_Testall has found when it has not found all depends on time, and changes nothing for a program
    that waits for all of them later.

    Args:
        events: The events.
        counts: As in Recording.

    Raises:
        CannotContinue: A look finds all, is another kind of look, or is not at all open operations.
    """
    looks = np.flatnonzero(events["kind"] == Kind.POLL)
    if not len(looks):
        return events
    _check(events, counts)
    kind, mode, request = (events[name].tolist() for name in ("kind", "mode", "request"))
    receives = {number for what, number in zip(kind, request, strict=True) if what == Kind.RECV}
    made, order = events.copy(), list(range(len(events)))
    for look in looks[::-1].tolist():
        found = []
        for at in range(look + 1, len(events)):
            if kind[at] != Kind.WAIT or mode[at] != 1:
                break
            found.append(at)
        moved = [at for at in found if request[at] in receives]
        if not moved:
            continue
        first, length = request[look], int(events["size_bytes"][look])
        place = {number: at for at, number in enumerate(counts[first : first + length].tolist())}
        left = set(place) - {request[at] for at in found}
        behind = next((at for at in range(look, len(events)) if kind[at] == Kind.WAIT and request[at] in left), None)
        if behind is None:
            raise CannotContinue("the program polls for messages, and its control flow depends on the answer")
        together = [at for at in range(behind, behind + len(left)) if at < len(events) and request[at] in left]
        made["mode"][moved], made["site"][moved] = mode[behind], made["site"][behind]
        there = sorted([*moved, *together], key=lambda at: place[request[at]])
        order = [at for at in order if at not in moved]
        begin = order.index(behind)
        order[begin : begin + len(together)] = there
    reordered: np.ndarray = made[order]
    return reordered


def _check(events: np.ndarray, counts: np.ndarray) -> None:
    looks = events["kind"] == Kind.POLL
    still: list[int] = []
    regular = bool(((events["op"] == PollKind.EACH) & (events["mode"] == 0))[looks].all())
    columns = (events[name].tolist() for name in ("kind", "request", "size_bytes"))
    for kind, number, length in zip(*columns, strict=True) if regular else ():
        if kind in _OPENS:
            still.append(number)
        elif kind == Kind.WAIT:
            still.remove(number)
        elif kind == Kind.POLL:
            regular &= counts[number : number + length].tolist() == still
    if not regular:
        raise CannotContinue("the program polls for messages, and its control flow depends on the answer")


def by_source(events: np.ndarray) -> np.ndarray:
    """Return the events of a rank, with consecutive receives from any source sorted by source.

    Which of them gets which message depends on which comes first.  Between them may be nothing but waits for them.
    """
    any_source = (events["kind"] == Kind.RECV) & (events["mode"] == FROM_ANY)
    if any_source.sum() < 2:
        return events
    receives = np.flatnonzero(any_source)
    other = np.cumsum(~any_source & (events["kind"] != Kind.WAIT))
    begins = np.flatnonzero(np.append(True, (np.diff(other[receives]) > 0) | (np.diff(events["site"][receives]) != 0)))
    made: np.ndarray = events.copy()
    for first, last in zip(begins.tolist(), [*begins[1:].tolist(), len(receives)], strict=True):
        run = receives[first:last]
        begun = set(events["request"][run].tolist())
        waits = events["request"][run[0] : run[-1] + 1][events["kind"][run[0] : run[-1] + 1] == Kind.WAIT]
        if len(run) > 1 and set(waits.tolist()) <= begun:
            order = run[np.lexsort(tuple(events[name][run] for name in reversed(_MESSAGE)))]
            for name in _MESSAGE:
                made[name][run] = events[name][order]
    return made
