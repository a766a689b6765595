"""Times of all collectives on a machine, those included for which machines have no times of their own.

As in SimGrid's MPI, a reduction is a gather of all vectors at the root, an allreduce is a reduction and a broadcast,
and in an allgather each process sends its part to every other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from platforms.errors import UserError
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.stream.instructions import Collective


def collective_time(machine: Machine, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
    """Return the time of a collective, from when all processes are ready, s.

    Args:
        machine: The machine.
        block: A name in predictor.blocks.names.COLLECTIVES or REDUCTIONS.
        size_bytes: Bytes as in the steps of predictor.blocks.programs.
        members: Groups of the processes that take part.
        root: Group of the root; any of them for a collective without a root.

    Raises:
        OutOfRange: If the machine does not know the time.
    """
    processes = sum(group.count for group in members)
    if block in ("reduce", "allreduce"):
        gathered_s = machine.collective_s("gather", size_bytes * processes, members, root)
        return gathered_s + (machine.collective_s("bcast", size_bytes, members, root) if block == "allreduce" else 0.0)
    if block == "allgather":
        return machine.collective_s("alltoall", ceil(size_bytes / processes), members, root)
    return machine.collective_s(block, size_bytes, members, root)


def check_agreed(labels: Iterable[str], mine: Collective, theirs: Collective) -> None:
    """Check that two participants, which are processes of these labels, call the same collective.

    Raises:
        UserError: If the collectives, their bytes or their roots differ.
    """
    if (mine.block, mine.root, mine.given_bytes) != (theirs.block, theirs.root, theirs.given_bytes):
        members = ", ".join(labels)
        problem = f"not the same collective as at {theirs.where}, which other processes of {members} call"
        raise UserError(mine.where, problem, "Let all call the same collective, with the same bytes and root")
