/* Rank r computes (r + 1) 1e9 flops per iteration, then all synchronise.  work ITERATIONS marked|unmarked|alone
 *
 * marked: marks its timed section and iterations; alone: marks its timed section, without a barrier. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank, iterations = atoi(argv[1]), marked = !strcmp(argv[2], "marked"), alone = !strcmp(argv[2], "alone");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (marked || alone)
    MPI_Pcontrol(1000);
  for (int i = 0; i < iterations; i++) {
    smpi_execute_flops_benched(1e9 * (rank + 1));
    if (!alone)
      MPI_Barrier(MPI_COMM_WORLD);
    if (marked)
      MPI_Pcontrol(1002);
  }
  if (marked || alone)
    MPI_Pcontrol(1003);
  MPI_Finalize();
  return 0;
}
