/* Halo exchange: every rank exchanges `size` bytes with four neighbours per step, by Irecv, Isend and Waitall or, with
 * the word `blocking`, by Sendrecv.  Every tenth step ends with an Allreduce. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
  if (argc < 3)
    return 2;
  int rank, nranks, steps = atoi(argv[1]), size = atoi(argv[2]), blocking = argc > 3 && !strcmp(argv[3], "blocking");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  int away[] = {1, -1, 4, -4};
  char *out = calloc(4, (size_t)size), *in = calloc(4, (size_t)size);
  if (!out || !in)
    return 1;
  for (int step = 0; step < steps; step++) {
    MPI_Request requests[8];
    for (int i = 0; i < 4; i++) {
      int to = (rank + away[i] + nranks) % nranks, from = (rank - away[i] + nranks) % nranks;
      if (blocking) {
        MPI_Sendrecv(out + i * size, size, MPI_BYTE, to, i, in + i * size, size, MPI_BYTE, from, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        continue;
      }
      MPI_Irecv(in + i * size, size, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[2 * i]);
      MPI_Isend(out + i * size, size, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    if (!blocking)
      MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    smpi_execute_flops(1e6);
    double mine = step, most;
    if (step % 10 == 9)
      MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  free(out);
  free(in);
  MPI_Finalize();
  if (rank == 0)
    printf("done\n");
  return 0;
}
