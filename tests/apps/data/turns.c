/* Steps that are not alike, and marked nowhere: halos in a ring in every step, in turns with one neighbour or both, and
 * in every K-th a sum of all ranks, of which the first ranks also send a list to the last one.  Before the first and
 * after the last step there are other calls.  Arguments: steps, K, bytes of a halo. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  int size, rank, every = atoi(argv[2]), bytes = atoi(argv[3]);
  char *mine = calloc(2, bytes), *theirs = mine + bytes;
  double sums[3] = {0}, all[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int before = (rank + size - 1) % size, after = (rank + 1) % size;
  MPI_Bcast(sums, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int step = 1; step <= atoi(argv[1]); step++) {
    MPI_Sendrecv(mine, bytes, MPI_CHAR, after, 0, theirs, bytes, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (step % 2)
      MPI_Sendrecv(mine, bytes, MPI_CHAR, before, 1, theirs, bytes, MPI_CHAR, after, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (step % every == 0) {
      if (rank < size - 1)
        MPI_Send(mine, 8 * (rank + 1), MPI_CHAR, size - 1, 2, MPI_COMM_WORLD);
      for (int other = 0; rank == size - 1 && other < size - 1; other++)
        MPI_Recv(theirs, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Allreduce(sums, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  MPI_Gather(mine, 100, MPI_CHAR, calloc(size, 100), 100, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Finalize();
}
