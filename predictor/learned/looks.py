"""Tests of open operations that do not change the course: not all are complete, and all are waited for afterwards."""

from __future__ import annotations

import numpy as np

from apps.recording.events import Kind, PollKind
from predictor.learned.errors import CannotContinue

_OPENS = (Kind.SEND, Kind.RECV)


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
            raise CannotContinue("the program looks for messages, and its course depends on what it finds")
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
        raise CannotContinue("the program looks for messages, and its course depends on what it finds")
