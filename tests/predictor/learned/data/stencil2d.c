/* A stencil on a grid of n x n points that is divided unevenly among a grid of ranks; neighbours that do not exist are
 * MPI_PROC_NULL. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

static int share(int n, int place, int parts)
{
  return n / parts + (place < n % parts);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), iterations = atoi(argv[2]), ranks, sides[2] = {0, 0}, around[2] = {0, 0}, at[2], near[4];
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, around, 0, &grid);
  MPI_Cart_get(grid, 2, sides, around, at);
  MPI_Cart_shift(grid, 0, 1, &near[0], &near[1]);
  MPI_Cart_shift(grid, 1, 1, &near[2], &near[3]);
  int rows = share(n, at[0], sides[0]), columns = share(n, at[1], sides[1]);
  double *points = malloc(sizeof(double) * 8 * (rows + columns)), mine = 0, largest;
  for (int i = 0; i < iterations; i++) {
    MPI_Request requests[8];
    for (int s = 0; s < 4; s++)
      MPI_Irecv(points, s < 2 ? columns : rows, MPI_DOUBLE, near[s], s ^ 1, grid, &requests[s]);
    smpi_execute_flops_benched(2.0 * (rows + columns));
    for (int s = 0; s < 4; s++)
      MPI_Isend(points, s < 2 ? columns : rows, MPI_DOUBLE, near[s], s, grid, &requests[4 + s]);
    smpi_execute_flops_benched(5.0 * (rows > 2 ? rows - 2 : 0) * (columns > 2 ? columns - 2 : 0));
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    smpi_execute_flops_benched(5.0 * (2 * rows + 2 * columns - 4));
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, grid);
  }
  MPI_Finalize();
  return 0;
}
