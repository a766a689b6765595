/* Every rank reports many operations to the pacer, between few messages; rank 0 prints the seconds that they took.
 * Before its timed section it computes for as many seconds as the second argument says, without reporting
 * operations. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  void (*pace)(double) = (void (*)(double))dlsym(RTLD_DEFAULT, "pace_operations");
  void (*mark)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "recorder_mark");
  volatile double sum = 0;
  struct timespec used = {0};
  while (argc > 2 && (double)used.tv_sec + 1e-9 * (double)used.tv_nsec < atof(argv[2])) {
    sum += 1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  }
  if (mark)
    mark(0);
  double operations = atof(argv[1]), began = MPI_Wtime();
  for (int step = 0; step < 50; step++) {
    for (int i = 0; i < 100000; i++)
      sum += i;
    if (pace)
      pace(operations / 50);
  }
  double took = MPI_Wtime() - began;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double all[64];
  MPI_Gather(&took, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; !rank && i < size; i++)
    printf("%.6f\n", all[i]);
  MPI_Finalize();
}
