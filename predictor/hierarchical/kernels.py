"""#op, #b and #x of kernels with classes, declared in their folders: ``exchanges.py`` (apps/traffic/exchanges.py).

#b / #op is in each kernel's kernel.toml.

Notes for this predictor in the file ``hierarchical.toml`` in the folder of a kernel.

``recorded = true``: the messages are counted in a recording, although they are declared.  ``[programs]``: the programs
of the paper's table that the kernel stands for, each with the power of the table's n that is the kernel's size.
``grid_rows``: the parameter with the rows of the grid of ranks, which is made as square as possible for these programs.

Kernels of this project that match a program of the paper's table, for the predictor ``hierarchical:table``.

#op, #x and beta(q, p) = beta_1(p) / q are those of the table; the kernels' own messages are not counted
(docs/results/hierarchical.md compares the two).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.programs.kernel import bytes_per_flop, kernels_with, named_kernel
from platforms.errors import UserError
from platforms.files.checked_toml import read_checked
from predictor.hierarchical.applications import Application, application, applications
from predictor.hierarchical.model import DERIVED, Beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface, Term, Terms, terms_of

_MODULE = "exchanges"
Params = Mapping[str, Any]  # parameters of a problem

# #x is summed over the nodes; every node has its own link, which its cores share.
BETA = Beta(Fraction(1), per_core=False)
_FILE = "hierarchical.toml"


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


@dataclass(frozen=True)
class Notes:
    """The notes of a kernel."""

    recorded: bool = False
    programs: Mapping[str, int] = field(default_factory=dict, hash=False)  # powers by name
    grid_rows: str | None = None


@cache
def notes(name: str) -> Notes:
    """Return the notes of a kernel; those of a kernel without the file say nothing.

    Raises:
        PlatformError: Something in the file is wrong.
    """
    path = named_kernel(name).file(_FILE)
    if path is None:
        return Notes()
    names = table_programs_known()
    table = read_checked(path, {"": ("recorded", "programs", "grid_rows"), "programs": names}, _FILE)
    programs = table.table("programs", "programs")
    powers = {program: programs.integer(program) for program in names if programs.has(program)}
    return Notes(table.boolean("recorded", False), powers, table.text("grid_rows", "") or None)


def table_programs_known() -> tuple[str, ...]:
    """Return the names of the programs of the paper's table."""
    return tuple(applications())


@cache
def kernel_for() -> Mapping[str, tuple[str, int]]:
    """Return the kernel that stands for each program of the paper's table, and the power of n that is its size."""
    named = {program: (name, power) for name in kernels_with(_FILE) for program, power in notes(name).programs.items()}
    return {program: named[program] for program in table_programs_known() if program in named}


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
