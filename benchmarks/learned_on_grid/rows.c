/* A stencil on n x n points in slabs of rows, as even as possible: in every iteration the neighbours' edge rows, and every
 * fifth time the largest change of all ranks.
 *
 *   rows N ITERATIONS */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), iterations = atoi(argv[2]), rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  int rows = n / ranks + (rank < n % ranks);
  double *edges = calloc(4 * (size_t)n, sizeof *edges), mine = 0, largest;
  for (int i = 0; i < iterations; i++) {
    MPI_Request requests[4];
    MPI_Irecv(edges, n, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(edges + n, n, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(edges + 2 * n, n, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(edges + 3 * n, n, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    smpi_execute_flops(6.0 * rows * n);
    if (i % 5 == 4)
      MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  free(edges);
  MPI_Finalize();
  return 0;
}
