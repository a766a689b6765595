"""The time of rank programs on a network: an event loop, and max-min fair shares of links.

The loop is in C, in the folder ``native``: it works on flat arrays.

A message begins when both its send and its receive are posted (an eager message when its send is posted).  It is
delayed by its latency and is then a flow: it crosses links and progresses at ``factor`` times the rate that the links
give it.  Rates are max-min fair with weights: a flow of penalty p gets x / p, where x is the share of its tightest link
for each of the link's flows, but never more than its bound.  A flow uses ``weight`` times its rate of a link.  This is
the fluid model of SimGrid (Velho et al., "On the validity of flow-level TCP network models", TOMACS 23(4), 2013), with
its parameters left open.

Only links whose flows together could exceed the capacity matter.  All other links are left out of every solution; this
is exact, and most flows keep their rates.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from platforms.addons import is_there, provided
from predictor.dpgraph.instructions import (
    MESSAGE,
    NO_CHOICES,
    NO_LOOKS,
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

_BUNDLES = "predictor.bundles:NATIVE"  # of an add-on
LIBRARY = Library("graph", Path(__file__).with_name("native"), provided(_BUNDLES) if is_there(_BUNDLES) else None)

# Events at most this far apart, s, are simultaneous: SimGrid's own precision (option precision/timing).  Where many
# messages of equal size end together, one solution then serves for all.
PRECISION_S = 1e-9

HUB_PATHS = 1 << 10  # on fewer ranks this saves nothing
_MORE = 1  # result of graph_run: events remain
_LEAST_LOOK_S = 1e-8  # a look without time would be repeated for ever at the same date
_RATES = 1 << 14  # rates found between two looks for Ctrl-C: some milliseconds

INPUT = Layout(
    "ranks instructions messages kinds paths crossings links marks dated looks wanted open pairs parties",
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
        "style": ("u1", "looks"),
        "need": ("i4", "looks"),
        "skip": ("i4", "looks"),
        "look_first": ("i8", "looks+1"),
        "want": ("i4", "wanted"),
        "expected": ("u1", "wanted"),
        "look_s": ("f8", "3"),
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
    looking: tuple[Polls, Polling] = (NO_LOOKS, Polling()),
    *,
    done_s: np.ndarray | None = None,
    choices: Choices = NO_CHOICES,
    hub_paths: int = HUB_PATHS,
) -> np.ndarray:
    """Execute the instructions of all ranks.

    Args:
        instructions: The instructions.
        messages: The messages.
        paths: The network.
        s_per_flop: Seconds per flop of each rank.
        marks_s: Ranks x marks: filled with the dates of each rank's marks, s.
        loop: The instructions that are repeated; None: each is executed once.
        looking: The looks at messages, and their times.
        done_s: By message, for as many of the first ones as it is long: filled with the dates of their arrival, s.
            Those of a loop keep their value.
        choices: The open messages, of a program without a loop.
        hub_paths: Paths that cross a link from which on flows over it count as one (predictor/bundles).

    Returns:
        The date at which each rank ends, s; NaN for ranks that wait for ever.

    Raises:
        TypeError: An array has items of another type than its description says.
        ValueError: The arrays do not fit one another, a message is sent or received twice, or a message of the loop is
            not waited for in it.
        MemoryError: There is not enough memory.
        UserError: The C files cannot be compiled.
    """
    end_s = np.empty(len(instructions.first) - 1)
    loop = Loop(instructions.first[:-1], instructions.first[:-1], 0, len(messages.kind)) if loop is None else loop
    looks, polling = looking
    least_s = [max(_LEAST_LOOK_S, least) for least in (polling.test_s, polling.test_s, polling.probe_s)]
    given = INPUT.filled(
        **instructions._asdict(),
        loop_first=loop.first,
        loop_last=loop.last,
        kind=messages.kind.copy() if len(choices.role) else messages.kind,  # the kinds of replies are written
        message=messages.kinds,
        bound_Bps=paths.bound_Bps,
        penalty=paths.penalty,
        path_first=paths.first,
        link=paths.link,
        weight=paths.weight,
        capacity_Bps=paths.capacity_Bps,
        s_per_flop=s_per_flop,
        style=looks.style,
        need=looks.need,
        skip=looks.skip,
        look_first=looks.first,
        want=looks.want,
        expected=looks.expected,
        look_s=np.array(least_s),
        grows=np.array([polling.grows], np.int64),
        **choices._asdict(),
        marks_s=marks_s,
        end_s=end_s,
        done_s=np.empty(0) if done_s is None else done_s,
        other=looks.other,
    )
    graph = ctypes.c_void_p()
    LIBRARY.call("graph_open", given, loop.copies, loop.fixed, hub_paths, ctypes.byref(graph))
    try:
        while LIBRARY.call("graph_run", graph, _RATES) == _MORE:
            pass
    finally:
        LIBRARY.call("graph_close", graph)
    return end_s
