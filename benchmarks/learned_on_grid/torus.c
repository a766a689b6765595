/* Halos of a block of n x n points on every rank of a periodic grid, by MPI_Sendrecv in all four directions, and a sum.
 *
 *   torus N ITERATIONS */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), iterations = atoi(argv[2]), ranks, sides[2] = {0, 0}, around[2] = {1, 1};
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, around, 0, &grid);
  double *edges = calloc(2 * (size_t)n, sizeof *edges), mine = 0, sum;
  for (int i = 0; i < iterations; i++) {
    for (int axis = 0; axis < 2; axis++) {
      int low, high;
      MPI_Cart_shift(grid, axis, 1, &low, &high);
      MPI_Sendrecv(edges, n, MPI_DOUBLE, high, 0, edges + n, n, MPI_DOUBLE, low, 0, grid, MPI_STATUS_IGNORE);
      MPI_Sendrecv(edges, n, MPI_DOUBLE, low, 1, edges + n, n, MPI_DOUBLE, high, 1, grid, MPI_STATUS_IGNORE);
    }
    smpi_execute_flops(10.0 * n * n);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
  }
  free(edges);
  MPI_Finalize();
  return 0;
}
