/* many_requests N CHUNK: N messages from each rank to the next one, all under way at once, then persistent ones, puts and
 * accumulates; requests are waited for CHUNK at a time.  Every message, status and sum is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int right, const char *what)
{
  if (right)
    return;
  fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void wait_all(int n, int chunk, MPI_Request *requests, MPI_Status *statuses)
{
  for (int i = 0; i < n; i += chunk)
    MPI_Waitall(n - i < chunk ? n - i : chunk, requests + i, statuses ? statuses + i : MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
  int rank, size, n = atoi(argv[1]), chunk = atoi(argv[2]), count;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  double *come = calloc((size_t)n * 2, sizeof *come), *go = malloc((size_t)n * 2 * sizeof *go);
  MPI_Request *requests = malloc((size_t)n * 2 * sizeof *requests);
  MPI_Status *statuses = malloc((size_t)n * sizeof *statuses);
  for (int i = 0; i < 2 * n; i++)
    go[i] = 1000 * rank + i;
  for (int i = 0; i < n; i++) { /* the last first, of one or two numbers; every third from any rank */
    int tag = n - 1 - i;
    MPI_Irecv(come + 2 * i, 2, MPI_DOUBLE, i % 3 ? before : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, requests + i);
    MPI_Isend(go + 2 * i, 1 + i % 2, MPI_DOUBLE, i % 10 ? next : MPI_PROC_NULL, i, MPI_COMM_WORLD, requests + n + i);
  }
  for (int i = 0; i < n; i += 10) /* instead of those to nobody */
    MPI_Send(go + 2 * i, 1 + i % 2, MPI_DOUBLE, next, i, MPI_COMM_WORLD);
  wait_all(n, chunk, requests, statuses);
  wait_all(n, chunk, requests + n, NULL);
  for (int i = 0; i < n; i++) {
    int tag = n - 1 - i;
    MPI_Get_count(&statuses[i], MPI_DOUBLE, &count);
    check(statuses[i].MPI_SOURCE == before && statuses[i].MPI_TAG == tag && count == 1 + tag % 2, "a status");
    check(come[2 * i] == 1000 * before + 2 * tag && requests[i] == MPI_REQUEST_NULL, "a message");
  }
  for (int i = 0; i < n; i++) {
    MPI_Recv_init(come + i, 1, MPI_DOUBLE, before, i, MPI_COMM_WORLD, requests + i);
    MPI_Send_init(go + i, 1, MPI_DOUBLE, next, i, MPI_COMM_WORLD, requests + n + i);
  }
  for (int turn = 0; turn < 2; turn++) {
    MPI_Startall(2 * n, requests);
    wait_all(2 * n, chunk, requests, NULL);
    check(come[n - 1] == 1000 * before + n - 1 && requests[0] != MPI_REQUEST_NULL, "a persistent request");
  }
  MPI_Win window;
  MPI_Win_create(come, (MPI_Aint)(2 * n * sizeof *come), sizeof *come, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < n; i++)
    MPI_Put(go + i, 1, MPI_DOUBLE, next, i, 1, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < n; i++)
    MPI_Accumulate(go + i, 1, MPI_DOUBLE, before, i, 1, MPI_DOUBLE, MPI_SUM, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < n; i++)
    check(come[i] == 1000 * before + 1000 * next + 2 * i, "a sum of accumulates");
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
