/* Polls for messages: looks CALL BYTES FLOPS.  Ranks of a ring exchange messages with both neighbours and with the rank
 * opposite, and poll for them with the call until they have arrived; between two polls each rank computes FLOPS. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 5, PARTNERS = 3, MOST = 1 << 20 };

static int rank, ranks, bytes;
static double flops;
static char in[PARTNERS][MOST], out[MOST];
static MPI_Request request[2 * PARTNERS];

static void between(void)
{
  if (flops > 0)
    smpi_execute_flops(flops);
}

static int partner(int i)
{
  return (rank + (i == 0 ? 1 : i == 1 ? ranks - 1 : ranks / 2)) % ranks;
}

static void start(int receives)
{
  for (int i = 0; i < PARTNERS && receives; i++)
    MPI_Irecv(in[i], MOST, MPI_CHAR, partner(i), i == 2 ? 2 : 1 - i, MPI_COMM_WORLD, &request[i]);
  smpi_execute_flops(1e6 * (1 + (rank * 7) % 5));
  for (int i = 0; i < PARTNERS; i++)
    MPI_Isend(out, bytes * (1 + (rank + i) % 3), MPI_CHAR, partner(i), i, MPI_COMM_WORLD, &request[PARTNERS + i]);
}

static void test_each(void)
{
  for (int i = 0; i < 2 * PARTNERS; i++)
    for (int done = 0; !done; between())
      MPI_Test(&request[i], &done, MPI_STATUS_IGNORE);
}

static void test_in_turn(void)
{
  for (int left = 2 * PARTNERS; left > 0; between())
    for (int i = 0; i < 2 * PARTNERS; i++) {
      int done = 0;
      if (request[i] != MPI_REQUEST_NULL)
        MPI_Test(&request[i], &done, MPI_STATUS_IGNORE);
      left -= done;
    }
}

static void test_all(void)
{
  for (int done = 0; !done; between())
    MPI_Testall(2 * PARTNERS, request, &done, MPI_STATUSES_IGNORE);
}

static void test_any(void)
{
  for (int left = PARTNERS; left > 0; between()) {
    int done, which;
    MPI_Testany(PARTNERS, request, &which, &done, MPI_STATUS_IGNORE);
    left -= done;
  }
  MPI_Waitall(PARTNERS, request + PARTNERS, MPI_STATUSES_IGNORE);
}

static void test_some(void)
{
  int indices[2 * PARTNERS], done;
  for (int left = 2 * PARTNERS; left > 0; left -= done) {
    MPI_Testsome(2 * PARTNERS, request, &done, indices, MPI_STATUSES_IGNORE);
    between();
  }
}

static void probe(int blocking)
{
  MPI_Status status;
  for (int left = PARTNERS; left > 0; between()) {
    int found = 1;
    if (blocking)
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    else
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
    if (found)
      MPI_Recv(in[0], MOST, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    left -= found;
  }
  MPI_Waitall(PARTNERS, request + PARTNERS, MPI_STATUSES_IGNORE);
}

static void test_collective(void)
{
  MPI_Request all;
  int mine = rank, most, done = 0;
  MPI_Waitall(2 * PARTNERS, request, MPI_STATUSES_IGNORE);
  for (MPI_Iallreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &all); !done; between())
    MPI_Test(&all, &done, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bytes = atoi(argv[2]);
  flops = atof(argv[3]);
  const char *call = argv[1];
  int probes = !strcmp(call, "iprobe") || !strcmp(call, "probe");
  for (int i = 0; i < ITERATIONS; i++) {
    start(!probes);
    if (!strcmp(call, "test"))
      test_each();
    else if (!strcmp(call, "turns"))
      test_in_turn();
    else if (!strcmp(call, "testall"))
      test_all();
    else if (!strcmp(call, "testany"))
      test_any();
    else if (!strcmp(call, "testsome"))
      test_some();
    else if (probes)
      probe(!strcmp(call, "probe"));
    else
      test_collective();
  }
  MPI_Finalize();
  return 0;
}
