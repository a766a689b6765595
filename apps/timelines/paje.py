"""Timelines in Paje's format, which ViTE and pj_dump read: text, one event a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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
from apps.timelines.moments import Change, Moment, moments
from platforms.errors import printable

if TYPE_CHECKING:
    from apps.timelines.activities import Activities

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
