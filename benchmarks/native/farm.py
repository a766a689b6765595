"""A farm: rank 0 hands out tasks of unequal length to whoever asks."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
WORK, DONE = 1, 2


def work(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


if comm.rank == 0:
    tasks, results, idle, status = [20000 * (1 + i % 5) for i in range(40)], [], 0, MPI.Status()
    while idle < comm.size - 1:
        result = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        if result is not None:
            results.append(result)
        if tasks:
            comm.send(tasks.pop(), dest=status.source, tag=WORK)
        else:
            comm.send(None, dest=status.source, tag=DONE)
            idle += 1
    assert len(results) == 40
else:
    status = MPI.Status()
    comm.send(None, dest=0)
    while (task := comm.recv(source=0, status=status)) is not None:
        comm.send(work(task), dest=0)
