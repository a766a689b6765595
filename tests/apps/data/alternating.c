/* Ranks compute 1e8 flops in their first, third, ... iteration and 3e8 in the others, with a barrier after each. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

enum { START = 1000, ITERATION = 1002, STOP = 1003 };

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int iterations = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Pcontrol(START);
  for (int i = 0; i < iterations; i++) {
    smpi_execute_flops_benched(i % 2 ? 3e8 : 1e8);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(ITERATION);
  }
  MPI_Pcontrol(STOP);
  MPI_Finalize();
}
