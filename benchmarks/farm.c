/* A farm: rank 0 hands out tasks to whoever asks, with some bytes each way; alone it does all of them.
 *
 *   farm TASKS FLOPS BYTES */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

enum { ASK, WORK, NO_MORE };

static void hand_out(int tasks, char *data, int bytes, int workers)
{
  while (workers > 0) {
    MPI_Status who;
    MPI_Recv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &who);
    int tag = tasks > 0 ? WORK : NO_MORE;
    MPI_Send(data, tag == WORK ? bytes : 0, MPI_BYTE, who.MPI_SOURCE, tag, MPI_COMM_WORLD);
    if (tasks-- <= 0)
      workers--;
  }
}

static void work(double flops, char *data, int bytes)
{
  MPI_Status got;
  for (;;) {
    MPI_Send(data, bytes, MPI_BYTE, 0, ASK, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &got);
    if (got.MPI_TAG == NO_MORE)
      return;
    smpi_execute_flops_benched(flops);
  }
}

int main(int argc, char **argv)
{
  if (argc < 4)
    return 2;
  int rank, nranks, tasks = atoi(argv[1]), bytes = atoi(argv[3]);
  double flops = atof(argv[2]);
  char *data = calloc(1, (size_t)bytes);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  if (nranks == 1)
    smpi_execute_flops_benched(flops * tasks);
  else if (rank == 0)
    hand_out(tasks, data, bytes, nranks - 1);
  else
    work(flops, data, bytes);
  MPI_Finalize();
  free(data);
  return 0;
}
