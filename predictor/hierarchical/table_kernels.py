"""Kernels of this project that do what a program of the paper's table does, for predictor ``hierarchical``.

#op, #x and beta(q, p) = beta_1(p) / q are the table's; nothing is counted from the kernels' own messages
(docs/validation/hierarchical.md compares the two).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from predictor.hierarchical.applications import Application, application
from predictor.hierarchical.kernels import Params
from predictor.hierarchical.surface import terms_of


@dataclass(frozen=True)
class TableKernel:
    """A kernel of free size, and the program of the table that it is."""

    name: str
    program_name: str
    messages: Callable[[Params, int], float]  # of one rank, one after another: each waits for the one before
    waiting: Callable[[Params, int], float] = lambda params, ranks: 0.0  # in turn, over the computation

    @property
    def program(self) -> Application:
        return application(self.program_name)

    def operations(self, params: Params) -> float:
        """#op."""
        return self.program.operations(int(params["n"]))

    def exchange_s(self, params: Params, q: int, p: int, *, bandwidth_Bps: float, beta: float, inside: bool) -> float:
        """#x / (beta(q, p) b_cl), s, where ``beta``, what p nodes were seen to get together, is no less than beta_1(p).

        ``inside``, whether ranks of a node use the network among themselves, makes no difference: the table charges
        for that in any case.
        """
        exchanged_bytes = float(terms_of(self.program.x, int(params["n"]))(q, p))
        beta_1 = float(self.program.beta(1, p))
        return exchanged_bytes * q / (min(beta_1, beta) * bandwidth_Bps)


def _panels(params: Params) -> float:
    return float(math.ceil(params["n"] / params["nb"]))


def _hpl_messages(params: Params, ranks: int) -> float:
    """A panel from each process column to the next; a search for the pivot of every column of the matrix."""
    rows = max(1, int(params["grid_rows"]))
    return float(_panels(params) * (ranks > rows) + 2 * params["n"] * math.log2(rows))


def _hpl_waiting(params: Params, ranks: int) -> float:
    """nb n^2 / 2 operations in panels, which one process column of C at a time does while the others wait."""
    columns = ranks / max(1, int(params["grid_rows"]))
    return float(3 / 4 * params["nb"] * (columns - 1) / params["n"])


def _summa_messages(params: Params, ranks: int) -> float:
    """Two broadcasts for a panel, along the rows and the columns of a square grid."""
    return _panels(params) * math.log2(ranks)


TABLE_KERNELS: Mapping[str, TableKernel] = {
    kernel.name: kernel
    for kernel in (
        TableKernel("dot", "scalar-product", lambda params, ranks: 2 * math.log2(ranks)),
        TableKernel("summa", "matrix-product", _summa_messages),
        TableKernel("hpl", "hpl", _hpl_messages, _hpl_waiting),
    )
}
