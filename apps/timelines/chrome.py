"""Timelines in Chrome's trace format, JSON, which Perfetto and chrome://tracing read.

A cluster is a process, a rank a thread, an activity a slice within the slice of its iteration, a message an arrow.
Slices are written as their beginnings and ends, in microseconds with a millionth of one: Perfetto rounds both to
nanoseconds in the same direction, so that slices stay nested.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from apps.timelines.activities import NAMES
from apps.timelines.moments import Change, Moment, moments

if TYPE_CHECKING:
    from apps.timelines.activities import Activities


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
