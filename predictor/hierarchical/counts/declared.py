"""The programs whose counts are declared, by the names of their kernels and of the paper's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apps.programs.kernel import named_kernel
from apps.programs.memory_rules import bytes_per_flop
from predictor.hierarchical.counts import hpl, others
from predictor.hierarchical.counts.path import Params, Path


@dataclass(frozen=True)
class Counted:
    """A kernel whose operations, bytes and messages are declared for every number of cores and nodes."""

    name: str
    operations: Callable[[Params], float]  # #op
    _path: Callable[[Params, int, int, float], Path]

    def path(self, params: Params, q: int, p: int, *, bytes_per_operation: float | None = None) -> Path:
        """Return the path on q ranks of each of p nodes.

        Args:
            params: Parameters of the kernel.
            q: Ranks per node.
            p: Nodes.
            bytes_per_operation: #b / #op; None: that of the kernel's own kernel.toml.
        """
        if bytes_per_operation is None:
            bytes_per_operation = bytes_per_flop(named_kernel(self.name).bytes_per_flop, params)
        return self._path(params, q, p, bytes_per_operation)


COUNTED: Mapping[str, Counted] = {
    one.name: one
    for one in (
        Counted("dot", others.dot_operations, others.dot_path),
        Counted("summa", others.summa_operations, others.summa_path),
        Counted("hpl", hpl.operations, hpl.path),
        Counted("fft", others.fft_operations, others.fft_path),
    )
}
