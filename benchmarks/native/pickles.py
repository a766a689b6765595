"""Objects of growing size around a ring, pickled, blocking and not."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
for length in (1, 100, 10000, 100000):
    request = comm.isend({"from": rank, "data": list(range(length))}, dest=right, tag=length)
    got = comm.recv(source=left, tag=length)
    request.wait()
    assert got["from"] == left and len(got["data"]) == length
# a message of unknown sender, and one that is received without blocking
pending = comm.irecv(bytearray(1 << 20), source=left, tag=7)
comm.send("x" * 5000, dest=right, tag=7)
assert len(pending.wait()) == 5000
status = MPI.Status()
if rank == 0:
    for _ in range(size - 1):
        comm.recv(source=MPI.ANY_SOURCE, tag=9, status=status)
else:
    comm.send(rank, dest=0, tag=9)
everything = comm.alltoall([f"{rank}->{to}" for to in range(size)])
assert everything[left] == f"{left}->{rank}"
