"""Reference for Himeno: the iterations by numpy on the whole domain.

The arithmetic is in single precision, with all operations of a point in the order of the original program
(HimenoBMTxp 3.0), so the pressure has the same bits as on any number of ranks.  Operations that cannot change a bit are
left out: products with 1 and sums with 0 (the terms of b and of the source).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from apps.errors import KernelError

if TYPE_CHECKING:
    import numpy.typing as npt

LEAST_SIZE = 3  # smaller grids have no inner points, and the program refuses them


def references(params: dict[str, Any], nranks: int) -> dict[str, float]:
    """Return the last iteration's gosa, and the final sums of the pressure and its square over the inner points.

    Args:
        params: n, the points along each axis including the boundary, and niter.
        nranks: Not used.

    Raises:
        KernelError: n^3 floats do not fit into memory.
    """
    n, niter = params["n"], params["niter"]
    if n < LEAST_SIZE:
        return {"gosa": 0.0, "p_sum": 0.0, "p_squares": 0.0}
    try:
        pressure = initial_pressure(n)
    except MemoryError:
        remedy = "Leave out --mode verify, or choose a smaller size"
        raise KernelError(f"size {n}", "no memory for the arithmetic", remedy) from None
    gosa = 0.0
    for _ in range(niter):
        gosa = iterate(pressure)
    inner = pressure[1:-1, 1:-1, 1:-1]
    p_sum = p_squares = 0.0
    for plane in inner:  # plane by plane, to save memory
        exact = plane.astype(float)
        p_sum += float(exact.sum())
        p_squares += float((exact * exact).sum())
    return {"gosa": gosa, "p_sum": p_sum, "p_squares": p_squares}


def initial_pressure(n: int) -> npt.NDArray[np.float64]:
    """Return the initial pressure, (n, n, n) float32: (i / (n - 1))^2 in plane i across the first axis."""
    profile = (np.arange(n) ** 2).astype(np.float32) / np.float32((n - 1) ** 2)
    return np.broadcast_to(profile[:, None, None], (n, n, n)).copy()


def iterate(p: npt.NDArray[np.float64]) -> float:
    """Do one Jacobi iteration on (n, n, n) float32 in place, and return the sum of the squared residuals before it.

    The iteration goes plane by plane, so that its data stay in a cache; ``before`` holds the old values of the plane
    that was replaced last.
    """
    omega, sixth = np.float32(0.8), np.float32(1 / 6)
    gosa = 0.0
    before = p[0, 1:-1, 1:-1].copy()
    s0 = np.empty_like(before)
    for i in range(1, len(p) - 1):
        middle = p[i, 1:-1, 1:-1]
        np.add(p[i + 1, 1:-1, 1:-1], p[i, 2:, 1:-1], out=s0)
        for neighbour in (p[i, 1:-1, 2:], before, p[i, :-2, 1:-1], p[i, 1:-1, :-2]):
            s0 += neighbour
        s0 *= sixth
        s0 -= middle  # the residual
        before[...] = middle
        squares = s0 * s0
        gosa += float(squares.sum(dtype=float))
        s0 *= omega
        middle += s0
    return gosa
