"""Rules of a kernel that the numbers in its kernel.toml cannot state: functions in its folder's ``rules.py``.

``bytes_per_flop(params)`` is called if kernel.toml says ``bytes_per_flop = "rules.py"``, and ``allows(params, nranks)``
if it says ``ranks = "rules.py"``; RANKS in the same module states this rule in words, for error messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.programs.kernel import Kernel

_MODULE = "rules"


def bytes_per_flop(kernel: Kernel, params: Mapping[str, Any]) -> float:
    """Return the bytes moved between a node's cores and its memory per counted operation: #b / #op.

    All values are counted from the loops: every sweep over arrays larger than the caches reads each array once and
    writes each result once, with one more read of the written cache line if the result was not read before.  The values
    are good to a factor of two at best, because small problems stay in caches.
    """
    if kernel.bytes_per_flop is not None:
        return float(kernel.bytes_per_flop)
    return float(kernel.needed(_MODULE, "bytes_per_flop")(params))


def allows(kernel: Kernel, params: Mapping[str, Any], nranks: int) -> bool:
    """Return whether the kernel's own rule allows this number of ranks."""
    return kernel.any_ranks or bool(kernel.needed(_MODULE, "allows")(params, nranks))


def rank_rule(kernel: Kernel) -> str:
    """Return the kernel's rule for the number of ranks, in words."""
    return "any number of ranks will do" if kernel.any_ranks else str(kernel.needed(_MODULE, "RANKS"))
