"""The algorithms that SMPI takes for collectives."""

from __future__ import annotations

import math
from collections.abc import Mapping

# The algorithms of an all-to-all that are not "linear", by ranks (below) and bytes of a block (from, below): what
# SMPI's selector ``ompi`` takes, the decisions of Open MPI 4's module "tuned" as SimGrid 3.26 to 4.1 has them.
_ALL_TO_ALL: tuple[tuple[float, Mapping[str, tuple[tuple[float, float], ...]]], ...] = (
    (3, {"pairwise": ((0, 2), (4, 16), (64, 256), (4096, 32768), (1048576, math.inf))}),
    (8, {"pairwise": ((524288, 1048576),)}),
    (16, {}),
    (32, {"bruck": ((4, 512),)}),
    (64, {"bruck": ((0, 512),)}),
    (256, {"bruck": ((0, 1024),), "pairwise": ((262144, math.inf),)}),
    (512, {"bruck": ((0, 1024),), "pairwise": ((32768, math.inf),)}),
    (1024, {"bruck": ((0, 512),), "pairwise": ((262144, math.inf),)}),
    (2048, {"bruck": ((0, 512),)}),
    (4096, {"bruck": ((0, 1024),)}),
    (math.inf, {"bruck": ((0, 2048),)}),
)


def all_to_all_algorithm(ranks: int, size_bytes: float) -> str:
    """Return what SMPI takes for blocks of this size: "linear" (all at once), "bruck" or "pairwise".

    SMPI has no pairwise exchange for numbers of ranks that are not a power of two, and aborts where it would take it.
    """
    rules = next(rules for below, rules in _ALL_TO_ALL if below > ranks)
    chosen = [name for name, spans in rules.items() for low, high in spans if low <= size_bytes < high]
    return chosen[0] if chosen else "linear"
