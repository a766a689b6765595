"""Recordings: the events of a program by rank, in an order that does not depend on the machine.

The recorder (apps/recording/recorder), which intercepts every MPI call, makes a recording on a neutral platform, so its
clocks do not depend on the target.  Sizes are in bytes, ranks are those of MPI_COMM_WORLD.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Kind(IntEnum):
    """Kind of an event.  A blocking call is recorded as its start and a WAIT: MPI_Send is SEND and WAIT."""

    COMPUTE = 0  # amount: flops
    SEND = 1  # the send of a message begins: request, peer, tag, comm, size_bytes, mode
    # A receive is posted: request, tag, comm; peer and size_bytes are those of the received message; mode: FROM_ANY if
    # the program asks for any source.
    RECV = 2
    WAIT = 3  # the rank waits until its operation `request` is complete; mode: 1 if a recorded POLL has found that
    COLLECTIVE = 4  # op, comm, peer (root), size_bytes; vectors in `counts`
    PROBE = 5  # the rank waits until the message of its next matching RECV (peer, tag, comm) can be received
    MARK = 6  # op: one of Mark
    ELAPSE = 7  # amount: seconds, the same on every host; op: one of Elapse
    # The rank polls for messages.  op: one of PollKind; mode: 1 if successful, plus 2 for any source, plus 4 for any
    # tag; `counts` has the `size_bytes` tested operations from index `request` on (-1: a collective itself); tag:
    # calling place in the program.  A FOR poll has the place as its request; peer, tag, comm: the found message.
    POLL = 8


class PollKind(IntEnum):
    """Manner in which a program polls for messages; only in recordings with polls."""

    EACH = 0  # tests each of its operations until all are complete (MPI_Test, MPI_Testall)
    SOME = 1  # tests each of its operations until some are complete (MPI_Testsome)
    ANY = 2  # tests for one complete operation (MPI_Testany)
    FOR = 3  # probes for a message (MPI_Iprobe)


class Elapse(IntEnum):
    """Manner in which a rank spends the seconds of an ELAPSE."""

    ON_CORE = 0  # it computes (smpi_execute_benched)
    ASLEEP = 1
    READING = 2  # it reads the clock repeatedly, at 10 ns each


class Mode(IntEnum):
    """Send mode of a message."""

    STANDARD = 0
    BUFFERED = 1
    SYNCHRONOUS = 2
    READY = 3
    PUT = 4  # a message into a window moves at once; its RECV, if any, is recorded where the target waits for it
    GET = 5  # a RECV from a window; its message moves at once and has no SEND


class Tag(IntEnum):
    """Tags of messages that SMPI sends for other calls; tags of programs are not negative."""

    NONBLOCKING = -2000  # minus the Op: of a non-blocking collective
    FENCED = -3000  # of a PUT that the target's synchronisation waits for
    LOCKED = -3001  # of a PUT that at most its origin waits for: it has no RECV
    POST = -3002  # from a target to its origins
    COMPLETE = -3003  # from an origin to its targets
    FETCH = -3004  # of a GET
    LOCKED_FETCH = -3005  # of a GET under a lock


FROM_ANY = 1  # mode of a RECV from any source


class Reduction(IntEnum):
    """Kind of a reduction; the mode of a COLLECTIVE."""

    COMMUTES = 0  # its operation commutes and its type is basic
    ORDERED = 1  # its operation does not commute
    DERIVED = 2  # its type is derived


class Mark(IntEnum):
    """Moments marked by the program."""

    START = 0  # of the timed section
    FIRST_ITERATION = 1  # the end of the work before the iterations
    ITERATION = 2  # the end of one iteration
    STOP = 3  # of the timed section


class Op(IntEnum):
    """Collectives.  size_bytes is the rank's contribution; a vector variant has ``counts`` by member."""

    BARRIER = 0
    BCAST = 1  # size_bytes: the vector
    REDUCE = 2  # size_bytes: the vector
    ALLREDUCE = 3  # size_bytes: the vector
    GATHER = 4  # size_bytes: one rank's block
    GATHERV = 5  # counts: block of each member (at the root; elsewhere only size_bytes: the rank's own block)
    SCATTER = 6  # size_bytes: one rank's block
    SCATTERV = 7  # counts: block of each member (at the root; elsewhere only size_bytes: the rank's own block)
    ALLGATHER = 8  # size_bytes: one rank's block
    ALLGATHERV = 9  # counts: block of each member
    ALLTOALL = 10  # size_bytes: the block for one member
    ALLTOALLV = 11  # counts: block for each member
    REDUCE_SCATTER = 12  # counts: block of each member
    SCAN = 13  # size_bytes: the vector
    EXSCAN = 14  # size_bytes: the vector
    SPLIT = 15  # of a communicator; counts: the rank's color (-1: none), then its key
    CREATE = 16  # of a communicator among the members of `comm`, the new communicator


# Collectives that programs call for their data; the others make communicators.
DATA_OPS = tuple(op for op in Op if op not in (Op.SPLIT, Op.CREATE))

_EVENT = (
    ("kind", "u1"),
    ("mode", "u1"),
    ("op", "u2"),
    ("comm", "i4"),  # index into `communicators`
    ("peer", "i4"),  # destination, actual source, or root; -1: none
    ("tag", "i4"),  # actual tag
    ("request", "i8"),  # number of the operation on its rank; for a vector collective: index of its first count
    ("size_bytes", "i8"),
    ("amount", "f8"),
    ("clock_s", "f8"),  # simulated clock at the entry of the call, on the platform of the recording
    ("site", "i8"),  # the call path in the program that leads to this call: entry `site` - 1 of `paths`; 0: not known
)


EVENT_FIELDS = tuple(name for name, _ in _EVENT)


def __getattr__(name: str) -> np.dtype[np.void]:
    """Return EVENT, the dtype of an event, built at first use because numpy is slow to import."""
    if name != "EVENT":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported here because it is slow to import.
    import numpy as np

    event: np.dtype[np.void] = globals().setdefault("EVENT", np.dtype(list(_EVENT)))
    return event


@dataclass(frozen=True, eq=False)
class Recording:
    """The events of every rank.

    Messages to or from MPI_PROC_NULL are left out.  The n-th SEND between two ranks with a tag in a communicator is
    received by the n-th RECV of the same ranks, tag and communicator (MPI's ordering rule).
    """

    events: tuple[npt.NDArray[np.void], ...]  # dtype EVENT, by rank
    counts: tuple[npt.NDArray[np.int64], ...]  # int64, bytes: the counts of vector collectives, by rank
    communicators: tuple[tuple[int, ...], ...]  # members in rank order; 0 is MPI_COMM_WORLD
    measured: bool = False  # COMPUTE comes from measured times
    replayed: bool = False  # taken from another run, so the same in every recording (apps/recording/work.py)
    spread_rel: float = 0.0  # possible relative error of replayed computation (apps/recording/work.py)
    held_node_s: float = math.nan  # nodes held by a recording on a real machine times their time; nan: simulated
    timed_rank: int | None = None  # the rank whose timed section counts; None: the longest.  Not in archives.
    # As in apps.results.inputs.Inputs; not in archives.
    asks: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    threads: bool = False
    # Of a recording given by the user (apps/traces); not in archives.
    remarks: tuple[str, ...] = ()  # its origin
    cautions: tuple[str, ...] = ()  # what it omits or only estimates
    # Call paths: return addresses in the program's file, innermost first.
    paths: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def computes(self) -> bool:
        """True if any rank computes or sleeps; reading the clock is neither."""
        return any(
            bool(
                (
                    (events["kind"] == Kind.COMPUTE)
                    | ((events["kind"] == Kind.ELAPSE) & (events["op"] != Elapse.READING))
                ).any()
            )
            for events in self.events
        )

    @property
    def timed(self) -> bool:
        """True if computation was timed during the recording, so that it varies from recording to recording."""
        return self.measured and not self.replayed

    @cached_property
    def waits_at_windows(self) -> bool:
        """True if one-sided calls wait for their own messages, so that ranks may wait for each other at a window."""
        locked = (Tag.LOCKED, Tag.LOCKED_FETCH)
        return any(bool((events["tag"] == tag).any()) for events in self.events for tag in locked)

    @property
    def nranks(self) -> int:
        """Number of ranks."""
        return len(self.events)
