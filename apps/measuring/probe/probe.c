/* Prints the host of each rank, the offset of its clock from rank 0's, and the MPI library, as one line of JSON on rank
 * 0's standard output (apps/measuring/examine.py). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../common/json.h"

enum { TRIES = 20 };

static double date_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void answer(void)
{
  for (int i = 0; i < TRIES; i++) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double now_s = date_s();
    MPI_Send(&now_s, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  }
}

/* Returns how far a rank's clock is ahead, from the fastest of several round trips. */
static double ahead_s(int rank)
{
  double fastest_s = 1e9, ahead = 0;
  for (int i = 0; i < TRIES; i++) {
    double asked_s = date_s(), its_s;
    MPI_Send(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD);
    MPI_Recv(&its_s, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double answered_s = date_s();
    if (answered_s - asked_s < fastest_s) {
      fastest_s = answered_s - asked_s;
      ahead = its_s - (asked_s + answered_s) / 2;
    }
  }
  return ahead;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank, nranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  char host[256] = "", version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length;
  gethostname(host, sizeof host - 1);
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n")] = '\0'; /* MPICH appends its configuration */
  if (rank != 0) {
    MPI_Send(host, sizeof host, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    MPI_Send(version, sizeof version, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    answer();
  } else {
    printf("{\"ranks\": [");
    for (int one = 0; one < nranks; one++) {
      double ahead = 0;
      if (one > 0) {
        MPI_Recv(host, sizeof host, MPI_CHAR, one, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(version, sizeof version, MPI_CHAR, one, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ahead = ahead_s(one);
      }
      printf("%s{\"host\": ", one ? ", " : "");
      write_text(stdout, host);
      printf(", \"ahead_s\": %.6f, \"mpi\": ", ahead);
      write_text(stdout, version);
      printf("}");
    }
    printf("]}\n");
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
