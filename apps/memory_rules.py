"""Bytes between a node's cores and its memory per operation that a kernel counts: #b / #op of the hierarchical model.

A kernel.toml gives a number, or the name of a rule where it depends on parameters.  All are counted from the loops:
every sweep over arrays that outgrow the caches reads each of them once and writes each result once, with another read
of the line that is written where the result was not read before.  Good to a factor of two at best: small problems stay
in caches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any


def _panels(params: Mapping[str, Any]) -> float:
    """Every element of a matrix is read and written, 16 bytes, for 2 nb operations of a product of panels."""
    return 8 / int(params["nb"])


def _six_steps(params: Mapping[str, Any]) -> float:
    """FFT, per point of 16 bytes: two sweeps of transforms 64, roots 16, transpositions 48 for the order of the output
    and 48 each for four that pack and unpack: 320, over 5 log2 N operations.  One rank packs nothing."""
    return 320 / (5 * math.log2(int(params["n"])))


MEMORY_RULES: dict[str, Callable[[Mapping[str, Any]], float]] = {"panels": _panels, "six-steps": _six_steps}


def bytes_per_flop(declared: float | str, params: Mapping[str, Any]) -> float:
    """Of a problem with these parameters, from what the kernel.toml says."""
    return MEMORY_RULES[declared](params) if isinstance(declared, str) else float(declared)
