"""Reference for HPL: LAPACK's solution of the same system, generated independently by the same formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.errors import KernelError
from apps.kernels.harness.random import advanced, centred, states

if TYPE_CHECKING:
    import numpy.typing as npt

_HPL_LIMIT = 16
_EPSILON = 2.0**-53


def references(params: Mapping[str, Any], nranks: int) -> dict[str, float]:
    """Return the sum and the largest absolute value of the solution, and the tolerance for another solution.

    A scaled residual r means |A x - b| <= r eps n (|A| |x| + |b|) in the maximum norm, and |b| <= |A| |x|, so the error
    of x is at most 2 r eps n cond(A), relative to its largest element.  The condition number is LAPACK's estimate.
    The function takes 8 n^2 bytes, and less time than the kernel's own arithmetic.

    Raises:
        KernelError: The matrix does not fit into memory.
    """
    # Imported here because it is slow to import.
    from scipy.linalg import lapack

    n = params["n"]
    try:
        matrix, right_hand_side = system(n)
    except MemoryError:
        problem = f"the matrix, {8 * n * n / 1e9:.3g} GB, does not fit into memory"
        raise KernelError(f"size {n}", problem, "Choose a smaller size, or --mode skeleton") from None
    norm = lapack.dlange("I", matrix)  # type: ignore[call-arg]  # the stub lacks its arguments
    factors, _, solution, info = lapack.dgesv(matrix, right_hand_side, overwrite_a=True)
    assert info == 0, "a random matrix is not singular"
    reciprocal_condition, _ = lapack.dgecon(factors, norm, norm="I")
    return {
        "x_sum": float(np.sum(solution)),
        "x_largest": float(np.max(np.abs(solution))),
        "x_limit": 2 * _HPL_LIMIT * _EPSILON * n / reciprocal_condition,
    }


def system(n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return A (n x n, contiguous columns) and b: random numbers minus 1/2, column by column, b after the last."""
    matrix, right_hand_side = np.empty((n, n), order="F"), np.empty(n)
    column = states(n)
    for j in range(n + 1):
        values = matrix[:, j] if j < n else right_hand_side
        values[:] = centred(column)
        column = advanced(column, n)
    return matrix, right_hand_side
