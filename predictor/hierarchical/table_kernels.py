"""Kernels of this project that match a program of the paper's table, for the predictor ``hierarchical:table``.

#op, #x and beta(q, p) = beta_1(p) / q are those of the table; the kernels' own messages are not counted
(docs/results/hierarchical.md compares the two).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from predictor.hierarchical.applications import Application, application
from predictor.hierarchical.kernels import Params
from predictor.hierarchical.notes import kernel_for
from predictor.hierarchical.surface import terms_of


@dataclass(frozen=True)
class TableKernel:
    """A kernel of free size, with its program in the table."""

    program_name: str

    @property
    def program(self) -> Application:
        """The program of the table."""
        return application(self.program_name)

    def operations(self, params: Params) -> float:
        """Return #op."""
        return self.program.operations(int(params["n"]))

    def exchange_s(self, params: Params, q: int, p: int, *, bandwidth_Bps: float, beta: float) -> float:
        """Return #x / (beta(q, p) b_cl), s, with beta_1(p) of the table, but at most the measured ``beta``."""
        exchanged_bytes = float(terms_of(self.program.x, int(params["n"]))(q, p))
        beta_1 = float(self.program.beta(1, p))
        return exchanged_bytes * q / (min(beta_1, beta) * bandwidth_Bps)


@cache
def table_kernels() -> Mapping[str, TableKernel]:
    """Return the kernels that match a program of the table at the same size, by name."""
    pairs = [(kernel, program) for program, (kernel, power) in kernel_for().items() if power == 1]
    return {kernel: TableKernel(program) for kernel, program in sorted(pairs)}
