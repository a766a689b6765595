"""Collectives on arrays and objects, with unequal blocks, on a part of the ranks, and non-blocking."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
counts = [100 * (r + 1) for r in range(size)]
mine = np.full(counts[rank], rank, "d")
whole = np.empty(sum(counts))
for _ in range(10):
    comm.Allgatherv(mine, [whole, counts])
    total = np.empty(1000)
    comm.Allreduce(np.full(1000, rank, "d"), total)
    comm.Barrier()
assert total[0] == size * (size - 1) / 2
comm.Bcast(whole, root=size - 1)
comm.Gatherv(mine, [whole, counts] if rank == 0 else None, root=0)
comm.Alltoall(np.arange(size * 64, dtype="d"), np.empty(size * 64))
comm.Reduce_scatter_block(np.ones(size * 8), np.empty(8))
comm.Scan(np.ones(4), np.empty(4))
half = comm.Split(rank % 2, rank)
half.allreduce({"a": 1}.get("a"))
half.Free()
request = comm.Iallreduce(np.ones(10), total[:10])
request.Wait()
objects = comm.gather({"rank": rank}, root=0)
comm.scatter(objects, root=0)
comm.allgather([rank] * 50)
comm.reduce(rank, op=MPI.MAX, root=0)
