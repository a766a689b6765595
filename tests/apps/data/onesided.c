/* One-sided communication: onesided WAY COUNT moves COUNT doubles three times, in one of these ways. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(name) (!strcmp(way, name))
static int rank, ranks, right, left;
static MPI_Win window;
static double *base, *mine;

static void expect(int good, const char *what)
{
  if (!good) {
    fprintf(stderr, "wrong: %s on rank %d\n", what, rank);
    exit(1);
  }
}

static void put(int target, int count) { MPI_Put(mine, count, MPI_DOUBLE, target, 0, count, MPI_DOUBLE, window); }

static void get(int target, int count) { MPI_Get(mine, count, MPI_DOUBLE, target, 0, count, MPI_DOUBLE, window); }

static void fenced(const char *way, int count)
{
  if (IS("put") || IS("both"))
    put(right, count);
  if (IS("both"))
    MPI_Put(mine, count, MPI_DOUBLE, left, count, count, MPI_DOUBLE, window);
  if (IS("get"))
    get(right, count);
  if (IS("all"))
    for (int i = 0; i < ranks; i++)
      MPI_Put(mine, count / ranks, MPI_DOUBLE, i, rank * (count / ranks), count / ranks, MPI_DOUBLE, window);
  if (IS("accumulate"))
    MPI_Accumulate(mine, count, MPI_DOUBLE, right, 0, count, MPI_DOUBLE, MPI_SUM, window);
  smpi_execute_flops_benched(1e6 * (1 + rank % 2));
  MPI_Win_fence(0, window);
  expect(!IS("put") || base[0] == left + 1, "put");
  expect(!IS("get") || mine[0] == 0, "get");
}

static void by_groups(const char *way, int count)
{
  MPI_Group world, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &right, &to);
  MPI_Group_incl(world, 1, &left, &from);
  MPI_Win_post(from, 0, window);
  MPI_Win_start(to, 0, window);
  if (IS("groups_put"))
    put(right, count);
  else
    get(right, count);
  MPI_Win_complete(window);
  smpi_execute_flops_benched(1e6);
  MPI_Win_wait(window);
}

static void locked(const char *way, int count)
{
  double one = 1, zero = 0, got;
  MPI_Request request;
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
  if (IS("lock_put"))
    put(right, count);
  if (IS("lock_rget")) {
    MPI_Rget(mine, count, MPI_DOUBLE, right, 0, count, MPI_DOUBLE, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (IS("lock_swap"))
    MPI_Compare_and_swap(&one, &zero, &got, MPI_DOUBLE, right, 0, window);
  if (IS("lock_add"))
    MPI_Fetch_and_op(&one, &got, MPI_DOUBLE, right, 0, MPI_SUM, window);
  MPI_Win_unlock(right, window);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  const char *way = argv[1];
  int count = atoi(argv[2]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  right = (rank + 1) % ranks;
  left = (rank + ranks - 1) % ranks;
  mine = calloc((size_t)count, sizeof *mine);
  for (int i = 0; i < count; i++)
    mine[i] = rank + 1;
  MPI_Win_allocate((MPI_Aint)(2 * (size_t)count * sizeof(double)), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                   &window);
  memset(base, 0, 2 * (size_t)count * sizeof *base);
  MPI_Barrier(MPI_COMM_WORLD);
  int of_groups = !strncmp(way, "groups", 6), under_lock = !strncmp(way, "lock", 4);
  if (!of_groups && !under_lock)
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  for (int i = 0; i < 3; i++) {
    smpi_execute_flops_benched(1e6 * (1 + rank % 3));
    if (of_groups)
      by_groups(way, count);
    else if (under_lock)
      locked(way, count);
    else
      fenced(way, count);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
