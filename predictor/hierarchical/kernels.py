"""#op, #b and #x of kernels with classes, declared in their folders: ``exchanges.py`` (apps/traffic/exchanges.py).

#b / #op is in each kernel's kernel.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.programs.kernel import kernels_with, named_kernel
from apps.programs.rules import bytes_per_flop
from platforms.errors import UserError
from predictor.hierarchical.beta import Beta
from predictor.hierarchical.model import DERIVED
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface, Term, Terms

_MODULE = "exchanges"
Params = Mapping[str, Any]  # parameters of a problem

# #x is summed over the nodes; every node has its own link, which its cores share.
BETA = Beta(Fraction(1), per_core=False)


@dataclass(frozen=True)
class Kernel:
    """The declared quantities of a kernel."""

    name: str
    operations: Callable[[Params], float]  # #op
    exchanged_bytes: Callable[[Params, int], float]  # #x on p nodes; 0 on one node
    messages: Callable[[Params, int], float]  # number of messages of one node, each of which waits for the previous one

    def bytes_per_operation(self, params: Params) -> float:
        """Return the bytes of memory traffic per operation, #b / #op."""
        return bytes_per_flop(named_kernel(self.name), params)

    def surface(
        self,
        params: Params,
        system: MulticoreCluster,
        *,
        variant: str = DERIVED,
        beta: Beta | None = None,
        overlap: bool = False,
    ) -> Surface:
        """Return the surface of efficiency on a machine, as for a program of the paper's table.

        Raises:
            UserError: The variant is not "derived"; the paper prints nothing of these kernels.
        """
        if variant != DERIVED:
            raise UserError(f"variant {variant!r}, app {self.name!r}", "the paper prints nothing of it", "Ask derived")
        op, shared = self.operations(params), beta or BETA
        balance = float(system.network_balance) / op

        @cache  # a search uses the same p with every q
        def moved_by(nodes: float) -> float:
            return self.exchanged_bytes(params, int(nodes))

        @cache
        def latencies(nodes: float) -> float:
            return self.messages(params, int(nodes))

        def network(q: npt.ArrayLike, p: npt.ArrayLike) -> np.ndarray:
            moved, waited = (np.vectorize(each, otypes=[float])(p) for each in (moved_by, latencies))
            cores = np.asarray(q, float) * np.asarray(p, float)
            bytes_over_op: np.ndarray = balance / shared(q, p) * moved
            # Latency is no term of the paper's eq. (3): one for each message of a node that waits for another.
            latency_over_op = float(system.core_flops) * system.latency_s * waited / op
            return np.asarray(cores * (bytes_over_op + latency_over_op))

        memory = Terms((Term(float(system.a_star) * self.bytes_per_operation(params), cores=1),))
        return Surface(memory, network, overlap, f"eq. (5) derived, with latency, beta(q, p) = {shared}")


def exchanging_names() -> tuple[str, ...]:
    """Return the names of the kernels that declare what nodes exchange in all."""
    return tuple(name for name in kernels_with(f"{_MODULE}.py") if _declared(name))


@cache
def _declared(name: str) -> bool:
    """Return whether a kernel's module declares more than messages for the time of a simulation."""
    return named_kernel(name).optional(_MODULE, "exchanged_bytes") is not None


@cache
def exchanging(name: str) -> Kernel:
    """Return what the kernel of this name, one of ``exchanging_names``, declares.

    Raises:
        KernelError: Its module lacks a function.
    """
    kernel = named_kernel(name)
    return Kernel(
        name, *(kernel.needed(_MODULE, module_name) for module_name in ("operations", "exchanged_bytes", "messages"))
    )
