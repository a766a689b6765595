"""Kernels of this project that match a program of the paper's table, for the predictor ``hierarchical``.

#op, #x and beta(q, p) = beta_1(p) / q are those of the table; the kernels' own messages are not counted
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
    """A kernel of free size, with its program in the table."""

    name: str
    program_name: str
    messages: Callable[[Params, int], float]  # number of messages of one rank, each of which waits for the previous one
    waiting: Callable[[Params, int], float] = lambda params, ranks: 0.0  # time of waiting in turn / computation time

    @property
    def program(self) -> Application:
        """The program of the table."""
        return application(self.program_name)

    def operations(self, params: Params) -> float:
        """Return #op."""
        return self.program.operations(int(params["n"]))

    def exchange_s(self, params: Params, q: int, p: int, *, bandwidth_Bps: float, beta: float, inside: bool) -> float:
        """Return #x / (beta(q, p) b_cl), s, with beta_1(p) of the table, but at most the measured ``beta``.

        ``inside``, whether ranks of one node communicate over the network, has no effect, because the table charges
        for such messages in any case.
        """
        exchanged_bytes = float(terms_of(self.program.x, int(params["n"]))(q, p))
        beta_1 = float(self.program.beta(1, p))
        return exchanged_bytes * q / (min(beta_1, beta) * bandwidth_Bps)


def _panels(params: Params) -> float:
    return float(math.ceil(params["n"] / params["nb"]))


def _hpl_messages(params: Params, ranks: int) -> float:
    """Return HPL's messages: a panel to the next process column, and a pivot search per column of the matrix."""
    rows = max(1, int(params["grid_rows"]))
    return float(_panels(params) * (ranks > rows) + 2 * params["n"] * math.log2(rows))


def _hpl_waiting(params: Params, ranks: int) -> float:
    """Return HPL's waiting: one of C process columns does the nb n^2 / 2 operations in panels while the others wait."""
    columns = ranks / max(1, int(params["grid_rows"]))
    return float(3 / 4 * params["nb"] * (columns - 1) / params["n"])


def _summa_messages(params: Params, ranks: int) -> float:
    """Return SUMMA's messages: two broadcasts per panel, along the rows and the columns of a square grid."""
    return _panels(params) * math.log2(ranks)


TABLE_KERNELS: Mapping[str, TableKernel] = {
    kernel.name: kernel
    for kernel in (
        TableKernel("dot", "scalar-product", lambda params, ranks: 2 * math.log2(ranks)),
        TableKernel("summa", "matrix-product", _summa_messages),
        TableKernel("hpl", "hpl", _hpl_messages, _hpl_waiting),
    )
}
