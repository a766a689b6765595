/* Times one call of each pattern of communication, as the saturation experiments of SimGrid's platform-calibration do
 * on a real machine: patternprobe FILE
 *
 * Each line of FILE has a pattern, the number of active ranks and the bytes of a message; the other ranks wait.
 *   0 send            rank 2 i calls MPI_Send to rank 2 i + 1, which is in MPI_Recv; the time is that of MPI_Send
 *   1 sendrecv_same   MPI_Sendrecv between the ranks 2 i and 2 i + 1
 *   2 sendrecv_diff   MPI_Sendrecv to the next rank, from the one before, around a ring
 *   3 alltoall        MPI_Alltoall, with these bytes for each rank
 * Rank 0 prints one line of JSON: the mean time of the calling ranks, in s, for each line.  Reading the clock costs
 * nothing. */
#include "../../common/checked.h"
#include <mpi.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEND, SENDRECV_SAME, SENDRECV_DIFF, ALLTOALL, TAG = 1 };

/* Buffers, whose content does not matter. */
typedef struct {
  char *out, *in;
} Buffers;

static void exchange(int to, int from, int bytes, const Buffers *at)
{
  MPI_Sendrecv(at->out, bytes, MPI_BYTE, to, TAG, at->in, bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* Returns the seconds of the call, or -1 if the call of this rank is not timed. */
static double time_call(int pattern, int active, int bytes, const Buffers *at, MPI_Comm among)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank >= active)
    return -1;
  double start = simgrid_get_clock();
  if (pattern == SEND && rank % 2) {
    MPI_Recv(at->in, bytes, MPI_BYTE, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return -1;
  }
  if (pattern == SEND)
    MPI_Send(at->out, bytes, MPI_BYTE, rank + 1, TAG, MPI_COMM_WORLD);
  else if (pattern == SENDRECV_SAME)
    exchange(rank ^ 1, rank ^ 1, bytes, at);
  else if (pattern == SENDRECV_DIFF)
    exchange((rank + 1) % active, (rank + active - 1) % active, bytes, at);
  else
    MPI_Alltoall(at->out, bytes, MPI_BYTE, at->in, bytes, MPI_BYTE, among);
  return simgrid_get_clock() - start;
}

/* Returns the mean time of the ranks that were timed, on rank 0. */
static double mean_of(double mine)
{
  double own[2] = {mine < 0 ? 0 : mine, mine < 0 ? 0 : 1}, sum[2];
  MPI_Reduce(own, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum[0] / (sum[1] > 0 ? sum[1] : 1);
}

/* The buffers have the size needed by a line, and are freed after it. */
static double time_line(int pattern, int active, int bytes)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm among;
  MPI_Comm_split(MPI_COMM_WORLD, rank < active ? 0 : MPI_UNDEFINED, rank, &among);
  size_t length = (size_t)bytes * (size_t)(pattern == ALLTOALL ? active : 1) + 1;
  Buffers at = {checked(SMPI_SHARED_MALLOC(length)), checked(SMPI_SHARED_MALLOC(length))};
  double mean_s = mean_of(time_call(pattern, active, bytes, &at, among));
  MPI_Barrier(MPI_COMM_WORLD);
  SMPI_SHARED_FREE(at.out);
  SMPI_SHARED_FREE(at.in);
  if (among != MPI_COMM_NULL)
    MPI_Comm_free(&among);
  return mean_s;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank, pattern, active, bytes;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE *file = checked(argc == 2 ? fopen(argv[1], "r") : NULL);
  const char *before = "{\"times_s\": [";
  while (fscanf(file, "%d %d %d", &pattern, &active, &bytes) == 3) {
    double mean_s = time_line(pattern, active, bytes);
    if (rank == 0)
      printf("%s%.17g", before, mean_s);
    before = ", ";
  }
  fclose(file);
  if (rank == 0)
    printf("]}\n");
  MPI_Finalize();
  return 0;
}
