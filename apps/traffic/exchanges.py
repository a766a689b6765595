"""Exchanges of nodes: the language of the modules ``exchanges.py`` in the folders of kernels.

Such a module declares functions of the parameters of a problem, without the steps and ranks of ``traffic.py``:

* ``operations(params)``, #op: the official count (docs/kernels/index.md);
* ``exchanged_bytes(params, p)``, #x: the bytes that cross the borders of p nodes, each with a compact part of the
  problem; the ranks of a node count as one.  0 on one node.  Leading terms may do, which the function then states;
* ``messages(params, p)``: the messages of one node, each of which waits for the previous one;
* ``rank_messages(params, nranks)``: roughly the messages of a rank in an iteration, of which the wall time of a
  simulation follows (apps/runs/plan.py).  A kernel may declare this one alone.
"""

from __future__ import annotations

import math


def summed_bytes(vector_bytes: float, p: int) -> float:
    """Return the bytes of an allreduce by pairwise exchanges: p log2 p vectors."""
    return vector_bytes * p * math.log2(p)
