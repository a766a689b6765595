"""Timelines as moments in the order of time, and as text for Chrome's viewer and in the format Paje."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apps.timelines.activities import (
    COMPUTATION,
    DISK,
    NAMES,
    OTHER,
    PROBE,
    RECEIVE,
    SEND,
    SEND_AND_RECEIVE,
    WAITING,
)
from platforms.errors import printable

if TYPE_CHECKING:
    import numpy.typing as npt

    from apps.timelines.activities import Activities


class Change(IntEnum):
    """Kinds of changes at a moment, in the order in which they happen at the same moment."""

    RECEIVED = 0  # who: message; before the end of the activity that waits for it
    ACTIVITY_ENDS = 1  # who: rank; value: as when it began
    ITERATION_ENDS = 2  # who: rank; value: number of the iteration, from 1
    ITERATION_BEGINS = 3
    ACTIVITY_BEGINS = 4  # value: index into activities.NAMES
    SENT = 5  # who: message; after the beginning of the activity that sends it
    RECEIVED_AT_ONCE = 6  # who: message, which took no time; after it was sent


class Moment(NamedTuple):
    """A moment; messages are numbered in the order of Activities.messages."""

    time_s: float
    change: Change
    who: int
    value: int


def moments(activities: Activities) -> Iterator[Moment]:
    """Yield everything that happens in the run, in the order of time; what belongs together is nested."""
    parts = []
    for rank, recorded in enumerate(activities.ranks):
        parts += [
            _part(recorded.begin_s, Change.ACTIVITY_BEGINS, rank, recorded.activity),
            _part(recorded.end_s, Change.ACTIVITY_ENDS, rank, recorded.activity),
        ]
        begin_s, end_s = recorded.iteration_s[:-1], recorded.iteration_s[1:]
        numbers = np.flatnonzero(end_s > begin_s)
        parts += [
            _part(begin_s[numbers], Change.ITERATION_BEGINS, rank, numbers + 1),
            _part(end_s[numbers], Change.ITERATION_ENDS, rank, numbers + 1),
        ]
    sent_s, received_s = activities.messages.sent_s, activities.messages.received_s
    places = np.arange(len(sent_s))
    parts += [
        _part(sent_s, Change.SENT, places, places),
        _part(received_s, np.where(received_s > sent_s, Change.RECEIVED, Change.RECEIVED_AT_ONCE), places, places),
    ]
    time_s, change, who, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    for at in np.lexsort((change, time_s)):
        yield Moment(float(time_s[at]), Change(change[at]), int(who[at]), int(value[at]))


def _part(
    time_s: npt.NDArray[np.float64], *columns: int | npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64 | np.int64], ...]:
    """Return columns of equal lengths."""
    return time_s, *(np.broadcast_to(np.asarray(column, np.int64), time_s.shape) for column in columns)


# Timelines in Chrome's trace format, JSON, which Perfetto and chrome://tracing read.
#
# A cluster is a process, a rank a thread, an activity a slice within the slice of its iteration, a message an arrow.
# Slices are written as their beginnings and ends, in microseconds with a millionth of one: Perfetto rounds both to
# nanoseconds in the same direction, so that slices stay nested.


def chrome_lines(activities: Activities) -> Iterator[str]:
    """Yield the lines of a file."""
    said = json.dumps({"run": activities.what, "shown": activities.scope})
    yield f'{{"displayTimeUnit": "ms", "otherData": {said}, "traceEvents": [\n'
    clusters = {name: place for place, name in enumerate(dict.fromkeys(activities.clusters), 1)}
    threads = [
        f'"pid": {clusters[cluster]}, "tid": {rank + 1}' for rank, cluster in enumerate(activities.clusters)
    ]  # Perfetto keeps process and thread 0 for the idle processor
    names = []
    for name, place in clusters.items():
        names += [_named("process_name", f'"pid": {place}', name=name)]
        names += [_named("process_sort_index", f'"pid": {place}', sort_index=place)]
    for rank, (thread, host) in enumerate(zip(threads, activities.hosts, strict=True)):
        names += [_named("thread_name", thread, name=f"rank {rank} on {host}")]
        names += [_named("thread_sort_index", thread, sort_index=rank)]
    yield ",\n".join(names)
    for moment in moments(activities):
        yield ",\n" + _event(moment, activities, threads)
    yield "\n]}\n"


def _named(what: str, place: str, **arguments: Any) -> str:
    return f'{{"ph": "M", "name": "{what}", {place}, "args": {json.dumps(arguments)}}}'


def _event(moment: Moment, activities: Activities, threads: list[str]) -> str:
    time, who, value = f'"ts": {1e6 * moment.time_s:.6f}', moment.who, moment.value
    match moment.change:
        case Change.ACTIVITY_BEGINS:
            return f'{{"ph": "B", {threads[who]}, {time}, "cat": "activity", "name": "{NAMES[value]}"}}'
        case Change.ITERATION_BEGINS:
            return f'{{"ph": "B", {threads[who]}, {time}, "cat": "iteration", "name": "iteration {value}"}}'
        case Change.ACTIVITY_ENDS | Change.ITERATION_ENDS:
            return f'{{"ph": "E", {threads[who]}, {time}}}'
        case Change.SENT:
            about = f'{{"tag": {activities.messages.tag[who]}, "bytes": {activities.messages.size_bytes[who]}}}'
            thread = threads[activities.messages.source[who]]
            return f'{{"ph": "s", {_MESSAGE}, "id": {who}, {thread}, {time}, "args": {about}}}'
        case _:
            thread = threads[activities.messages.target[who]]
            return f'{{"ph": "f", "bp": "e", {_MESSAGE}, "id": {who}, {thread}, {time}}}'


_MESSAGE = '"cat": "message", "name": "message"'


# Definitions of the events that are used: name, and the types and names of the fields after the first, which is its
# number.
_EVENTS = (
    ("PajeDefineContainerType", "string Alias, string Type, string Name"),
    ("PajeDefineStateType", "string Alias, string Type, string Name"),
    (
        "PajeDefineLinkType",
        "string Alias, string Type, string StartContainerType, string EndContainerType, string Name",
    ),
    ("PajeDefineEntityValue", "string Alias, string Type, string Name, color Color"),
    ("PajeCreateContainer", "date Time, string Alias, string Type, string Container, string Name"),
    ("PajeDestroyContainer", "date Time, string Type, string Name"),
    ("PajePushState", "date Time, string Type, string Container, string Value"),
    ("PajePopState", "date Time, string Type, string Container"),
    ("PajeStartLink", "date Time, string Type, string Container, string Value, string StartContainer, string Key"),
    ("PajeEndLink", "date Time, string Type, string Container, string Value, string EndContainer, string Key"),
)
(_CONTAINER_TYPE, _STATE_TYPE, _LINK_TYPE, _VALUE, _CREATE, _DESTROY, _PUSH, _POP, _START_LINK, _END_LINK) = range(
    len(_EVENTS)
)
_ORANGE, _PINK = "0.90 0.62 0.00", "0.80 0.47 0.65"
_COLORS = {COMPUTATION: "0.00 0.45 0.70", OTHER: "0.70 0.70 0.70", PROBE: "0.94 0.89 0.26"}
_COLORS |= {WAITING: "0.85 0.85 0.85", DISK: "0.00 0.62 0.45"}
_COLORS |= dict.fromkeys((SEND, RECEIVE, SEND_AND_RECEIVE), _ORANGE)


def paje_lines(activities: Activities) -> Iterator[str]:
    """Yield the lines of a file."""
    for number, (name, fields) in enumerate(_EVENTS):
        yield f"%EventDef {name} {number}\n"
        for field in fields.split(", "):
            kind, _, title = field.partition(" ")
            yield f"% {title} {kind}\n"
        yield "%EndEventDef\n"
    yield from _definitions(activities)
    last_s = 0.0
    for moment in moments(activities):
        yield _line(moment, activities)
        last_s = moment.time_s
    for rank in range(len(activities.ranks)):
        yield f"{_DESTROY} {_time(last_s)} R r{rank}\n"
    for number in range(len(set(activities.clusters))):
        yield f"{_DESTROY} {_time(last_s)} C c{number}\n"
    yield f"{_DESTROY} {_time(last_s)} G g\n"


def _definitions(activities: Activities) -> Iterator[str]:
    yield f"{_CONTAINER_TYPE} G 0 run\n{_CONTAINER_TYPE} C G cluster\n{_CONTAINER_TYPE} R C rank\n"
    yield f"{_STATE_TYPE} I R iteration\n{_STATE_TYPE} A R activity\n{_LINK_TYPE} M G R R message\n"
    for number, name in enumerate(NAMES):
        yield f"{_VALUE} a{number} A {_text(name)} {_text(_COLORS.get(number, _PINK))}\n"
    for number, color in enumerate(("0.85 0.85 0.85", "0.65 0.65 0.65")):  # so that neighbours differ
        yield from (f"{_VALUE} i{iteration} I {_text(f'iteration {iteration}')} {_text(color)}\n"
                    for iteration in range(1, activities.known_iterations + 1) if iteration % 2 == number)  # fmt: skip
    start = _time(0.0)
    yield f"{_CREATE} {start} g G 0 {_text(f'{activities.what}: {activities.scope}')}\n"
    places = {name: place for place, name in enumerate(dict.fromkeys(activities.clusters))}
    for name, place in places.items():
        yield f"{_CREATE} {start} c{place} C g {_text(name)}\n"
    for rank, (host, cluster) in enumerate(zip(activities.hosts, activities.clusters, strict=True)):
        yield f"{_CREATE} {start} r{rank} R c{places[cluster]} {_text(f'rank {rank} on {host}')}\n"


def _line(moment: Moment, activities: Activities) -> str:
    time, who = _time(moment.time_s), moment.who
    match moment.change:
        case Change.ACTIVITY_BEGINS:
            return f"{_PUSH} {time} A r{who} a{moment.value}\n"
        case Change.ACTIVITY_ENDS:
            return f"{_POP} {time} A r{who}\n"
        case Change.ITERATION_BEGINS:
            return f"{_PUSH} {time} I r{who} i{moment.value}\n"
        case Change.ITERATION_ENDS:
            return f"{_POP} {time} I r{who}\n"
        case Change.SENT:
            return f"{_START_LINK} {time} M g message r{activities.messages.source[who]} {who}\n"
        case _:
            return f"{_END_LINK} {time} M g message r{activities.messages.target[who]} {who}\n"


def _time(time_s: float) -> str:
    return f"{time_s:.15f}"


def _text(text: str) -> str:
    """Return a string of the format, which has no way to write a quotation mark."""
    return '"' + printable(text).replace('"', "'") + '"'
