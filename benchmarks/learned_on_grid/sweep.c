/* A wave front over n planes of n points, in slabs of the ranks: each rank waits for the plane of the one before it.
 *
 *   sweep N ITERATIONS */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

enum { PLANES = 12 };

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), iterations = atoi(argv[2]), rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int points = n / ranks + (rank < n % ranks);
  double *plane = calloc((size_t)n, sizeof *plane);
  for (int i = 0; i < iterations; i++) {
    for (int k = 0; k < PLANES; k++) {
      if (rank > 0)
        MPI_Recv(plane, n, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      smpi_execute_flops(20.0 * points * n);
      if (rank < ranks - 1)
        MPI_Send(plane, n, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(plane);
  MPI_Finalize();
  return 0;
}
