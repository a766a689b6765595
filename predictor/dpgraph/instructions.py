"""The input of fluid.py as flat arrays: instructions of ranks, their messages, and the paths of a network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Instructions of a rank.  native/graph.h has the same numbers, and the same fields of MESSAGE.
COMPUTE = 0  # value: flops
SEND = 1  # argument: message
RECV = 2  # argument: message
WAIT_SENT = 3  # argument: message
WAIT_RECEIVED = 4  # argument: message
PROBE = 5  # argument: message
MARK = 6
SLEEP = 7  # value: seconds; argument: apps.recording.events.Elapse, or from OWN on, bytes of NetworkModel.own_ways
POLL = 8  # argument: index in Polls; if the poll succeeds, the rank skips `skip` instructions
BACK = 9  # argument: number of instructions to jump back

OWN = 16  # plus the index of a path in own_ways: the argument of a SLEEP that moves bytes


class Instructions(NamedTuple):
    """The instructions of all ranks: rank r executes ``first[r]`` to ``first[r + 1]``."""

    code: np.ndarray  # u1
    argument: np.ndarray  # i4
    value: np.ndarray  # f8
    first: np.ndarray  # i8, ranks + 1


def may_repeat(code: np.ndarray, argument: np.ndarray) -> np.ndarray:
    """Return for each instruction whether a BACK may repeat it."""
    ends = np.flatnonzero(code == BACK)
    change = np.zeros(len(code) + 1, np.int64)
    np.add.at(change, ends - argument[ends], 1)
    np.add.at(change, ends, -1)
    inside: np.ndarray = np.cumsum(change)[:-1] > 0
    return inside


class Loop(NamedTuple):
    """The repeated instructions: rank r executes ``first[r]`` to ``last[r]`` ``copies`` times.

    Messages numbered ``fixed`` and above belong to the loop; every copy has a new set of them.
    """

    first: np.ndarray  # i8, by rank
    last: np.ndarray  # i8, by rank
    copies: int
    fixed: int


MESSAGE = np.dtype(
    [
        ("amount_bytes", "f8"),  # >= 0: data that cross the links
        ("latency_s", "f8"),  # delay before the flow begins
        ("factor", "f8"),  # progress per rate
        ("path", "i4"),
        ("detached", "u1"),  # the sender does not wait for the message
        ("eager", "u1"),  # the message begins without waiting for the receiver
    ],
    align=True,
)


class Messages(NamedTuple):
    """The messages of a program.  Many messages share a kind, and the few kinds fit in the processor's cache."""

    kinds: np.ndarray  # MESSAGE
    kind: np.ndarray  # i4, by message: its row of `kinds`


# The kinds of polls, and the sides of messages. EACH: MPI_Test, MPI_Testall, MPI_Testsome; ANY: MPI_Testany; FOR:
# MPI_Iprobe and MPI_Probe; AGAIN: a collective, whose completed operations SimGrid tests again.
EACH, ANY, FOR, AGAIN = range(4)
SENT, RECEIVED, FOUND = range(3)


class Polls(NamedTuple):
    """The polls of a program: poll i tests the operations ``first[i]`` to ``first[i + 1]`` of ``want``.

    A poll fails until the operations found so far reach the number it needs.
    """

    style: np.ndarray  # u1
    need: np.ndarray  # i4; 0: the poll is made once, successful or not
    skip: np.ndarray  # i4
    first: np.ndarray  # i8, polls + 1
    want: np.ndarray  # i4: 4 x message + side; -1: never complete
    expected: np.ndarray  # u1, as `want`: whether it was complete in the recording when the poll ended
    other: np.ndarray  # i8, length 1: number of polls whose result differs from the recording; written by an evaluation


_NONE, _NO_NUMBER = np.empty(0, np.uint8), np.empty(0, np.int32)
NO_POLLS = Polls(_NONE, _NO_NUMBER, _NO_NUMBER, np.zeros(1, np.int64), _NO_NUMBER, _NONE, np.zeros(1, np.int64))


class Polling(NamedTuple):
    """The duration of polls, s: that of the first one; if ``grows``, the n-th failed poll takes n times as long."""

    test_s: float = 1e-4  # smpi/test
    probe_s: float = 1e-4  # smpi/iprobe
    grows: bool = True  # smpi/grow-injected-times


# The roles of open messages.
CLOSED, SENDS, REPLIES, RECEIVES, RECEIVES_ANY = range(5)


class Choices(NamedTuple):
    """Open messages: those to ranks that receive from any source, and the replies to such messages.

    Their receives are numbered like messages; the evaluation decides which message each receive takes.
    """

    role: np.ndarray  # u1, by message
    pair_of: np.ndarray  # i4, by message: index in `pair`, for SENDS and RECEIVES
    # i4, by message.  RECEIVES_ANY: label of the accepted senders, -1 for any; REPLIES: class of size and mode
    asked: np.ndarray
    pair: np.ndarray  # i8, ascending: source x ranks + target of all possible open messages
    # i8, length 1: the message that describes replies of class 0 on pair 0; then the other pairs, then the other
    # classes
    reply_first: np.ndarray
    label: np.ndarray  # i4, by rank
    took: np.ndarray  # i4, by message: for receives, the message taken, -1 for none; written by an evaluation


NO_CHOICES = Choices(
    _NONE, _NO_NUMBER, _NO_NUMBER, np.empty(0, np.int64), np.zeros(1, np.int64), _NO_NUMBER, _NO_NUMBER
)


class Paths(NamedTuple):
    """Paths through the network, and its links: path p crosses ``first[p]`` to ``first[p + 1]`` of ``link``."""

    bound_Bps: np.ndarray  # f8, by path: upper bound of a flow's rate
    penalty: np.ndarray  # f8, by path, > 0: flows share a link in proportion to 1 / penalty
    first: np.ndarray  # i8, paths + 1
    link: np.ndarray  # i4
    weight: np.ndarray  # f8, > 0, as `link`: capacity that a flow uses, per rate
    capacity_Bps: np.ndarray  # f8, one per link
