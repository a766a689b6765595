/* Every kind of call that a recording knows, on three ranks; the calls are counted by hand in test_recorder_calls.py.
 * The globals differ between the ranks, so privatisation must keep them apart. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int my_rank = -1;
int error = 0; /* the C library has a function of that name */

static void expect(int good, const char *what)
{
  if (!good) {
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
  }
}

static void blocking(int right, int left)
{
  int mine[4] = {my_rank}, theirs[4];
  if (my_rank == 0) {
    MPI_Send(mine, 4, MPI_INT, 1, 10, MPI_COMM_WORLD);
    MPI_Ssend(mine, 3, MPI_INT, 1, 11, MPI_COMM_WORLD);
    char buffer[1024];
    int size;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(mine, 2, MPI_INT, 1, 12, MPI_COMM_WORLD);
    MPI_Buffer_detach(buffer, &size);
    MPI_Recv(NULL, 0, MPI_INT, 1, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Rsend(mine, 1, MPI_INT, 1, 13, MPI_COMM_WORLD);
  } else if (my_rank == 1) {
    for (int tag = 10; tag < 13; tag++)
      MPI_Recv(theirs, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request ready;
    MPI_Irecv(theirs, 1, MPI_INT, 0, 13, MPI_COMM_WORLD, &ready);
    MPI_Send(NULL, 0, MPI_INT, 0, 14, MPI_COMM_WORLD);
    MPI_Wait(&ready, MPI_STATUS_IGNORE);
  }
  MPI_Send(mine, 4, MPI_INT, MPI_PROC_NULL, 15, MPI_COMM_WORLD);
  MPI_Recv(theirs, 4, MPI_INT, MPI_PROC_NULL, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(mine, 4, MPI_INT, right, 20, theirs, 4, MPI_INT, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(theirs[0] == left, "sendrecv");
  MPI_Sendrecv_replace(mine, 4, MPI_INT, left, 21, right, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(mine[0] == right, "sendrecv_replace");
  MPI_Sendrecv(mine, 1, MPI_INT, my_rank == 2 ? MPI_PROC_NULL : my_rank + 1, 22, theirs, 1, MPI_INT,
               my_rank == 0 ? MPI_PROC_NULL : my_rank - 1, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void non_blocking(int right, int left)
{
  double mine[100] = {0}, theirs[4][100];
  MPI_Datatype column; /* 10 doubles, 80 bytes, out of 100 */
  MPI_Type_vector(10, 1, 10, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Request requests[8];
  for (int i = 0; i < 4; i++)
    MPI_Irecv(theirs[i], 100, MPI_DOUBLE, i < 3 ? left : MPI_PROC_NULL, 30 + i, MPI_COMM_WORLD, &requests[i]);
  MPI_Isend(mine, 1, column, right, 30, MPI_COMM_WORLD, &requests[4]);
  MPI_Issend(mine, 5, MPI_DOUBLE, right, 31, MPI_COMM_WORLD, &requests[5]);
  MPI_Irsend(mine, 6, MPI_DOUBLE, right, 32, MPI_COMM_WORLD, &requests[6]);
  MPI_Isend(mine, 6, MPI_DOUBLE, MPI_PROC_NULL, 33, MPI_COMM_WORLD, &requests[7]);
  int index, done = 0, indices[4];
  /* Only among receives: with sends that SMPI 3.32 has already copied, the second of these calls deadlocks. */
  MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
  MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&column);
}

static void tested(int right, int left)
{
  int mine = 0, theirs[4], flag = 0, index;
  MPI_Request requests[2];
  MPI_Irecv(theirs, 1, MPI_INT, left, 40, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&mine, 1, MPI_INT, right, 40, MPI_COMM_WORLD, &requests[1]);
  while (!flag)
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  for (flag = 0; !flag;)
    MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
  MPI_Irecv(theirs, 1, MPI_INT, left, 41, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&mine, 1, MPI_INT, right, 41, MPI_COMM_WORLD, &requests[1]);
  for (flag = 0; !flag;)
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
}

static void persistent(int right, int left)
{
  int mine = 7, theirs = 0;
  MPI_Request requests[2];
  MPI_Recv_init(&theirs, 1, MPI_INT, left, 50, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&mine, 1, MPI_INT, right, 50, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Start(&requests[1]);
  MPI_Start(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  expect(theirs == 7, "persistent");
}

/* Rank 2 receives from both others in any order; rank 0 cancels a receive without a sender. */
static void probed(void)
{
  int mine[2] = {my_rank, my_rank}, theirs[2], flag = 0, count;
  MPI_Status status;
  if (my_rank == 2) {
    for (int i = 0; i < 2; i++) {
      /* Not of any tag: message 61 of rank 0 may be here before message 60 of rank 1. */
      MPI_Probe(MPI_ANY_SOURCE, 60, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      MPI_Recv(theirs, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(theirs[0] == status.MPI_SOURCE && count == 1 + status.MPI_SOURCE, "probe");
    }
    while (!flag)
      MPI_Iprobe(0, 61, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(theirs, 1, MPI_INT, 0, 61, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(mine, 1 + my_rank, MPI_INT, 2, 60, MPI_COMM_WORLD);
    if (my_rank == 0) {
      smpi_execute_flops(1e6); /* so that the first probe finds no message */
      MPI_Send(mine, 1, MPI_INT, 2, 61, MPI_COMM_WORLD);
      MPI_Request never;
      MPI_Irecv(theirs, 1, MPI_INT, 1, 62, MPI_COMM_WORLD, &never);
      MPI_Cancel(&never);
      MPI_Wait(&never, MPI_STATUS_IGNORE);
    }
  }
}

/* A communicator of ranks 2 and 0, in this order, and a second one of the same members. */
static void groups(void)
{
  MPI_Comm half, again, copy, ring;
  int theirs = -1, in_half;
  MPI_Comm_split(MPI_COMM_WORLD, my_rank == 1 ? MPI_UNDEFINED : 0, -my_rank, &half);
  if (my_rank != 1) {
    MPI_Comm_dup(half, &again);
    MPI_Comm_rank(half, &in_half);
    int partner = 1 - in_half;
    MPI_Sendrecv(&my_rank, 1, MPI_INT, partner, 70, &theirs, 1, MPI_INT, partner, 70, again, MPI_STATUS_IGNORE);
    expect(theirs == 2 - my_rank, "split");
    MPI_Bcast(&theirs, 1, MPI_INT, 0, again); /* root: rank 2 of the world */
    MPI_Comm_free(&again);
    MPI_Comm_free(&half);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Cart_create(copy, 1, (int[]){3}, (int[]){1}, 0, &ring);
  MPI_Barrier(ring);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&copy);
}

static void collectives(void)
{
  double mine[30] = {0}, all[30] = {0};
  int counts[3] = {1, 2, 3}, starts[3] = {0, 1, 3}, same[3] = {2, 2, 2}, twos[3] = {0, 2, 4};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(mine, 3, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Reduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
  MPI_Allreduce(mine, all, 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, all, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gatherv(mine, counts[my_rank], MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Scatter(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Scatterv(mine, counts, starts, MPI_DOUBLE, all, counts[my_rank], MPI_DOUBLE, 2, MPI_COMM_WORLD);
  MPI_Allgather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Allgatherv(mine, counts[my_rank], MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Alltoall(mine, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Alltoallv(mine, same, twos, MPI_DOUBLE, all, same, twos, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Reduce_scatter(mine, all, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(mine, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
  int nranks, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  expect(nranks == 3, "number of ranks");
  int right = (my_rank + 1) % 3, left = (my_rank + 2) % 3;
  smpi_execute_flops_benched(1000 * (my_rank + 1));
  MPI_Wtime();
  smpi_execute_benched(1e-6); /* s: 1000 flops of a host of 1 Gflop/s */
  MPI_Pcontrol(1000);
  usleep(3); /* equals 3000 flops */
  blocking(right, left);
  non_blocking(right, left);
  tested(right, left);
  persistent(right, left);
  probed();
  groups();
  collectives();
  MPI_Pcontrol(1003);
  error = my_rank;
  MPI_Barrier(MPI_COMM_WORLD);
  expect(error == my_rank, "privatisation");
  MPI_Finalize();
  return 0;
}
