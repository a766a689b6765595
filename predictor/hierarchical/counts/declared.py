"""The kernels that declare their longest path: ``longest_path.py`` in their folders (apps/traffic/path.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from apps.programs.kernel import kernels_with, named_kernel
from apps.programs.rules import bytes_per_flop
from apps.traffic.path import Path

_MODULE = "longest_path"
Params = Mapping[str, Any]  # parameters of a problem


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
            bytes_per_operation: #b / #op; None: that which the kernel declares.
        """
        if bytes_per_operation is None:
            bytes_per_operation = bytes_per_flop(named_kernel(self.name), params)
        return self._path(params, q, p, bytes_per_operation)

    def cautions(self, params: Params) -> tuple[str, ...]:
        """Return what the path leaves out with these parameters."""
        said = named_kernel(self.name).optional(_MODULE, "cautions")
        return () if said is None else tuple(said(params))


def counted_names() -> tuple[str, ...]:
    """Return the names of the kernels that declare their longest path."""
    return kernels_with(f"{_MODULE}.py")


@cache
def counted(name: str) -> Counted:
    """Return what the kernel of this name, one of ``counted_names``, declares.

    Raises:
        KernelError: Its module lacks a function.
    """
    kernel = named_kernel(name)
    return Counted(name, kernel.needed(_MODULE, "operations"), kernel.needed(_MODULE, "longest_path"))
