/* A ring that runs on powers of two only. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
  int rank, ranks, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks & (ranks - 1)) {
    fprintf(stderr, "%d ranks are not a power of two\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < 3; i++) {
    smpi_execute_flops_benched(1e6 * (rank == 7 || rank == 29 ? 3 : 2)); /* no rule: further recordings are asked for */
    MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % ranks, 0, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
