/* Halos of n x n points along the three axes of a periodic grid of ranks, n x n x n points per rank, and a sum unless
 * there is a third argument. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), iterations = atoi(argv[2]), ranks, sides[3] = {0, 0, 0}, around[3] = {1, 1, 1};
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 3, sides, around, 0, &grid);
  double *points = malloc(sizeof(double) * 2 * n * n), mine = 0, sum;
  for (int i = 0; i < iterations; i++) {
    for (int axis = 0; axis < 3; axis++) {
      int low, high;
      MPI_Cart_shift(grid, axis, 1, &low, &high);
      MPI_Sendrecv(points, n * n, MPI_DOUBLE, high, 2 * axis, points + n * n, n * n, MPI_DOUBLE, low, 2 * axis, grid,
                   MPI_STATUS_IGNORE);
      MPI_Sendrecv(points, n * n, MPI_DOUBLE, low, 2 * axis + 1, points + n * n, n * n, MPI_DOUBLE, high, 2 * axis + 1,
                   grid, MPI_STATUS_IGNORE);
    }
    smpi_execute_flops_benched(8.0 * n * n * n);
    if (argc < 4)
      MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
  }
  MPI_Finalize();
  return 0;
}
