/* Rank 0 deals points out to all others; then it gathers shares of all ranks, whose counts are at rank 0 alone. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *points = malloc((size_t)16 * n);
  int *counts = calloc((size_t)ranks, sizeof(int)), *places = calloc((size_t)ranks, sizeof(int));
  int *dealt = calloc((size_t)ranks, sizeof(int));
  for (int member = 0; member < ranks; member++) {
    counts[member] = 8 * (n / ranks + (member < n % ranks));
    dealt[member] = 8 * (n / (ranks - 1) + (member - 1 < n % (ranks - 1)));
  }
  for (int i = 0; i < 2; i++) {
    for (int worker = 1; rank == 0 && worker < ranks; worker++)
      MPI_Send(points, dealt[worker], MPI_BYTE, worker, 0, MPI_COMM_WORLD);
    if (rank > 0) {
      MPI_Recv(points, dealt[rank], MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      smpi_execute_flops_benched(100.0 * dealt[rank]);
    }
    MPI_Gatherv(points, counts[rank], MPI_BYTE, points + 8 * n, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
