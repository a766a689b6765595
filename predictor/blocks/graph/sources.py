"""Receives from any process: whose message each of them takes, found by evaluating the graph once by date.

A receive from any process takes the message that was sent first.  In that evaluation the messages to processes that
receive from any, and those that such processes send in reply, are open: they meet their receives when both are posted,
as in SimGrid (predictor.dpgraph.instructions.Choices).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from apps.recording.events import Kind, Recording
from platforms.errors import UserError
from predictor.blocks.graph.events import ANY, LATEST, Events
from predictor.blocks.stream.instructions import NONE, Stream
from predictor.dpgraph.instructions import NO_CHOICES, RECEIVES, RECEIVES_ANY, REPLIES, SENDS, Choices
from predictor.dpgraph.program import OPEN, Program, Sections

Pairs = set[tuple[int, int]]  # source and target


def has_choices(events: Events) -> bool:
    """Return whether a process receives from any other, or replies."""
    return any(map(_chooses, events.of_process))


def settled(stream: Stream, events: Events, took: Callable[[Program, Pairs], np.ndarray]) -> Events:
    """Return the events in which every receive names its sender, and every reply its receiver.

    Args:
        stream: The instructions, for the labels of the processes.
        events: Their events.
        took: Function that evaluates a program with these pairs of processes, and returns the message that each open
            receive took (Choices).

    Raises:
        UserError: If a process receives from any when no message is left for it, or replies to nobody.
    """
    for process, events_of_process in enumerate(events.of_process):
        replies = np.flatnonzero(events_of_process["peer"] == LATEST)
        if len(replies) and not (events_of_process["peer"][: replies[0]] == ANY).any():
            where = events.places[int(events_of_process["site"][replies[0]]) - 1]
            problem = f"{_name(stream, process)} replies before it has received"
            raise UserError(where, problem, "Receive from any process first")
    opened = _opened(events)
    rank = np.repeat(np.arange(len(opened)), [len(events_of_process) for events_of_process in opened])
    joined = np.concatenate(opened)
    pairs = _possible(joined, rank)
    _address(opened, pairs)
    sends, receives = np.flatnonzero(joined["kind"] == Kind.SEND), np.flatnonzero(_open(joined, Kind.RECV))
    taken = np.full(len(receives), -1)
    if len(sends):
        program = _with_choices(stream, Sections(Recording(tuple(opened), (), ())).program(), joined, rank, pairs)
        taken = took(program, pairs)[len(sends) :]
    source = np.append(rank[sends], -1)[taken]
    borders = np.searchsorted(rank[receives], np.arange(len(opened) + 1))
    made = [
        _named(stream, events, process, source[borders[process] : borders[process + 1]])
        for process in range(len(opened))
    ]
    return Events(tuple(made), events.places, events.turns)


def _chooses(events: np.ndarray) -> bool:
    return bool((events["peer"] <= ANY).any())


def _name(stream: Stream, process: int) -> str:
    return f"process {stream.indices[process]} of {stream.labels[process]}"


def _opened(events: Events) -> list[np.ndarray]:
    """Return the events, those of open messages in the communicator OPEN."""
    chooses = np.array([bool((events_of_process["peer"] == ANY).any()) for events_of_process in events.of_process])
    replies = np.array([bool((events_of_process["peer"] == LATEST).any()) for events_of_process in events.of_process])
    made = []
    for process, events_of_process in enumerate(events.of_process):
        events_of_process = events_of_process.copy()
        own_comm = (events_of_process["comm"] == 0) & np.isin(events_of_process["kind"], (Kind.SEND, Kind.RECV))
        sends, receives = (
            own_comm & (events_of_process["kind"] == Kind.SEND),
            own_comm & (events_of_process["kind"] == Kind.RECV),
        )
        peer = np.maximum(events_of_process["peer"], 0)
        is_open = (sends & (replies[process] | chooses[peer])) | (receives & (chooses[process] | replies[peer]))
        events_of_process["comm"][is_open] = OPEN
        made.append(events_of_process)
    return made


def _open(joined: np.ndarray, kind: Kind) -> np.ndarray:
    is_open: np.ndarray = (joined["kind"] == kind) & (joined["comm"] == OPEN)
    return is_open


def _possible(joined: np.ndarray, rank: np.ndarray) -> Pairs:
    """Return the pairs of processes that may exchange open messages."""
    sends, receives = (_open(joined, kind) & (joined["peer"] >= 0) for kind in (Kind.SEND, Kind.RECV))
    pairs = _unique(rank[sends], joined["peer"][sends]) | _unique(joined["peer"][receives], rank[receives])
    repliers = set(rank[joined["peer"] == LATEST].tolist())
    answers = {(target, source) for source, target in pairs if target in repliers}
    # A reply to a process that replies too may be answered in its turn.
    answers |= {(target, source) for source, target in answers if target in repliers}
    return pairs | answers


def _unique(source: np.ndarray, target: np.ndarray) -> Pairs:
    return set(zip(source.tolist(), target.tolist(), strict=True))


def _address(opened: Iterable[np.ndarray], pairs: Pairs) -> None:
    """Give each reply one of the possible receivers, which the evaluation replaces."""
    possible = dict(pairs)
    for process, events_of_process in enumerate(opened):
        events_of_process["peer"][events_of_process["peer"] == LATEST] = possible.get(process, process)


def _with_choices(stream: Stream, program: Program, joined: np.ndarray, rank: np.ndarray, pairs: Pairs) -> Program:
    """Return the program with its open messages.

    Args:
        stream: The instructions, for the labels of the processes.
        program: The program of the events.
        joined: The events of all processes, before replies have receivers.
        rank: The process of each event.
        pairs: The pairs that may exchange open messages.
    """
    nranks, sends = program.nranks, joined[joined["kind"] == Kind.SEND]
    receives, its_rank = joined[_open(joined, Kind.RECV)], rank[_open(joined, Kind.RECV)]
    pair = np.array(sorted(a * nranks + b for a, b in pairs), np.int64)
    is_reply, is_any = sends["peer"] == LATEST, receives["peer"] == ANY
    role = np.where(sends["comm"] == OPEN, np.where(is_reply, REPLIES, SENDS), 0)
    role = np.concatenate([role, np.where(is_any, RECEIVES_ANY, RECEIVES)])
    source = np.concatenate([rank[joined["kind"] == Kind.SEND], receives["peer"]])
    target = np.concatenate([sends["peer"], its_rank])
    pair_of = np.searchsorted(pair, source * np.int64(nranks) + target)
    answers = np.stack((sends["size_bytes"][is_reply], sends["mode"][is_reply]), axis=1)
    classes, class_of = np.unique(answers, axis=0, return_inverse=True)
    asked = np.concatenate([np.zeros(len(sends), np.int64), receives["tag"]])
    asked[: len(sends)][is_reply] = class_of.ravel()
    names = {name: number for number, name in enumerate(dict.fromkeys(stream.labels))}  # labels that have processes
    # By the number of a label in a receive; labels without processes share one that nobody has, and NONE stays last.
    numbers = np.array([*(names.get(name, len(names)) for name in stream.application.counts()), NONE])
    asked[len(sends) :] = numbers[asked[len(sends) :]]
    first = np.zeros(len(receives), np.int64)  # a receive has no message of its own: any will do

    def with_more(events: np.ndarray, more: np.ndarray) -> np.ndarray:
        return np.concatenate([events, events[first], more.astype(events.dtype)])

    return replace(
        program,
        source=with_more(program.source, np.tile(pair // nranks, len(classes))),
        destination=with_more(program.destination, np.tile(pair % nranks, len(classes))),
        size_bytes=with_more(program.size_bytes, np.repeat(classes[:, 0], len(pair))),
        mode=with_more(program.mode, np.repeat(classes[:, 1], len(pair))),
        choices=Choices(
            role.astype(np.uint8),
            np.where((role == SENDS) | (role == RECEIVES), pair_of, -1).astype(np.int32),
            asked.astype(np.int32),
            pair,
            np.array([len(role)]),
            np.array([names[label] for label in stream.labels], np.int32),
            NO_CHOICES.took,
        ),
    )


def _named(stream: Stream, events: Events, process: int, sources: np.ndarray) -> np.ndarray:
    """Return the events of a process with the source of each receive, and the target of each reply.

    Args:
        stream: The instructions, for error messages.
        events: All events.
        process: Number of the process.
        sources: The sources of its open receives, in order; -1: it waits forever.

    Raises:
        UserError: If a receive from any waits forever.
    """
    if not _chooses(events.of_process[process]):
        return events.of_process[process]
    events_of_process = events.of_process[process].copy()
    receives = np.flatnonzero((events_of_process["kind"] == Kind.RECV) & (events_of_process["comm"] == 0))
    chosen = events_of_process["peer"][receives] == ANY
    lost = np.flatnonzero(sources < 0)
    if chosen[lost].any():  # the first one keeps the others waiting
        where = events.places[int(events_of_process["site"][receives[lost[0]]]) - 1]
        whom = "a message" if chosen[lost[0]] else _name(stream, int(events_of_process["peer"][receives[lost[0]]]))
        problem = f"{_name(stream, process)} waits forever for {whom}"
        raise UserError(where, problem, "Check what the other processes do then")
    events_of_process["peer"][receives[chosen]], events_of_process["tag"][receives[chosen]] = sources[chosen], 0
    replies = np.flatnonzero(events_of_process["peer"] == LATEST)
    before = np.searchsorted(receives[chosen], replies) - 1
    events_of_process["peer"][replies] = events_of_process["peer"][receives[chosen][before]]
    return events_of_process
