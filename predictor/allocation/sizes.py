"""The sizes of a kernel's problems for measurements and the choice of configurations: ``sizes.toml`` in its folder.

Those of the four benchmarks of Ichikawa, Takahashi, Kawai are the paper's, with the paper's limits.
"""

from dataclasses import dataclass
from functools import cache

from apps.programs.kernel import kernels_with, named_kernel
from platforms.errors import UserError
from platforms.files.checked_toml import CheckedTable, read_checked
from predictor.allocation.configuration import Limits

_FILE = "sizes.toml"
_KEYS = ("construction", "evaluation", "small_below", "nodes", "processes")


@dataclass(frozen=True)
class Sizes:
    """Sizes and limits of one kernel; the comments of its file say where they are from."""

    construction: tuple[int, ...]  # sizes N that are measured on homogeneous sub-clusters
    evaluation: tuple[int, ...] | None = None  # sizes N for which a configuration is chosen
    small_below: int = 0  # sizes below it are small: the paper gives errors also without them
    limits: Limits | None = None  # Table VI or VII


def names_with_sizes() -> tuple[str, ...]:
    """Return the names of the kernels with sizes."""
    return kernels_with(_FILE)


@cache
def kernel_sizes(name: str) -> Sizes | None:
    """Return the sizes of a kernel; None if it has none.

    Raises:
        UserError: Something in its file is wrong.
    """
    path = named_kernel(name).file(_FILE) if name in names_with_sizes() else None
    if path is None:
        return None
    table = read_checked(path, {"": _KEYS}, _FILE)
    construction, evaluation = (_sizes(table, key) for key in ("construction", "evaluation"))
    if construction is None or table.has("nodes") != table.has("processes"):
        raise UserError(str(path), "no sizes to construct models, or half of the limits", f"Give {', '.join(_KEYS)}")
    nodes, processes = _sizes(table, "nodes"), _sizes(table, "processes")
    limits = None if nodes is None or processes is None else Limits(nodes, processes)
    return Sizes(construction, evaluation, table.integer("small_below", 0), limits)


def _sizes(table: CheckedTable, key: str) -> tuple[int, ...] | None:
    return tuple(table.list_of(key, [], int, "whole numbers")) or None
