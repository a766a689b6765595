/* Every rank computes for the given seconds of CPU time; rank 0 prints the elapsed seconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double used_s(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  double began = MPI_Wtime(), ends = used_s() + atof(argv[1]);
  while (used_s() < ends)
    ;
  double took = MPI_Wtime() - began, all[64];
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Gather(&took, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; !rank && i < size; i++)
    printf("%.6f\n", all[i]);
  MPI_Finalize();
}
