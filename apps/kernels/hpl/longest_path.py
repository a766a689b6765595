"""HPL panel by panel (apps/kernels/hpl): the column of ranks that owns the next panel is on the longest path.

For every panel its owners factorise it, with a search for a pivot in every column; the next owners receive it and pass
it on, exchange rows and update their columns.  The other columns of ranks wait for them.  No look-ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.traffic.lines import Lines
from apps.traffic.path import Path

_DOUBLE_BYTES = 8
_COUNTED = "ring"  # the broadcast that is counted
_MOST_PANELS = 1024  # more are represented by this many of them, evenly spread
Ints = npt.NDArray[np.int64]


def operations(params: Mapping[str, Any]) -> float:
    """Return #op as published, 2/3 n^3 + 2 n^2."""
    n = int(params["n"])
    return 2 / 3 * n**3 + 2.0 * n**2


def _charged(n: int) -> float:
    """Return the operations that the kernel charges for one of its loops."""
    return n * n * (2 * n / 3 + 2) / (n * ((4 * n + 9) * n - 7) / 6)


def _first_share(count: Ints, nb: int, places: int) -> Ints:
    """Return the rows of the place that owns the first block, of ``count`` rows."""
    full, rest = np.divmod(count, nb)
    share: Ints = full // places * nb + np.where(full % places > 0, nb, rest)
    return share


def _last_share(count: Ints, nb: int, places: int) -> Ints:
    """Return the rows of the place that owns the last block of each turn, of ``count`` rows."""
    full, rest = np.divmod(count, nb)
    share: Ints = full // places * nb + np.where(full % places == places - 1, rest, 0)
    return share


def _panels(n: int, nb: int) -> tuple[Ints, float]:
    """Return the first columns of the panels, and how many panels each of them stands for."""
    count = -(-n // nb)
    if count <= _MOST_PANELS:
        return np.arange(0, n, nb), 1.0
    sample = ((np.arange(_MOST_PANELS) + 0.5) * count / _MOST_PANELS).astype(np.int64)
    return sample * nb, count / _MOST_PANELS


def longest_path(params: Mapping[str, Any], q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of HPL on q ranks of each of p nodes.

    Args:
        params: n, nb and grid_rows.
        q: Ranks per node.
        p: Nodes.
        bytes_per_flop: Bytes between cores and memory per operation.
    """
    n, nb, rows = int(params["n"]), int(params["nb"]), max(1, int(params["grid_rows"]))
    columns = q * p // rows
    start, each = _panels(n, nb)
    width = np.minimum(nb, n - start)
    below, right = n - start - width, n + 1 - start - width
    height, spread = _first_share(below, nb, rows), _first_share(right, nb, columns)
    across, down = Lines(columns, 1, q, p), Lines(rows, columns, q, p)
    one_down = Lines(rows, columns, q, p, alone=True)
    path = one_down.merged().path(_DOUBLE_BYTES * (2 + 2 * width), each * width)
    # The next owners receive the panel and send it on; of two columns of ranks, they only receive it.
    path += across.hop().path(_DOUBLE_BYTES * width * (1 + width + height), each * min(2, columns - 1))
    path += down.merged().path(_DOUBLE_BYTES * 2 * width * spread, each)
    # Back-substitution: a block of the solution goes down its column, then a part of the right-hand side goes on.
    near = width * (columns - 1) / rows if columns > 1 else start  # rows that are due before the next block
    path += one_down.broadcast().path(_DOUBLE_BYTES * width, each) + across.hop().path(_DOUBLE_BYTES * near, each)

    triangle = (width - 1) * width / 2 + (width - 1) * width * (2 * width - 1) / 3
    diagonal = _last_share(below, nb, rows) * width**2 + triangle  # on the rank that has the diagonal block
    alone = float((each * (np.maximum(height * width**2, diagonal) + width**2 + 2 * width * near)).sum())
    together = float((each * spread * (width * (width - 1) / rows + 2.0 * width * height)).sum())
    # Ranks of one column compute in step and share the memory.  Those of the other columns get a panel at other times:
    # the mean of all of them and none of them is taken.
    in_step = max(1.0, q / columns)
    operation = _charged(n)
    return path + Path(
        operations=operation * (alone + together),
        memory_bytes=operation * bytes_per_flop * (in_step * alone + (in_step + q) / 2 * together),
    )


def cautions(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the path leaves out with these parameters."""
    if params["broadcast"] != _COUNTED:
        yield f"the broadcast is counted as {_COUNTED}"
    if int(params["depth"]):
        yield "the look-ahead, which saves time, is left out"
