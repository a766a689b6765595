"""Heat in a rod, an MPI program in Python: each rank owns a piece and exchanges its ends with its neighbours.

Run it by hand with ``mpirun -np 4 python3 heat.py [POINTS] [STEPS]``.
"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
points = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000  # of each rank
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size

u = np.zeros(points + 2)  # with one point of each neighbour
u[1:-1] = comm.rank
for _ in range(steps):
    comm.Sendrecv(u[1:2], dest=left, recvbuf=u[-1:], source=right)
    comm.Sendrecv(u[-2:-1], dest=right, recvbuf=u[:1], source=left)
    u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
    hottest = comm.allreduce(float(u[1:-1].max()), op=MPI.MAX)

means = comm.gather({"rank": comm.rank, "mean": float(u[1:-1].mean())}, root=0)
if means is not None:  # on rank 0
    print(f"after {steps} steps on {comm.size} ranks: at most {hottest:.4g}, the means are")
    print(", ".join(f"{mean['mean']:.4g}" for mean in means))
