"""Evaluate HPL on a machine rank by rank and message by message, without computing or sending anything.

The evaluation is in C, in the folder ``native``: ranks are coroutines that wait for a common clock.  A recurrence over
panels would not do: polling for a broadcast between parts of an update, and sharing a node's link, depend on the order
of events.  The graph would take twice as long, and longer to make its program (benchmarks/hpl_messages.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from platforms.errors import UserError
from predictor.factorisation.machine import Machine, flattened
from predictor.native.layout import Layout
from predictor.native.library import Library

LIBRARY = Library("factorisation", Path(__file__).with_name("native"))
# In the order of enum Broadcast in factorisation.h, whose first six are HPL's numbers 0 to 5, and of enum Swap.
BROADCASTS = ("ring", "ring-modified", "2-ring", "2-ring-modified", "long", "long-modified", "binomial")
SWAPS = ("exchange", "long", "mix")
_NO_BYTES = 1e30  # instead of infinity
_STUCK = -3

_PROBLEM = Layout(
    "wholes reals ranks places segments",
    {
        "whole": ("i8", "wholes"),
        "real": ("f8", "reals"),
        "node": ("i8", "ranks"),
        "gemm_s": ("f8", "ranks"),
        "first": ("i8", "places"),
        "from_bytes": ("f8", "segments"),
        "base_s": ("f8", "segments"),
        "per_byte_s": ("f8", "segments"),
        "end_s": ("f8", "ranks"),
        "busy_s": ("f8", "ranks"),
    },
    written=frozenset(["end_s", "busy_s"]),
)


@dataclass(frozen=True)
class Problem:
    """A run of HPL: its size, blocks, process grid and algorithms.

    Ranks are numbered row by row in the grid.  ``mix`` interchanges up to nb columns by ``exchange``, more by ``long``.
    """

    n: int
    nb: int
    rows: int
    columns: int
    broadcast: str = "ring"
    depth: int = 0  # of the look-ahead: 0 or 1
    swap: str = "exchange"
    exchanged: float = 0.0  # rows sent at each distance of ``exchange``, in units of nb; 0: the number that HPL sends
    polls: bool = True  # with look-ahead, poll for the panel between messages of a swap and parts of an update
    operation: float = 0.0  # operations charged as by the kernel hpl; 0: products and memory, as in HPL

    def __post_init__(self) -> None:
        for name, value, known in (("broadcast", self.broadcast, BROADCASTS), ("swap", self.swap, SWAPS)):
            if value not in known:
                raise UserError(f"hpl, {name} {value!r}", "there is no such choice", f"Known: {', '.join(known)}")
        if min(self.n, self.nb, self.rows, self.columns) < 1 or self.depth not in (0, 1):
            raise UserError("hpl", f"{self} is impossible", "Give positive sizes and a depth of 0 or 1")


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The times of a run, s, by rank."""

    end_s: np.ndarray
    busy_s: np.ndarray  # spent in computation

    @property
    def time_s(self) -> float:
        """The time of the run."""
        return float(self.end_s.max())


def evaluate(problem: Problem, machine: Machine) -> Evaluated:
    """Return the times of a run of HPL.

    Raises:
        UserError: The machine has another number of ranks than the grid, or the C files cannot be compiled.
        MemoryError: There is not enough memory.
    """
    ranks = problem.rows * problem.columns
    if len(machine.node) != ranks:
        where = f"hpl on {problem.rows} x {problem.columns} ranks"
        raise UserError(where, f"the machine has {len(machine.node)}", "Describe every rank of the grid")
    whole = [problem.n, problem.nb, problem.rows, problem.columns, BROADCASTS.index(problem.broadcast), problem.depth]
    whole += [SWAPS.index(problem.swap), int(problem.polls), machine.curves.eager_bytes, machine.curves.detached_bytes]
    whole.append(int(machine.seen_early))
    real = [machine.node_Bps, machine.memory_Bps, machine.gemm_call_s, machine.copy_s_per_byte]
    real += [machine.panel_s_per_byte, machine.cache_bytes, problem.exchanged, problem.operation, machine.back]
    evaluated = Evaluated(np.zeros(ranks), np.zeros(ranks))
    given = _PROBLEM.filled(
        whole=np.array(whole, np.int64),
        real=np.minimum(np.array(real, float), _NO_BYTES),
        node=machine.node.astype(np.int64),
        gemm_s=machine.gemm_s.astype(float),
        end_s=evaluated.end_s,
        busy_s=evaluated.busy_s,
        **flattened(machine.curves),
    )
    if LIBRARY.call("factorisation_run", given) == _STUCK:
        raise RuntimeError(f"{problem}: ranks wait for one another")
    return evaluated
