"""What fluid.py evaluates, as flat arrays: instructions of ranks, their messages, and the paths of a network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Instructions of a rank program.  fluid.py repeats them, and the order of the fields below: what it was compiled for.
COMPUTE = 0  # value: flops
SEND = 1  # argument: message
RECV = 2  # argument: message
WAIT_SENT = 3  # argument: message
WAIT_RECEIVED = 4  # argument: message
PROBE = 5  # argument: message
MARK = 6
SLEEP = 7  # value: seconds


class Instructions(NamedTuple):
    """What the ranks do: rank r executes ``first[r]`` to ``first[r + 1]``."""

    code: np.ndarray  # u1
    argument: np.ndarray  # i4
    value: np.ndarray  # f8
    first: np.ndarray  # i8, ranks + 1


# One row per message, all that is needed of it in one line of the processor's cache.
MESSAGE = np.dtype(
    [
        ("amount_bytes", "f8"),  # >= 0: what crosses the links
        ("latency_s", "f8"),  # paid before the flow begins
        ("factor", "f8"),  # progress per rate
        ("path", "i4"),
        ("detached", "u1"),  # the sender does not wait for it
        ("eager", "u1"),  # begins without waiting for the receiver
        # Kept by fluid.evaluate().
        ("sent_s", "f8"),
        ("received_s", "f8"),  # the receive was posted
        ("done_s", "f8"),
        ("sender", "i4"),  # rank that waits for it to be sent, -1: none
        ("receiver", "i4"),  # rank that waits for it to be received, -1: none; -2 - rank that probes for it
    ],
    align=True,
)


class Paths(NamedTuple):
    """Ways through the network, and the links: path p crosses ``first[p]`` to ``first[p + 1]`` of ``link``."""

    bound_Bps: np.ndarray  # f8, of a flow's rate
    penalty: np.ndarray  # f8, > 0
    first: np.ndarray  # i8, paths + 1
    link: np.ndarray  # i4
    weight: np.ndarray  # f8, > 0
    capacity_Bps: np.ndarray  # f8, one per link
