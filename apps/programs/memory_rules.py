"""Bytes moved between a node's cores and its memory per counted operation: #b / #op of the hierarchical model.

A kernel.toml gives a number, or the name of a rule if the value depends on parameters.  All values are counted from the
loops: every sweep over arrays larger than the caches reads each array once and writes each result once, with one more
read of the written cache line if the result was not read before.  The values are good to a factor of two at best,
because small problems stay in caches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any


def _panels(params: Mapping[str, Any]) -> float:
    """Return 16 bytes per matrix element, read and written once, over its 2 nb operations in a product of panels."""
    return 8 / int(params["nb"])


def _six_steps(params: Mapping[str, Any]) -> float:
    """Return 320 bytes per point of the FFT (16 bytes) over its 5 log2 N operations.

    The 320 bytes: 64 in two sweeps of transforms, 16 for the roots, 48 in the transposition that orders the output and
    48 in each of the four transpositions that pack and unpack.  A single rank packs nothing.
    """
    return 320 / (5 * math.log2(int(params["n"])))


MEMORY_RULES: dict[str, Callable[[Mapping[str, Any]], float]] = {"panels": _panels, "six-steps": _six_steps}


def bytes_per_flop(declared: float | str, params: Mapping[str, Any]) -> float:
    """Return the bytes per operation of a problem with these parameters, from the kernel.toml's number or rule."""
    return MEMORY_RULES[declared](params) if isinstance(declared, str) else float(declared)
