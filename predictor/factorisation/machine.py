"""The machine of an evaluation: speeds of its ranks, times of its messages, and the links that messages share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from platforms.errors import UserError

Segment = tuple[float, float, float]  # first size in bytes, time in s, time per byte


@dataclass(frozen=True)
class Curves:
    """Times of messages by size, in segments; sizes ascend from 0.

    A message below ``eager_bytes`` occupies its sender for ``sender``, then the wire, then its receiver for
    ``receiver``.  One below ``detached_bytes`` does the same, but starts on the wire only when its receiver is ready.
    A larger one occupies both for the wire time, from the moment both are ready.
    """

    between: tuple[Segment, ...]  # on the wire, between two nodes
    within: tuple[Segment, ...]  # on the wire, inside a node
    sender: tuple[Segment, ...] = ()
    receiver: tuple[Segment, ...] = ()
    eager_bytes: int = 65536
    detached_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Machine:
    """The nodes, speeds and messages of an evaluation.

    The fields from ``gemm_call_s`` to ``cache_bytes`` describe HPL with a tuned BLAS; by default, only operations cost
    time.
    """

    node: np.ndarray  # i8, by rank
    gemm_s: np.ndarray  # f8, by rank: seconds for m n k = 1 of a matrix product, which is two operations
    curves: Curves
    node_Bps: float = math.inf  # of all messages together that leave a node, or that enter it
    memory_Bps: float = math.inf  # of all messages together inside a node
    gemm_call_s: float = 0.0  # of each call of a product
    copy_s_per_byte: float = 0.0  # of interchanged rows
    panel_s_per_byte: float = 0.0  # of memory traffic when a panel is factorised
    cache_bytes: float = field(default=math.inf)  # of a core's cache: smaller parts of a panel stay in it
    seen_early: bool = False  # a poll finds a message once it is sent, as in SMPI; else once it has arrived
    back: float = 0.0  # use of the opposite direction of the links by a message between nodes, as a share of its rate

    def __post_init__(self) -> None:
        for name in ("node_Bps", "memory_Bps", "cache_bytes"):
            if not getattr(self, name) > 0:
                raise UserError(f"machine, {name}", f"is {getattr(self, name)}", "Give a positive number")
        if self.node.shape != self.gemm_s.shape or not len(self.node):
            raise UserError("machine", "ranks have no node or no speed", "Give both for every rank")


def flattened(curves: Curves) -> dict[str, np.ndarray]:
    """Return the curves as arrays, as predictor/factorisation/native/factorisation.h has them."""
    parts: Sequence[tuple[Segment, ...]] = (curves.between, curves.within, curves.sender, curves.receiver)
    rows = np.array([segment for part in parts for segment in part], float).reshape(-1, 3)
    return {
        "first": np.cumsum([0, *map(len, parts)]).astype(np.int64),
        **{name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(("from_bytes", "base_s", "per_byte_s"))},
    }
