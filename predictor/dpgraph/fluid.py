"""The time of rank programs on a network: an event loop, and max-min fair shares of links.

The loop is in C, in the folder ``native``: it works on flat arrays.

A message begins when both its send and its receive are posted (an eager message when its send is posted).  After its
latency it becomes a flow: it crosses links and progresses at ``factor`` times the rate that the links give it.  Rates
are max-min fair with weights: a flow of penalty p gets x / p, where x is the share of its tightest link for each of the
link's flows, but never more than its bound.  A flow uses ``weight`` times its rate of a link.  This is the fluid model
of SimGrid (Velho et al., "On the validity of flow-level TCP network models", TOMACS 23(4), 2013), with its parameters
left open.

Only links whose flows together could exceed the capacity matter.  Leaving all others out of every solution is exact,
and most flows keep their rates.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from platforms.addons import is_there, provided
from predictor.dpgraph.instructions import (
    MESSAGE,
    NO_CHOICES,
    NO_POLLS,
    Choices,
    Instructions,
    Loop,
    Messages,
    Paths,
    Polling,
    Polls,
)
from predictor.native.layout import Layout
from predictor.native.library import Library
from predictor.network import NATIVE

_BUNDLES = "predictor.bundles:NATIVE"  # of an add-on
LIBRARY = Library(
    "graph", Path(__file__).with_name("native"), (NATIVE, provided(_BUNDLES)) if is_there(_BUNDLES) else (NATIVE,)
)

# Events at most this far apart, s, are simultaneous: SimGrid's own precision (option precision/timing).  If many
# messages of equal size end together, one solution then serves all.
PRECISION_S = 1e-9

HUB_PATHS = 1 << 10  # fewer paths are not worth bundling
_MORE = 1  # result of graph_run: events remain
_LEAST_POLL_S = 1e-8  # polls that take no time would repeat forever at the same date
_RATES = 1 << 14  # rates computed between two checks for Ctrl-C: a few milliseconds

INPUT = Layout(
    "ranks instructions messages kinds paths crossings links marks dated polls wanted open pairs parties",
    {
        "code": ("u1", "instructions"),
        "argument": ("i4", "instructions"),
        "value": ("f8", "instructions"),
        "first": ("i8", "ranks+1"),
        "loop_first": ("i8", "ranks"),
        "loop_last": ("i8", "ranks"),
        "kind": ("i4", "messages"),
        "message": (MESSAGE, "kinds"),
        "bound_Bps": ("f8", "paths"),
        "penalty": ("f8", "paths"),
        "path_first": ("i8", "paths+1"),
        "link": ("i4", "crossings"),
        "weight": ("f8", "crossings"),
        "capacity_Bps": ("f8", "links"),
        "s_per_flop": ("f8", "ranks"),
        "style": ("u1", "polls"),
        "need": ("i4", "polls"),
        "skip": ("i4", "polls"),
        "poll_first": ("i8", "polls+1"),
        "want": ("i4", "wanted"),
        "expected": ("u1", "wanted"),
        "poll_s": ("f8", "3"),
        "grows": ("i8", "1"),
        "role": ("u1", "open"),
        "pair_of": ("i4", "open"),
        "asked": ("i4", "open"),
        "pair": ("i8", "pairs"),
        "reply_first": ("i8", "1"),
        "label": ("i4", "parties"),
        "took": ("i4", "open"),
        "marks_s": ("f8", "ranks marks"),
        "end_s": ("f8", "ranks"),
        "done_s": ("f8", "dated"),
        "other": ("i8", "1"),
    },
    written=frozenset(["marks_s", "end_s", "done_s", "other", "took"]),
)


def evaluate(
    instructions: Instructions,
    messages: Messages,
    paths: Paths,
    s_per_flop: np.ndarray,
    marks_s: np.ndarray,
    loop: Loop | None = None,
    polling: tuple[Polls, Polling] = (NO_POLLS, Polling()),
    *,
    done_s: np.ndarray | None = None,
    choices: Choices = NO_CHOICES,
    hub_paths: int = HUB_PATHS,
    copies: np.ndarray | None = None,
) -> np.ndarray:
    """Execute the instructions of all ranks.

    Args:
        instructions: The instructions.
        messages: The messages.
        paths: The network.
        s_per_flop: Seconds per flop of each rank.
        marks_s: Ranks x marks: filled with the dates of each rank's marks, s.
        loop: The repeated instructions; None: each is executed once.
        polling: The polls, and their durations.
        done_s: Filled with the arrival dates of the first messages, as many as it is long, s.  Messages of a loop keep
            their value.
        choices: The open messages of a program; it must have no loop.
        copies: Two i8, the first one > 0: after as many copies the loop ends as soon as they are known to repeat; they
            become the number executed, and the rank whose last copy takes as long as all further ones.  None: all are.
        hub_paths: Number of paths over a link from which on flows over it may be bundled (predictor/bundles).

    Returns:
        The date at which each rank ends, s; NaN for ranks that never end.

    Raises:
        TypeError: An array has the wrong item type.
        ValueError: The arrays do not match, a message is sent or received twice, or no rank waits in the loop for one
            of its messages.
        MemoryError: There is not enough memory.
        UserError: The C files cannot be compiled, or those of open messages are not installed.
    """
    if len(choices.role):
        provided(_BUNDLES)  # which matches open messages
    end_s = np.empty(len(instructions.first) - 1)
    loop = Loop(instructions.first[:-1], instructions.first[:-1], 0, len(messages.kind)) if loop is None else loop
    polls, times = polling
    least_s = [max(_LEAST_POLL_S, least) for least in (times.test_s, times.test_s, times.probe_s)]
    given = INPUT.filled(
        **instructions._asdict(),
        loop_first=loop.first,
        loop_last=loop.last,
        kind=messages.kind.copy() if len(choices.role) else messages.kind,  # the evaluation writes the kinds of replies
        message=messages.kinds,
        bound_Bps=paths.bound_Bps,
        penalty=paths.penalty,
        path_first=paths.first,
        link=paths.link,
        weight=paths.weight,
        capacity_Bps=paths.capacity_Bps,
        s_per_flop=s_per_flop,
        style=polls.style,
        need=polls.need,
        skip=polls.skip,
        poll_first=polls.first,
        want=polls.want,
        expected=polls.expected,
        poll_s=np.array(least_s),
        grows=np.array([times.grows], np.int64),
        **choices._asdict(),
        marks_s=marks_s,
        end_s=end_s,
        done_s=np.empty(0) if done_s is None else done_s,
        other=polls.other,
    )
    graph, may_end = ctypes.c_void_p(), 0 if copies is None else int(copies[0])
    LIBRARY.call("graph_open", given, loop.copies, loop.fixed, may_end, hub_paths, ctypes.byref(graph))
    try:
        while LIBRARY.call("graph_run", graph, _RATES) == _MORE:
            pass
        if copies is not None:
            copies[:] = [LIBRARY.call(name, graph) for name in ("graph_copies", "graph_leader")]
    finally:
        LIBRARY.call("graph_close", graph)
    return end_s
