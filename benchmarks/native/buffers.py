"""Arrays: non-blocking halo exchange, persistent requests, a derived type."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
n = 400
u = np.random.default_rng(rank).random((n, n))
column = MPI.DOUBLE.Create_vector(n, 1, n).Commit()
halo = np.empty(n)
for _ in range(20):
    requests = [comm.Irecv(halo, source=left, tag=1), comm.Isend([u, 1, column], dest=right, tag=1)]
    v = u @ u
    MPI.Request.Waitall(requests)
    u[:, 0] = halo
    u = v / np.abs(v).max()
column.Free()
out, inn = np.full(5000, rank, "d"), np.empty(5000)
send, recv = comm.Send_init(out, dest=right, tag=2), comm.Recv_init(inn, source=left, tag=2)
for _ in range(5):
    MPI.Prequest.Startall([send, recv])
    MPI.Request.Waitall([send, recv])
send.Free(), recv.Free()
assert inn[0] == left
