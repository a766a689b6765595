"""A grid of ranks: halos along both dimensions, and sums along rows."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
dims = MPI.Compute_dims(comm.size, 2)
grid = comm.Create_cart(dims, periods=[True, False], reorder=False)
row = grid.Sub([False, True])
u = np.full(20000, grid.rank, "d")
for _ in range(30):
    for dimension in range(2):
        source, destination = grid.Shift(dimension, 1)
        received = np.empty_like(u)
        grid.Sendrecv(u, dest=destination, recvbuf=received, source=source)
        u = 0.5 * (u + (received if source != MPI.PROC_NULL else u))
    residual = row.allreduce(float(np.square(u).sum()))
assert grid.Get_coords(grid.rank) == grid.coords
row.Free()
grid.Free()
