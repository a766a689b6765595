"""Interface of block models: times of computation and communication blocks, power and failure rate of a node.

The blocks are those of Table 1 of J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for
Cluster Computing".  Arguments may be arrays, which are broadcast against each other; the answer has their common shape,
and is a plain float if all arguments are numbers.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError, nearest
from predictor.blocks.names import COMMUNICATION


class BlockModel(Protocol):
    """Times, power and failures of one machine whose nodes are alike."""

    @property
    def name(self) -> str:
        """Name of the model, for messages."""

    @property
    def failure_rate_per_s(self) -> float | None:
        """Failure rate lambda of a node, 1/(s node), or None if it is unknown."""

    @property
    def measured_operations(self) -> bool:
        """True if the time of an operation is measured, so that no efficiency applies to it."""

    def compute_s(self, operations: ArrayLike, threads: ArrayLike = 1) -> np.ndarray | float:
        """Return the time of a computation block, s.

        Args:
            operations: Operations of each thread, >= 0.
            threads: Threads that are active on the node at the same time, this one included, >= 1.
        """

    def communication_s(
        self, block: str, size_bytes: ArrayLike, processes: ArrayLike = 2, *, nodes: ArrayLike | None = None
    ) -> np.ndarray | float:
        """Return the time of a communication block, s, from the common start to the end of the last process; >= 0.

        The meaning of d, the size in Table 1, depends on the block (docs/predictors/blocks.md has the reasons):
        p2p, bcast, disk_read, disk_write: the bytes of the message or of the file block;
        scatter, gather: the whole buffer at the root, d / processes of it for each process (so MPI's sendcount is
        d / processes);
        alltoall: the part that each process sends to each other process (MPI's sendcount), so that a process has
        d x processes bytes in all, its own part included;
        barrier: ignored.

        Args:
            block: A name in COMMUNICATION.
            size_bytes: d of Table 1, >= 0.
            processes: Processes that take part, >= 1.  A collective of one process takes no time.  p2p and disk
                blocks ignore it.
            nodes: P of Table 1, if P counts the nodes that take part, >= 1; None: P is the number of processes.

        Raises:
            OutOfRange: If the model has no coefficients for the block.
            UserError: If the block is unknown, an argument is out of its range, or the model does not know nodes.
        """

    def power_w(self, threads: ArrayLike) -> np.ndarray | float:
        """Return the power of one node with this number of active threads (0: idle), W.

        Raises:
            OutOfRange: If the model does not know the power.
        """


def checked(name: str, values: ArrayLike, *, least: float) -> np.ndarray:
    """Return the values as an array of floats.

    Raises:
        UserError: If a value is below ``least`` or not finite.
    """
    array = np.asarray(values, dtype=float)
    wrong = ~(np.isfinite(array) & (array >= least))
    if wrong.any():
        value = array[wrong].flat[0]
        problem = f"below {least:g}" if value < least else "not a finite number"
        raise UserError(f"{name} {value:.12g}", problem, f"Give {least:g} or more")
    return array


def check_block(block: str) -> None:
    """Check the name of a communication block.

    Raises:
        UserError: If the name is not in COMMUNICATION.
    """
    if block not in COMMUNICATION:
        raise UserError(f"block {block!r}", "no such communication block", nearest(block, COMMUNICATION))
