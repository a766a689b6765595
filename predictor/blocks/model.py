"""What a model of blocks is: times of computation and communication blocks, power of a node, rate of its failures.

Blocks of Table 1 of J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster
Computing".  Arguments may be arrays, which are broadcast against each other; the answer has their common shape, and is
a plain float where all are numbers.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError, nearest

COMMUNICATION = ("p2p", "bcast", "scatter", "gather", "alltoall", "barrier", "disk_read", "disk_write")
COLLECTIVES = ("bcast", "scatter", "gather", "alltoall", "barrier")  # of a number of processes


class BlockModel(Protocol):
    """Times, power and failures of one machine whose nodes are alike."""

    @property
    def name(self) -> str:
        """For a reader."""

    @property
    def failure_rate_per_s(self) -> float | None:
        """lambda, 1/(s node); None: not known."""

    def compute_s(self, operations: ArrayLike, threads: ArrayLike = 1) -> np.ndarray | float:
        """Time of a computation block, s.

        ``operations``: of each thread, >= 0; ``threads``: active on the node meanwhile, this one included, >= 1.
        """

    def communication_s(self, block: str, size_bytes: ArrayLike, processes: ArrayLike = 2) -> np.ndarray | float:
        """Time of a communication block, s, from the common start to the end of the last process; never below 0.

        ``block``: of COMMUNICATION.  ``processes``: that take part, one per node, >= 1; a collective of one process
        takes no time; p2p and disks do not look at it.  ``size_bytes``, >= 0, is d of Table 1:
        p2p, bcast, disk_read, disk_write: the bytes of the message or the file block;
        scatter, gather: the whole buffer at the root, d / processes of it for each process (so that MPI's sendcount
        is d / processes);
        alltoall: the part that each process sends to each other one (MPI's sendcount): d x processes leave or stay
        in all;
        barrier: ignored.
        docs/blocks/formulas.md has the reasons.  Raises OutOfRange where the model has no coefficients for the block,
        UserError for an unknown block and for arguments out of their range.
        """

    def power_w(self, threads: ArrayLike) -> np.ndarray | float:
        """Power of one node with so many active threads, W; 0: idle.  Raises OutOfRange where it is not known."""


def checked(name: str, values: ArrayLike, *, least: float) -> np.ndarray:
    """The values as floats.  Raises UserError where one is below ``least``, or not finite."""
    array = np.asarray(values, dtype=float)
    wrong = ~(np.isfinite(array) & (array >= least))
    if wrong.any():
        value = array[wrong].flat[0]
        problem = f"below {least:g}" if value < least else "not a finite number"
        raise UserError(f"{name} {value:.12g}", problem, f"Give {least:g} or more")
    return array


def check_block(block: str) -> None:
    """Raises UserError for what is not a communication block."""
    if block not in COMMUNICATION:
        raise UserError(f"block {block!r}", "no such communication block", nearest(block, COMMUNICATION))
