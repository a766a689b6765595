/* A program that times a part of itself and prints it: the longest time of all ranks (max), that of rank 0 (rank), which
 * alone reads the clock (root), the mean of all (mean), or a sum over the iterations (sum). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <smpi/smpi.h>
int main(int argc, char **argv)
{
  int rank, size, n = atoi(argv[1]);
  const char *how = argv[2];
  static double edge[1000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  smpi_execute_flops_benched(1e9 * (1 + rank));           /* the initialisation */
  MPI_Barrier(MPI_COMM_WORLD);
  double began_s = 0, once_s = 0;
  if (strcmp(how, "root") || !rank) began_s = MPI_Wtime();
  for (int i = 0; i < n; i++) {
    double s = MPI_Wtime();
    smpi_execute_flops_benched(1e8);
    MPI_Sendrecv(edge, 500, MPI_DOUBLE, (rank + 1) % size, 0, edge + 500, 500, MPI_DOUBLE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    once_s += MPI_Wtime() - s;
  }
  double took_s = 0, most_s;
  if (strcmp(how, "root") || !rank) took_s = MPI_Wtime() - began_s;
  if (!strcmp(how, "sum")) took_s = once_s;
  MPI_Reduce(&took_s, &most_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (!strcmp(how, "mean")) { MPI_Reduce(&took_s, &most_s, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); took_s = most_s / size; }
  if (!rank) printf("Time in seconds = %20.9f\n", strcmp(how, "max") ? took_s : most_s);
  smpi_execute_flops_benched(2e9);
  MPI_Finalize();
}
