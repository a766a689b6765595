/* Prints one-way times, half a round trip between ranks 0 and 1, as a line "bytes seconds" per argument; then the
 * loopback of rank 0 (irecv, send, wait) as "self bytes seconds". */
#include <mpi.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>

static double round_trip(int rank, char *buffer, int bytes)
{
  double start = simgrid_get_clock();
  if (rank == 0) {
    MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return simgrid_get_clock() - start;
}

static double to_oneself(char *from, char *to, int bytes)
{
  MPI_Request request;
  double start = simgrid_get_clock();
  MPI_Irecv(to, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
  MPI_Send(from, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return simgrid_get_clock() - start;
}

int main(int argc, char **argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; i++) {
    int bytes = atoi(argv[i]);
    char *from = calloc(bytes, 1), *to = calloc(bytes, 1);
    round_trip(rank, from, bytes); /* synchronises both ranks */
    double time = round_trip(rank, from, bytes);
    if (rank == 0)
      printf("%d %.17g\nself %d %.17g\n", bytes, time / 2, bytes, to_oneself(from, to, bytes));
    free(from);
    free(to);
  }
  MPI_Finalize();
  return 0;
}
