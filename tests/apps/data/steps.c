/* Messages of many kinds, one kind per step: the same as steps.py.  Every step ends an iteration. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

enum { MOST = 200000 };

static char out[MOST], in[64][MOST];

static void ring(int rank, int size, int bytes)
{
  MPI_Request requests[2];
  MPI_Irecv(in[0], bytes, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void all_with_all(int rank, int size, int bytes)
{
  MPI_Request requests[128];
  int n = 0;
  for (int step = 1; step < size; step++)
    MPI_Irecv(in[step], bytes, MPI_BYTE, (rank + step) % size, 1, MPI_COMM_WORLD, &requests[n++]);
  for (int step = 1; step < size; step++)
    MPI_Isend(out, bytes, MPI_BYTE, (rank + step) % size, 1, MPI_COMM_WORLD, &requests[n++]);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static void to_oneself(int rank, int bytes)
{
  MPI_Request request;
  smpi_execute_flops_benched(1e6 * (rank + 1));
  MPI_Irecv(in[0], bytes, MPI_BYTE, rank, 2, MPI_COMM_WORLD, &request);
  MPI_Send(out, bytes, MPI_BYTE, rank, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Small messages with two tags, received in the opposite order; then a large one that the sender waits for. */
static void pairs(int rank, int size)
{
  int other = rank ^ 1;
  if (other >= size)
    return;
  if (rank < other) {
    MPI_Send(out, 100, MPI_BYTE, other, 3, MPI_COMM_WORLD);
    MPI_Send(out, 4000, MPI_BYTE, other, 4, MPI_COMM_WORLD);
    MPI_Send(out, 150000, MPI_BYTE, other, 3, MPI_COMM_WORLD);
  } else {
    smpi_execute_flops_benched(5e6);
    MPI_Recv(in[0], 4000, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in[0], 100, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in[0], 150000, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void step(int number, int rank, int size)
{
  switch (number) {
    case 0: MPI_Bcast(out, 1000, MPI_BYTE, 0, MPI_COMM_WORLD); break;
    case 1: MPI_Bcast(out, 100000, MPI_BYTE, 5, MPI_COMM_WORLD); break;
    case 2: MPI_Reduce(out, in[0], 1, MPI_DOUBLE, MPI_SUM, 3, MPI_COMM_WORLD); break;
    case 3: MPI_Reduce(out, in[0], 25000, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); break;
    case 4: MPI_Allreduce(out, in[0], 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
    case 5: MPI_Allreduce(out, in[0], 9000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
    case 6: MPI_Barrier(MPI_COMM_WORLD); break;
    case 7: ring(rank, size, 65535); break;
    case 8: ring(rank, size, 65536); break;
    case 9: to_oneself(rank, 2000); break;
    case 10: all_with_all(rank, size, 5000); break;
    case 11: pairs(rank, size); break;
    default: abort();
  }
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank, size, steps = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1000);
  for (int number = 0; number < steps; number++) {
    step(number, rank, size);
    MPI_Pcontrol(1002);
  }
  MPI_Pcontrol(1003);
  MPI_Finalize();
  return 0;
}
