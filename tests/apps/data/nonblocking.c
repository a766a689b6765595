/* Non-blocking collectives and persistent requests with computation between their start and their end.
 * nonblocking CALL COUNT executes one of them three times with COUNT doubles. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <string.h>

#define IS(name) (!strcmp(call, name))
enum { MOST = 32 * 20000 };
static double mine[MOST], theirs[MOST];
static int rank, ranks, counts[64], starts[64];
static MPI_Request requests[2];

static void collective(const char *call, int count, MPI_Request *r)
{
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Datatype d = MPI_DOUBLE;
  for (int i = 0; i < ranks; i++) {
    counts[i] = count + (IS("ialltoallv") || IS("ireduce_scatter") ? 0 : i);
    starts[i] = i * (count + ranks);
  }
  if (IS("ibarrier")) MPI_Ibarrier(w, r);
  if (IS("ibcast")) MPI_Ibcast(mine, count, d, 1, w, r);
  if (IS("ireduce")) MPI_Ireduce(mine, theirs, count, d, MPI_SUM, 1, w, r);
  if (IS("iallreduce")) MPI_Iallreduce(mine, theirs, count, d, MPI_SUM, w, r);
  if (IS("iscan")) MPI_Iscan(mine, theirs, count, d, MPI_SUM, w, r);
  if (IS("iexscan")) MPI_Iexscan(mine, theirs, count, d, MPI_SUM, w, r);
  if (IS("igather")) MPI_Igather(mine, count, d, theirs, count, d, 0, w, r);
  if (IS("igatherv")) MPI_Igatherv(mine, counts[rank], d, theirs, counts, starts, d, 0, w, r);
  if (IS("iscatter")) MPI_Iscatter(mine, count, d, theirs, count, d, 0, w, r);
  if (IS("iscatterv")) MPI_Iscatterv(mine, counts, starts, d, theirs, counts[rank], d, 0, w, r);
  if (IS("iallgather")) MPI_Iallgather(mine, count, d, theirs, count, d, w, r);
  if (IS("iallgatherv")) MPI_Iallgatherv(mine, counts[rank], d, theirs, counts, starts, d, w, r);
  if (IS("ialltoall")) MPI_Ialltoall(mine, count, d, theirs, count, d, w, r);
  if (IS("ialltoallv")) MPI_Ialltoallv(mine, counts, starts, d, theirs, counts, starts, d, w, r);
  if (IS("ireduce_scatter")) MPI_Ireduce_scatter(mine, theirs, counts, d, MPI_SUM, w, r);
  if (IS("ireduce_scatter_block")) MPI_Ireduce_scatter_block(mine, theirs, count, d, MPI_SUM, w, r);
}

/* A ring of persistent messages: on a fast network the sender starts again before the receiver has the message. */
static void persistent(int count)
{
  MPI_Send_init(mine, count, MPI_DOUBLE, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(theirs, count, MPI_DOUBLE, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, requests);
    smpi_execute_flops_benched(1e6 * (rank + 1));
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Start(&requests[1]);
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  const char *call = argv[1];
  int count = atoi(argv[2]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 3 && !IS("persistent") && !IS("two"); i++) {
    collective(call, count, &requests[0]);
    smpi_execute_flops_benched(1e6 * (1 + rank % 3));
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  if (IS("persistent"))
    persistent(count);
  for (int i = 0; i < 3 && IS("two"); i++) { /* two at once, the later one first waited for */
    collective("iallreduce", count, &requests[0]);
    collective("ibcast", count, &requests[1]);
    smpi_execute_flops_benched(1e6 * (1 + rank % 3));
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
