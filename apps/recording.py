"""What a program did: its events, rank by rank, in an order that does not depend on the machine.

A recording is made by the recorder (apps/recorder), which sees every call of MPI, on a neutral platform: its clocks
tell nothing of the target.  Sizes are bytes, ranks are those of MPI_COMM_WORLD.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Kind(IntEnum):
    """What happened.  A blocking call is its start and its WAIT: MPI_Send is SEND and WAIT."""

    COMPUTE = 0  # amount: flops
    SEND = 1  # a message begins to be sent: request, peer, tag, comm, size_bytes, mode
    RECV = 2  # a receive is posted: request, tag, comm; peer and size_bytes are those of the message that came
    WAIT = 3  # the rank waits until its operation `request` is complete
    COLLECTIVE = 4  # op, comm, peer (root), size_bytes; vectors in `counts`
    PROBE = 5  # the rank waits until the message that its next matching RECV gets (peer, tag, comm) could be received
    MARK = 6  # op: one of Mark


class Mode(IntEnum):
    """How a message is sent."""

    STANDARD = 0
    BUFFERED = 1
    SYNCHRONOUS = 2
    READY = 3


class Mark(IntEnum):
    """Moments that the program names itself."""

    START = 0  # of the timed section
    FIRST_ITERATION = 1  # the end of what precedes the iterations
    ITERATION = 2  # the end of one iteration
    STOP = 3  # of the timed section


class Op(IntEnum):
    """Collectives.  size_bytes is what this rank contributes, or in a vector variant ``counts`` is by member."""

    BARRIER = 0
    BCAST = 1  # size_bytes: the vector
    REDUCE = 2  # size_bytes: the vector
    ALLREDUCE = 3  # size_bytes: the vector
    GATHER = 4  # size_bytes: one rank's block
    GATHERV = 5  # counts: block of each member (at the root; elsewhere size_bytes alone: the rank's own)
    SCATTER = 6  # size_bytes: one rank's block
    SCATTERV = 7  # counts: block of each member (at the root; elsewhere size_bytes alone: the rank's own)
    ALLGATHER = 8  # size_bytes: one rank's block
    ALLGATHERV = 9  # counts: block of each member
    ALLTOALL = 10  # size_bytes: the block for one member
    ALLTOALLV = 11  # counts: block for each member
    REDUCE_SCATTER = 12  # counts: block of each member
    SCAN = 13  # size_bytes: the vector
    EXSCAN = 14  # size_bytes: the vector


_EVENT = (
    ("kind", "u1"),
    ("mode", "u1"),
    ("op", "u2"),
    ("comm", "i4"),  # index into `communicators`
    ("peer", "i4"),  # destination, actual source, or root; -1: none
    ("tag", "i4"),  # actual tag
    ("request", "i8"),  # number of the operation within its rank; of a vector collective: where its counts begin
    ("size_bytes", "i8"),
    ("amount", "f8"),
    ("clock_s", "f8"),  # simulated clock at the entry of the call, on the platform of the recording
)


EVENT_FIELDS = tuple(name for name, _ in _EVENT)


def __getattr__(name: str) -> np.dtype[np.void]:
    """EVENT, the dtype of an event, at its first use: numpy is slow to import, and not all need it."""
    if name != "EVENT":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import numpy as np

    event: np.dtype[np.void] = globals().setdefault("EVENT", np.dtype(list(_EVENT)))
    return event


@dataclass(frozen=True, eq=False)
class Recording:
    """The events of every rank.

    Messages with a peer MPI_PROC_NULL are left out.  The n-th SEND of a pair of ranks with a tag in a communicator is
    received by the n-th RECV of that pair, tag and communicator (MPI's rule of order).
    """

    events: tuple[npt.NDArray[np.void], ...]  # of EVENT, by rank
    counts: tuple[npt.NDArray[np.int64], ...]  # int64, bytes: the vectors of collectives, by rank
    communicators: tuple[tuple[int, ...], ...]  # members in rank order; 0 is MPI_COMM_WORLD
    measured: bool = False  # COMPUTE comes from measured real times, and varies from recording to recording

    @property
    def nranks(self) -> int:
        return len(self.events)
