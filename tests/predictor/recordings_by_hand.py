"""Recordings whose events are written one by one, and the recordings of kernels to compare them with."""

from functools import cache

import numpy as np

from apps.programs.problem import problem
from apps.recording.events import EVENT, Kind, Mode, Recording
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from predictor.graph.graph import Relation


def compute(flops):
    return [(Kind.COMPUTE, 0, 0, 0, -1, 0, 0, 0, flops, 0, 0)]


def send(peer, size_bytes, request, *, tag=0, mode=Mode.STANDARD):
    return [
        (Kind.SEND, mode, 0, 0, peer, tag, request, size_bytes, 0, 0, 0),
        (Kind.WAIT, 0, 0, 0, -1, 0, request, 0, 0, 0, 0),
    ]


def receive(peer, size_bytes, request, *, tag=0):
    return [
        (Kind.RECV, 0, 0, 0, peer, tag, request, size_bytes, 0, 0, 0),
        (Kind.WAIT, 0, 0, 0, -1, 0, request, 0, 0, 0, 0),
    ]


def collective(op, size_bytes=0, root=-1, comm=0):
    return [(Kind.COLLECTIVE, 0, op, comm, root, 0, 0, size_bytes, 0, 0, 0)]


def mark(which):
    return [(Kind.MARK, 0, which, 0, -1, 0, 0, 0, 0, 0, 0)]


def recording(*ranks, communicators=None):
    """A recording; for each rank a list of the lists above."""
    events = tuple(np.array([event for part in parts for event in part], EVENT) for parts in ranks)
    counts = tuple(np.empty(0, np.int64) for _ in ranks)
    return Recording(events, counts, communicators or (tuple(range(len(ranks))),))


def figure_5(mode=Mode.STANDARD):
    """The paper's experiment: sequential code, one message of 1000 bytes, sequential code."""
    return recording(
        [compute(2e9), send(1, 1000, 0, mode=mode), compute(3e9)],
        [compute(1e9), receive(0, 1000, 0), compute(5e9)],
    )


@cache
def recorded(app, ranks=4):
    platform = neutral_platform(ranks)
    target = Target(problem(app, "S"), platform, tuple(host.name for host in platform.hosts))
    return record_events(RunSpec(target), 1)


def messages(graph):
    return [edge for edge in graph.edges if edge.relation is Relation.MESSAGE]
