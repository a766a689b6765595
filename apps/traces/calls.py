"""The calls of MPI by their representation in a recording."""

from __future__ import annotations

import re
from collections.abc import Mapping

from apps.errors import TraceError
from apps.recording.events import Mode, Op

COLLECTIVES: Mapping[str, Op] = {
    "MPI_Barrier": Op.BARRIER, "MPI_Bcast": Op.BCAST, "MPI_Reduce": Op.REDUCE, "MPI_Allreduce": Op.ALLREDUCE,
    "MPI_Gather": Op.GATHER, "MPI_Gatherv": Op.GATHERV, "MPI_Scatter": Op.SCATTER, "MPI_Scatterv": Op.SCATTERV,
    "MPI_Allgather": Op.ALLGATHER, "MPI_Allgatherv": Op.ALLGATHERV, "MPI_Alltoall": Op.ALLTOALL,
    "MPI_Alltoallv": Op.ALLTOALLV, "MPI_Alltoallw": Op.ALLTOALLV, "MPI_Reduce_scatter": Op.REDUCE_SCATTER,
    "MPI_Reduce_scatter_block": Op.REDUCE_SCATTER, "MPI_Scan": Op.SCAN, "MPI_Exscan": Op.EXSCAN,
}  # fmt: skip
ROOTED = frozenset({Op.BCAST, Op.REDUCE, Op.GATHER, Op.GATHERV, Op.SCATTER, Op.SCATTERV})

# Calls that send, by their mode.
SENDS: Mapping[str, Mode] = {
    **dict.fromkeys(("MPI_Send", "MPI_Isend", "MPI_Send_init"), Mode.STANDARD),
    **dict.fromkeys(("MPI_Bsend", "MPI_Ibsend", "MPI_Bsend_init"), Mode.BUFFERED),
    **dict.fromkeys(("MPI_Ssend", "MPI_Issend", "MPI_Ssend_init"), Mode.SYNCHRONOUS),
    **dict.fromkeys(("MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init"), Mode.READY),
}
BEGINS, ENDS = frozenset({"MPI_Init", "MPI_Init_thread"}), frozenset({"MPI_Finalize"})
PROBES = frozenset({"MPI_Probe", "MPI_Iprobe"})
WAITS = frozenset({"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"})
TESTS = frozenset({"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"})
_MESSAGES = frozenset(
    {
        *SENDS, *PROBES, *WAITS, *TESTS, "MPI_Recv", "MPI_Irecv", "MPI_Recv_init", "MPI_Sendrecv",
        "MPI_Sendrecv_replace", "MPI_Start", "MPI_Startall", "MPI_Request_free", "MPI_Cancel",
    }
)  # fmt: skip
# Calls that make communicators; their messages are not in a trace, so that they take no time.
MAKERS = frozenset(
    {
        "MPI_Comm_dup", "MPI_Comm_dup_with_info", "MPI_Comm_split", "MPI_Comm_split_type", "MPI_Comm_create",
        "MPI_Comm_create_group", "MPI_Cart_create", "MPI_Cart_sub", "MPI_Comm_free", "MPI_Comm_disconnect",
    }
)  # fmt: skip
# Calls of one rank alone.
_LOCAL = re.compile(
    r"MPI_(Comm_(rank|size|group|compare|test_inter|(get|set|call|delete|create|free)_"
    r"(name|attr|errhandler|keyval|info))|Group_\w+|Type_\w+|Op_\w+|Info_\w+|Attr_\w+|Keyval_\w+|Errhandler_\w+|"
    r"Error_\w+|Add_error_\w+|Get_(count|elements|elements_x|address|processor_name|version|library_version)|"
    r"Status_\w+|Pack\w*|Unpack\w*|Address|Wtime|Wtick|Initialized|Finalized|Is_thread_main|Query_thread|Pcontrol|"
    r"Alloc_mem|Free_mem|Buffer_(attach|detach)|Test_cancelled|Request_get_status|Reduce_local|"
    r"Cart_(coords|get|map|rank|shift)|Cartdim_get|Dims_create|Topo_test|T_\w+)"
)


def plain_name(name: str) -> str:
    """Return the name of a call as in C.

    >>> plain_name("mpi_send_"), plain_name("PMPI_Bcast"), plain_name("MPI_Comm_rank")
    ('MPI_Send', 'MPI_Bcast', 'MPI_Comm_rank')
    """
    bare = name.strip().rstrip("_")
    bare = bare[1:] if bare[:5].upper() == "PMPI_" else bare
    if bare[:4].upper() != "MPI_":
        return name
    rest = bare[4:]
    return f"MPI_{rest if rest[:1].isupper() and not rest.isupper() else rest.capitalize()}"


def is_represented(name: str) -> bool:
    """Return whether a recording can represent the call, or need not because it concerns one rank alone."""
    known = name in COLLECTIVES or name in _MESSAGES or name in MAKERS or name in BEGINS or name in ENDS
    return known or _LOCAL.fullmatch(name) is not None


def refuse_unknown(where: str, calls: Mapping[str, int]) -> None:
    """Refuse a trace with calls that a recording cannot represent, given with their numbers.

    Raises:
        TraceError: There are such calls.
    """
    if not calls:
        return
    named = ", ".join(f"{name} ({count})" for name, count in sorted(calls.items(), key=lambda item: (-item[1], item)))
    raise TraceError(
        where,
        f"it has calls that a recording cannot represent: {named}",
        "Trace a run without them; docs/programs/traces.md lists the calls that are read",
    )
