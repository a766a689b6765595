"""Reference for SUMMA: the product of the same random matrices by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from apps.errors import KernelError
from apps.kernels.harness.random import advanced, centred, states


def references(params: Mapping[str, Any], nranks: int) -> dict[str, float]:
    """Return u A B w with weights u and w of rows and columns, and three elements of A B, named as in summa.c.

    The function takes 16 n^2 bytes.

    Raises:
        KernelError: The matrices do not fit into memory.
    """
    n = params["n"]
    try:
        a, b = np.empty((n, n), order="F"), np.empty((n, n), order="F")
    except MemoryError:
        problem = f"the matrices, {16 * n * n / 1e9:.3g} GB, do not fit into memory"
        raise KernelError(f"size {n}", problem, "Choose a smaller size, or --mode skeleton") from None
    column = states(n)
    for matrix in (a, b):
        for j in range(n):
            matrix[:, j] = centred(column)
            column = advanced(column, n)
    rows, columns = centred(column), centred(advanced(column, n))
    return {
        "c_weighted": float((rows @ a) @ (b @ columns)),
        "c_first": float(a[0] @ b[:, 0]),
        "c_inner": float(a[n // 3] @ b[:, n // 2]),
        "c_last": float(a[n - 1] @ b[:, n - 1]),
    }
