/* A matrix of n x n numbers in slabs of rows, which is transposed by MPI_Alltoall in every iteration, n rounded up.
 *
 *   transpose N ITERATIONS */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), iterations = atoi(argv[2]), ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int rows = (n + ranks - 1) / ranks, block = rows * rows;
  double *slab = calloc((size_t)block * ranks, sizeof *slab), *turned = calloc((size_t)block * ranks, sizeof *turned);
  for (int i = 0; i < iterations; i++) {
    smpi_execute_flops(25.0 * rows * n);
    MPI_Alltoall(slab, block, MPI_DOUBLE, turned, block, MPI_DOUBLE, MPI_COMM_WORLD);
  }
  free(slab);
  free(turned);
  MPI_Finalize();
  return 0;
}
