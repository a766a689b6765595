"""Displacements of the pulled block, by scipy's sparse solver and in closed form.

A block of N x N x L cubes of edge 1 is held along x at x = 0, along y at y = 0 and along z at z = 0, and pulled along z
by a force of 1 per unit area at its upper face.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import scipy.sparse

NAMES = ("corner_ux", "corner_uy", "corner_uz", "mean_ux", "mean_uy", "mean_uz")
MOST_UNKNOWNS = 10_000  # for the sparse solver: three seconds of work for a cube


def references(params: Mapping[str, float], nranks: int) -> dict[str, float]:
    """Return the displacement of the corner (N, N, L), and by axis the root mean square over all nodes.

    They do not depend on the number of ranks.  They come from the sparse solver up to MOST_UNKNOWNS, above from the
    closed form; the two agree up to rounding errors.
    """
    N, L, young, poisson = int(params["n"]), int(params["layers"]), params["young"], params["poisson"]
    if min(N, L) < 1 or not young > 0 or not -1 < poisson < 0.5:
        return dict.fromkeys(NAMES, 0.0)  # the kernel itself reports the wrong parameter
    if 3 * (N + 1) ** 2 * (L + 1) > MOST_UNKNOWNS:
        return closed_form(N, L, young, poisson)

    u = sparse_solution(N, L, young, poisson)
    values = (*u[-1], *np.sqrt((u**2).mean(axis=0)))
    return {name: float(value) for name, value in zip(NAMES, values, strict=True)}


def closed_form(N: int, L: int, young: float, poisson: float) -> dict[str, float]:
    """Return the same for uniaxial stress 1: u = (-poisson x, -poisson y, z) / young.

    The displacements are linear, so the elements represent them exactly.
    """
    along_x, along_z = -poisson * N / young, L / young

    def share(n: int) -> float:  # root of the mean of (i / n)^2 over i = 0 .. n
        return float(((2 * n + 1) / (6 * n)) ** 0.5)

    wide, high = abs(along_x) * share(N), along_z * share(L)
    return dict(zip(NAMES, (along_x, along_x, along_z, wide, wide, high), strict=True))


def sparse_solution(N: int, L: int, young: float, poisson: float) -> npt.NDArray[np.float64]:
    """Return the displacements of all nodes by scipy.sparse.linalg.spsolve: (nodes, 3), x slowest and z fastest."""
    # Imported here because it is slow to import.
    from scipy.sparse.linalg import spsolve

    stiffness, load, free = system(N, L, young, poisson)
    u = np.zeros(load.size)
    u[free] = spsolve(stiffness[free][:, free].tocsc(), load[free], permc_spec="MMD_AT_PLUS_A")
    return u.reshape(-1, 3)


def system(
    N: int, L: int, young: float, poisson: float
) -> tuple[scipy.sparse.csr_array, npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the stiffness without constraints, the load, and a mask of the free displacements."""
    # Imported here because it is slow to import.
    from scipy.sparse import coo_array

    node = np.arange((N + 1) ** 2 * (L + 1)).reshape(N + 1, N + 1, L + 1)
    corners = [node[x : N + x, y : N + y, z : L + z].ravel() for x, y, z in _CORNERS]
    unknowns = (3 * np.stack(corners, axis=1)[:, :, None] + np.arange(3)).reshape(-1, 24)
    rows, columns = np.repeat(unknowns, 24, axis=1).ravel(), np.tile(unknowns, (1, 24)).ravel()
    values = np.tile(element_stiffness(young, poisson).ravel(), len(unknowns))
    stiffness = coo_array((values, (rows, columns)), shape=(3 * node.size,) * 2).tocsr()

    load = np.zeros((N + 1, N + 1, L + 1, 3))
    for x, y in itertools.product((0, 1), repeat=2):
        load[x : N + x, y : N + y, L, 2] += 1 / 4
    free = np.ones_like(load, dtype=bool)
    free[0, :, :, 0] = free[:, 0, :, 1] = free[:, :, 0, 2] = False
    return stiffness, load.ravel(), free.ravel()


_CORNERS = tuple(itertools.product((0, 1), repeat=3))


def element_stiffness(young: float, poisson: float) -> npt.NDArray[np.float64]:
    """Return the element stiffness, 24 x 24: the integral of B^T C B over the unit cube.

    Corners are in the order of (x, y, z) as binary digits, strains in the order (xx, yy, zz, yz, zx, xy).  The integral
    is by Gauss' rule with three points per axis, which is more than it needs.
    """
    lame, shear = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))
    C = np.diag([2 * shear] * 3 + [shear] * 3)
    C[:3, :3] += lame
    points, weights = np.polynomial.legendre.leggauss(3)
    K = np.zeros((24, 24))
    for gauss in itertools.product(range(3), repeat=3):
        at, weight = (points[list(gauss)] + 1) / 2, weights[list(gauss)].prod() / 8
        B = np.zeros((6, 24))
        for corner, signs in enumerate(_CORNERS):
            along = np.where(signs, at, 1 - at)
            gx, gy, gz = ((1 if signs[i] else -1) * np.delete(along, i).prod() for i in range(3))
            B[:, 3 * corner : 3 * corner + 3] = [
                [gx, 0, 0],
                [0, gy, 0],
                [0, 0, gz],
                [0, gz, gy],
                [gz, 0, gx],
                [gy, gx, 0],
            ]
        K += weight * B.T @ C @ B
    return K
